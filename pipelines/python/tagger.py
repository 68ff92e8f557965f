"""`unroll.Tagger`: tokens -> one tag for each."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from pipelines.python import inputs, runs
from pipelines.python.errors import UserError, user_errors
from pipelines.python.estimator import Estimator
from pipelines.python.settings import estimator_of
from pipelines.tagging.config import TaggingConfig


@estimator_of(TaggingConfig, leave_out=("data", "valid"))
class Tagger(Estimator):
    """A tagger, of parts of speech, named entities, or any other tags of tokens.

    It is also a function: `tagger(X)` is `tagger.tag(X)`.

    Attributes of a fitted tagger:
        card_, scores_, run_: see `Estimator`.
    """

    task = "tagging"

    def fit(self, X, y=None, *, validation_data=None, run: str | None = None) -> Self:
        """Trains on sentences of tokens and tags, as `train tagging`.

        Args:
            X: sentences, each a sequence of tokens (str); or the path of a file, folder or corpus as for `--data`.
            y: the tags of each sentence, as many as it has tokens; None for a path.
            validation_data: (sentences, tags), or a path. By default a part of the sentences is split off.
            run: keep the run, with its report, in `runs/tagging/<run>/`; the same call resumes it.

        Raises:
            UserError: a mistake in the data or the parameters.
        """
        given = {"data": _checked(X, y)}
        if validation_data is not None:
            pair = validation_data if isinstance(validation_data, tuple) else (validation_data, None)
            given["valid"] = _checked(*pair)

        def write(folder: Path) -> dict[str, Any]:
            return {
                field: value if isinstance(value, str) else runs.write_lines(folder / f"{field}.tsv", _lines(*value))
                for field, value in given.items()
            }

        return self._fit(run, write)

    def predict(self, X) -> list[list[str]]:
        """Returns the tags of sentences whose tokens are given.

        Args:
            X: sentences, each a sequence of tokens (str).
        """
        sentences = _sentences(X, "X")
        if not sentences:
            return []
        fitted = self._fitted
        with user_errors():
            loaded = fitted.loaded
            from pipelines.tagging.tagged import tag_sentences

            return tag_sentences(loaded.signatures["tokens"], sentences).tags

    def tag(self, X) -> dict | list[dict]:
        """Divides texts into tokens, and tags these.

        Args:
            X: one text, or a list (or Series, array, ...) of texts.

        Returns:
            A dict for one text, else a list of dicts: "text" and, with one value per token, "tokens", "tags", "scores"
            (the probability of each tag), "start" and "end" (the token is text[start:end]) and "sentence" (its number).
        """
        texts = [X] if isinstance(X, str) else inputs.texts(X)
        if not texts:
            return []
        fitted = self._fitted
        with user_errors():
            loaded = fitted.loaded
            from pipelines.tagging.tagged import tag_texts

            results = tag_texts(loaded.signatures["serving_default"], texts)
        return results[0] if isinstance(X, str) else results

    __call__ = tag

    def entities(self, X) -> list[dict] | list[list[dict]]:
        """Returns the entities of texts, such as names; of a tagger whose tags mark spans (B-, I-, O).

        Args:
            X: one text, or a list (or Series, array, ...) of texts.

        Returns:
            The entities of one text, else a list with those of each text. An entity is a dict: "text", "label", "start"
            and "end" (the entity is text[start:end]), and "score": the lowest probability of a tag of its tokens.

        Raises:
            UserError: the tags mark no spans.
        """
        from pipelines.data.tagged_sentences import is_spans
        from pipelines.tagging.entities import entities_of

        if not is_spans(self.card_["classes"]):
            raise UserError("the tags of this tagger mark no spans (B-..., I-...): `tag` returns them")
        results = self.tag(X)
        return entities_of(results) if isinstance(results, dict) else [entities_of(result) for result in results]

    def score(self, X, y) -> float:
        """Returns F1 of the spans if the tags mark spans (B-, I-, O), else the accuracy; both from 0 to 1."""
        sentences, tags = _checked(X, y)
        predicted = self.predict(sentences)
        from pipelines.data.tagged_sentences import is_spans
        from pipelines.tagging import metrics

        return (metrics.span_f1 if is_spans(self.card_["classes"]) else metrics.accuracy)(predicted, tags)

    @staticmethod
    def _file_names() -> dict[str, str]:
        return {"data.tsv": "the sentences", "valid.tsv": "the validation sentences"}


Tagger.__module__ = "unroll"  # the name in pickles, of a checkout and of an installed package


def _checked(X, y) -> str | tuple[list[list[str]], list[list[str]]]:
    """Returns a path, or the sentences and their tags.

    Raises:
        UserError: they do not fit together.
    """
    if inputs.is_path(X):
        if y is not None:
            raise UserError(f"X is the path {X}, and y is given: the tags are in the file")
        return str(X)
    if y is None:
        raise UserError("y is missing: give the tags, as many for each sentence as it has tokens")
    sentences, tags = _sentences(X, "X"), _sentences(y, "y")
    inputs.require_equal_lengths(sentences, tags, "sentences", "lists of tags")
    for i, (tokens, names) in enumerate(zip(sentences, tags, strict=True)):
        if len(tokens) != len(names):
            raise UserError(f"sentence {i} has {len(tokens)} tokens and {len(names)} tags: give one tag for each token")
    return sentences, tags


def _sentences(values, name: str) -> list[list[str]]:
    """Returns lists of str.

    Raises:
        UserError: `values` is something else, or a value is empty or has a line end or a tab.
    """
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise UserError(f"{name} is of the type {type(values).__name__}: give a list of sentences, each a list of str")
    sentences = []
    for i, sentence in enumerate(values):
        if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
            raise UserError(f"{name} {i} is {sentence!r}: give a list of str; raw texts are for `tag`")
        items = list(sentence)
        for item in items:
            if not isinstance(item, str) or not item.strip() or any(mark in item for mark in "\t\r\n"):
                raise UserError(f"{name} {i} has {item!r}: give str that are not empty and have no tab or line end")
        sentences.append([str(item) for item in items])
    return sentences


def _lines(sentences: list[list[str]], tags: list[list[str]]) -> list[str]:
    """Returns the lines of a file with a token and its tag per line, and an empty line after each sentence."""
    lines = []
    for tokens, names in zip(sentences, tags, strict=True):
        lines += [f"{token}\t{name}" for token, name in zip(tokens, names, strict=True)]
        lines.append("")
    return lines
