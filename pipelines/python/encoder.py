"""`unroll.TextEncoder`: text -> vector."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.predict import fill_blanks
from pipelines.python import inputs, runs
from pipelines.python.errors import user_errors
from pipelines.python.estimator import Estimator
from pipelines.python.settings import estimator_of


@estimator_of(EncoderConfig, leave_out=("data", "vectors", "checkpoint"))
class TextEncoder(TransformerMixin, Estimator):
    """An encoder of texts, pretrained on texts without labels. It is a transformer for scikit-learn's pipelines.

    It is also a function: `encoder(texts)` is `encoder.encode(texts)`.

    Attributes of a fitted encoder:
        card_, scores_, run_: see `Estimator`.
    """

    task = "encoder"

    def fit(self, X, y=None, *, run: str | None = None) -> Self:
        """Trains on texts, as `train encoder`.

        Args:
            X: texts: a list, Series, array or `tf.data.Dataset` of str; or a path or corpus as for `--data`.
            y: ignored; scikit-learn passes it.
            run: keep the run, with its report, in `runs/encoder/<run>/`; the same call resumes it.

        Raises:
            UserError: a mistake in the data or the parameters.
        """
        texts = None if inputs.is_path(X) else inputs.require_texts(X)

        def write(folder: Path) -> dict[str, Any]:
            if texts is not None:
                data = runs.write_table(folder / "data.jsonl", {"text": texts})
                return {"data": data, "text_column": None}
            return {"data": str(X)}

        return self._fit(run, write)

    def encode(self, X) -> np.ndarray:
        """Returns the vector of each text, float32 [n, size].

        Args:
            X: texts, as for `fit`.
        """
        fitted, texts = self._fitted, inputs.require_texts(X)
        with user_errors():
            loaded = fitted.loaded
        from pipelines.export.signatures import BatchedSignature

        return BatchedSignature(loaded.signatures["serving_default"])(texts)["embedding"]

    transform = __call__ = encode

    def fill(self, X, top: int = 10) -> list[dict[str, Any]]:
        """Finds the most likely tokens of a blank, as `predict encoder`.

        Args:
            X: texts, as for `fit`, each with one `[MASK]`.
            top: number of tokens, at most 100.

        Returns:
            One dict per text: "text", and "candidates": [[token, probability], ...], the most likely first. A token
            that continues a word starts with "##".

        Raises:
            UserError: a text has not one `[MASK]`, or the encoder was made of word vectors.
        """
        fitted, texts = self._fitted, list(inputs.require_texts(X))
        with user_errors():
            return fill_blanks(fitted.exported, texts, top, fitted.loaded)

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: the input is a list of strings."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


TextEncoder.__module__ = "unroll"  # the name in pickles, of a checkout and of an installed package
