"""`unroll.LanguageModel`: continues texts."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from pipelines.decoding.options import SAMPLING
from pipelines.language_model.config import LanguageModelConfig
from pipelines.python import inputs, options, runs
from pipelines.python.errors import user_errors
from pipelines.python.estimator import Estimator
from pipelines.python.settings import estimator_of


@estimator_of(LanguageModelConfig, leave_out=("data", "valid", "default_tokenizer"))
class LanguageModel(Estimator):
    """A language model of characters, words or subwords (`tokenizer`).

    It is also a function: `model(prompts)` is `model.generate(prompts)`.

    Attributes of a fitted model:
        card_, scores_, run_: see `Estimator`.
    """

    task = "language-model"

    def fit(self, X, y=None, *, validation_data=None, run: str | None = None) -> Self:
        """Trains on texts, as `train language-model`.

        Args:
            X: texts, read one after the other as one long text: a list, Series, array or `tf.data.Dataset` of str; or
                the path of a text file, or the name of a corpus, as for `--data`.
            y: ignored; scikit-learn passes it.
            validation_data: texts or a path. By default the end of the text is split off.
            run: keep the run, with its report, in `runs/language-model/<run>/`; the same call resumes it.

        Raises:
            UserError: a mistake in the data or the parameters.
        """
        texts = None if inputs.is_path(X) else inputs.require_texts(X)

        def write(folder: Path) -> dict[str, Any]:
            fields = {"data": str(X) if texts is None else runs.write_text(folder / "data.txt", texts)}
            if inputs.is_path(validation_data):
                fields["valid"] = str(validation_data)
            elif validation_data is not None:
                validation = inputs.require_texts(validation_data, "validation_data")
                fields["valid"] = runs.write_text(folder / "validation.txt", validation)
            return fields

        return self._fit(run, write)

    def generate(self, prompts="", **given) -> str | list[str]:
        """Continues prompts.

        Args:
            prompts: one text, or a list (or Series, array, ...) of texts; "" starts a new text.
            given: options, such as temperature=0.7, max_length=100, top_p, top_k, seed, stop; by default the model's
                (`card_["generation_defaults"]`).

        Returns:
            The continuation of each prompt, without the prompt: a str for one text, else a list.

        Raises:
            UserError: an option is out of its range.
        """
        fitted = self._fitted
        texts = [prompts] if isinstance(prompts, str) else inputs.texts(prompts, "prompts")
        given = options.checked("generate", SAMPLING, given)
        if not texts:
            return []
        with user_errors():
            from pipelines.language_model.predict import continue_texts

            results = continue_texts(fitted.exported, texts, given, fitted.loaded)
        generated = [result["text"] for result in results]
        return generated[0] if isinstance(prompts, str) else generated

    __call__ = generate

    def score_samples(self, X) -> np.ndarray:
        """Returns the log-probability of each text in nats, float32 [n]."""
        return self._scores(X)["log_probability"]

    def score(self, X, y=None) -> float:
        """Returns the mean log-probability per token in nats: higher is better.

        Each text is read on its own. `exp(-score)` is the perplexity per token.
        """
        outputs = self._scores(X)
        return float(outputs["log_probability"].sum(dtype=np.float64) / max(1, outputs["tokens"].sum()))

    def _scores(self, X) -> dict[str, np.ndarray]:
        fitted, texts = self._fitted, inputs.require_texts(X)
        with user_errors():
            loaded = fitted.loaded
        from pipelines.export.signatures import BatchedSignature

        return BatchedSignature(loaded.signatures["score"])(texts)

    @staticmethod
    def _file_names() -> dict[str, str]:
        return {"data.txt": "the text", "validation.txt": "the validation text"}


LanguageModel.__module__ = "unroll"  # the name in pickles, of a checkout and of an installed package
