"""The exports that `inspect` looks into."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.export.exported import Exported, versions
from pipelines.inspect.trace import Edit, Trace, traces
from pipelines.support.errors import UserError
from pipelines.support.installation import shell_command
from pipelines.task import TASKS
from pipelines.text.special_tokens import UNKNOWN

TRACE, INTERVENE = "trace", "intervene"
_EMBEDDINGS = ("tokens", "words", "target_tokens")  # names of the layers


class Model:
    """An export that is loaded, with its card.

    Args:
        exported: the export.
        loaded: its SavedModel, if it is loaded already.

    Attributes:
        title: name and version, such as "char-lm/1".
        entry: of its task in the registry.
        card: its model card.
        loaded: the SavedModel.
        signatures: of the SavedModel.
    """

    def __init__(self, exported: Exported, loaded=None):
        self.exported = exported
        self.title = exported.title
        self.card = exported.card()
        task = self.card.get("task")
        if task not in TASKS:
            raise UserError(f"{exported.path} has no model card of a task that Unroll knows: train the model again")
        self.entry = TASKS[task]
        self.loaded = loaded or exported.load()  # a signature lives as long as this object
        self.signatures = self.loaded.signatures

    @property
    def kind(self) -> str:
        """The network, such as "lstm"."""
        return str(self.card.get("config", {}).get("model", ""))

    @property
    def tokenizer(self) -> str:
        """What a token is: character, word or subword."""
        return str(self.card.get("config", {}).get("tokenizer", ""))

    def ask(self, signature: str, **inputs) -> dict:
        """Returns the outputs of a signature as arrays.

        Args:
            inputs: input -> values, as the signature takes them.
        """
        import tensorflow as tf

        function = self.signatures[signature]
        specs = {spec.name: spec for spec in tf.nest.flatten(function.structured_input_signature)}
        tensors = {name: tf.constant(value, specs[name].dtype) for name, value in inputs.items()}
        return {name: value.numpy() for name, value in function(**tensors).items()}

    def trace(self, texts: list[str]) -> list[Trace]:
        """Returns what the model computes for each text.

        Raises:
            UserError: the export has no signature `trace`.
        """
        if TRACE not in self.signatures:
            raise UserError(self._why_no_trace())
        return traces(self.title, self.ask(TRACE, text=texts))

    def intervene(self, text: str, rows: Sequence[Sequence[Edit]]) -> list[Trace]:
        """Returns what the model computes for a text with the interventions of each row.

        Raises:
            UserError: the export has no signature `intervene`.
        """
        if INTERVENE not in self.signatures:
            if TRACE not in self.signatures:
                raise UserError(self._why_no_trace())
            raise UserError(
                f"{self.title} has a trace, but nothing in it can be set: translators, encoders and exports of an "
                "older Unroll have no interventions"
            )
        size = max(map(len, rows))
        padded = [[*row, *[Edit("", "", 0, 0, 0, 0.0)] * (size - len(row))] for row in rows]
        columns = {name: [[getattr(edit, name) for edit in row] for row in padded] for name in Edit._fields}
        return traces(self.title, self.ask(INTERVENE, text=[text] * len(rows), **columns))

    def variables(self) -> list:
        """Returns the variables of the SavedModel; their names are those of the layers."""
        found = getattr(self.loaded, "_variables", None) or getattr(self.loaded, "variables", None) or []
        return list(found)

    def embeddings(self):
        """Returns the vectors of the tokens, float [vocabulary, size], and the tokens.

        Raises:
            UserError: the model does not show them.
        """
        vectors = self.embedding_table()
        names = self.ask("decode", ids=[[each] for each in range(len(vectors))])["text"]
        return vectors, [name.decode("utf-8", "replace") for name in names]

    def embedding_table(self):
        """Returns the vectors of the tokens, float [vocabulary, size].

        Raises:
            UserError: the model does not show them.
        """
        found = [each for each in self.variables() if each.name.split("/")[0] in _EMBEDDINGS]
        if not found or "decode" not in self.signatures:
            raise UserError(f"{self.title} does not show its embeddings: `inspect embeddings` needs a language model")
        return found[0].numpy()

    def probability_of(self, token: str):
        """Returns the function features float [n, units] -> probability that `token` comes next, float [n].

        Raises:
            UserError: the model is no language model with the signature `read_out`, or does not know the token.
        """
        import numpy as np

        if "read_out" not in self.signatures:
            raise UserError(f"{self.title} does not predict a next token: --surface needs a language model")
        target = self.token_id(token, "--surface")

        def probability(features):
            logits = self.ask("read_out", features=features)["logits"]
            shifted = np.exp(logits - logits.max(1, keepdims=True))
            return shifted[:, target] / shifted.sum(1)

        return probability

    def token_id(self, token: str, flag: str) -> int:
        """Returns the id of a token that the reader names with `flag`.

        Raises:
            UserError: the model does not know the token, or divides it.
        """
        encoded = self.ask("encode", text=[token])
        ids = encoded["ids"][0][: encoded["lengths"][0]]
        if len(ids) != 1 or ids[0] == UNKNOWN:
            reason = "does not know it" if len(ids) == 1 else f"divides it into {len(ids)} tokens"
            raise UserError(f"{flag} {token!r}: {self.title} {reason}. Give one token")
        return int(ids[0])

    def _why_no_trace(self) -> str:
        without = {"bag", "best", "linear", "cnn", "ngram", "feedforward", "average"}
        if self.entry.no_trace or not self.entry.has("trace"):
            return f"{self.title} has no trace: {self.entry.no_trace or f'the task {self.entry.name} has none'}"
        if self.kind in without:
            return (
                f"{self.title} has no trace: --model {self.kind} has no recurrent layer and no attention. Train one"
                " that has, such as --model lstm or transformer"
            )
        return (
            f"{self.title} has no trace: it was exported by an older Unroll, or its network did not help its linear "
            "model and was left out. Train it again, with --max-ngrams 0"
        )


def find(root: Path, names: tuple[str, ...]) -> list[Model]:
    """Loads the exports of `find_exports`, with the same arguments and errors."""
    return [Model(exported) for exported in find_exports(root, names)]


def find_exports(root: Path, names: tuple[str, ...]) -> list[Exported]:
    """Returns the exports that are named, or the only one there is. Imports no TensorFlow.

    Args:
        root: folder of all exports.
        names: name, or name/version, of each.

    Raises:
        UserError: one does not exist, or there are several and none is named.
    """
    existing = [path.name for path in sorted(root.iterdir()) if versions(path)] if root.is_dir() else []
    if not existing:
        raise UserError(f"no model in {root}: train one, such as `{shell_command()} train char-lm`")
    if not names and len(existing) > 1:
        raise UserError(f"there are several models in {root}: choose with --models ({', '.join(existing)})")
    return [_find_one(root, name, existing) for name in names or existing]


def _find_one(root: Path, given: str, existing: list[str]) -> Exported:
    name, _, number = given.partition("/")
    if name not in existing:
        raise UserError(f"no model {name!r} in {root}: existing: {', '.join(existing)}")
    found = versions(root / name)
    if number and (not number.isdecimal() or int(number) not in found):
        raise UserError(f"{name} has no version {number}; it has {', '.join(map(str, found))}")
    version = int(number) if number else found[-1]
    return Exported(name, version, root / name / str(version))
