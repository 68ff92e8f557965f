"""`unroll.Translator`: sentence -> sentence."""

from pathlib import Path
from typing import Any, Self

from pipelines.decoding.options import SHAPING_AND_SEED, TRANSLATION
from pipelines.python import inputs, options, runs
from pipelines.python.errors import UserError, user_errors
from pipelines.python.estimator import Estimator
from pipelines.python.settings import estimator_of
from pipelines.translation.config import TranslationConfig


@estimator_of(TranslationConfig, leave_out=("data", "target", "valid", "valid_target"))
class Translator(Estimator):
    """A translator, from any language to any other.

    It is also a function: `translator(sentences)` is `translator.translate(sentences)`.

    Attributes of a fitted translator:
        card_, scores_, run_: see `Estimator`.
    """

    task = "translation"

    def fit(self, X, y=None, *, validation_data=None, run: str | None = None) -> Self:
        """Trains on sentences and their translations, as `train translation`.

        Args:
            X: sentences: a list, Series, array or `tf.data.Dataset` of str, also a Dataset of pairs; or the path of a
                file, folder or corpus as for `--data`.
            y: their translations, in the same order; for a file, the path of the file with the translations
                (`--target`), or None.
            validation_data: (sentences, translations), or a path. By default a part of the pairs is split off.
            run: keep the run, with its report, in `runs/translation/<run>/`; the same call resumes it.

        Raises:
            UserError: a mistake in the data or the parameters.
        """
        pairs = None if inputs.is_path(X) else inputs.text_pairs(X, y)

        def write(folder: Path) -> dict[str, Any]:
            fields = (
                _path_fields(X, y, "data", "target") if pairs is None else _written(folder, pairs, "data", "target")
            )
            if validation_data is not None:
                fields |= _validation_fields(folder, validation_data)
            return fields

        return self._fit(run, write)

    def translate(self, X, **given) -> str | list[str]:
        """Translates sentences.

        Args:
            X: one sentence, or a list (or Series, array, ...) of sentences.
            given: options: beam_width, length_penalty, max_length; by default the model's. With temperature, top_k,
                top_p, min_p or seed the translations are sampled.

        Returns:
            The translation: a str for one sentence, else a list.

        Raises:
            UserError: an option is out of its range.
        """
        fitted = self._fitted
        texts = [X] if isinstance(X, str) else inputs.texts(X)
        given = options.checked("translate", (*TRANSLATION, *SHAPING_AND_SEED), given)
        if not texts:
            return []
        with user_errors():
            loaded = fitted.loaded
            from pipelines.translation.predict import make_request, translate_texts

            request = make_request(given, 1, fitted.card["generation_defaults"])
            results = translate_texts(fitted.exported, texts, request, loaded)
        translations = [result["translation"] for result in results]
        return translations[0] if isinstance(X, str) else translations

    __call__ = translate

    def score(self, X, y) -> float:
        """Returns the corpus BLEU of the translations of `X`, 0 to 100, against `y`, as sacrebleu computes it."""
        sources, references = inputs.text_pairs(X, y)
        translations = self.translate(sources)
        from pipelines.translation.metrics import bleu

        return bleu(translations, references)

    @staticmethod
    def _file_names() -> dict[str, str]:
        return {
            "data.txt": "the sentences",
            "target.txt": "the translations",
            "valid.txt": "the validation sentences",
            "valid_target.txt": "their translations",
        }


Translator.__module__ = "unroll"  # the name in pickles, of a checkout and of an installed package


def _validation_fields(folder: Path, validation_data) -> dict[str, str]:
    X, y = validation_data if isinstance(validation_data, tuple) else (validation_data, None)
    if inputs.is_path(X):
        return _path_fields(X, y, "valid", "valid_target")
    return _written(folder, inputs.text_pairs(X, y), "valid", "valid_target")


def _path_fields(source, target, data_field: str, target_field: str) -> dict[str, str]:
    if target is not None and not inputs.is_path(target):
        raise UserError(f"X is the path {source}, and y is no path: give two files, or two lists of sentences")
    return {data_field: str(source)} | ({} if target is None else {target_field: str(target)})


def _written(folder: Path, pairs: tuple[list[str], list[str]], *fields: str) -> dict[str, str]:
    """Writes both sides line by line."""
    return {field: runs.write_lines(folder / f"{field}.txt", side) for field, side in zip(fields, pairs)}
