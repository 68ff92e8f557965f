"""`unroll.load_encoder`: a pretrained encoder as a function of texts, and as a transformer for scikit-learn."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from pipelines.python import inputs
from pipelines.python.errors import user_errors


class PretrainedEncoder(TransformerMixin, BaseEstimator):
    """A pretrained encoder: texts in, vectors out. It is downloaded, if necessary, and loaded at its first use.

    Args:
        handle: hf://ORG/NAME[@REVISION], kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, a URL of TF Hub, or a folder of a
            checkpoint or a SavedModel.
    """

    def __init__(self, handle: str):
        self.handle = handle

    def fit(self, X=None, y=None) -> Self:
        """Returns itself: there is nothing to learn."""
        return self

    def encode(self, X) -> np.ndarray:
        """Returns the vector of each text, float32 [n, size].

        Args:
            X: texts: a list, Series, array or `tf.data.Dataset` of str.

        Raises:
            UserError: the encoder cannot be reached, or has no vectors of texts.
        """
        texts = list(inputs.require_texts(X))
        with user_errors():
            return np.array(self._loaded().encode(texts))

    transform = __call__ = encode

    def _loaded(self):
        if getattr(self, "_encoder", None) is None:
            from pipelines.support.quiet import import_tensorflow

            import_tensorflow()
            from pipelines.pretrained import frozen

            self._encoder = frozen.find(self.handle, frozen.SentenceEncoder)
        return self._encoder

    def __getstate__(self) -> dict:
        return {"handle": self.handle}

    def __sklearn_is_fitted__(self) -> bool:
        return True
