"""Generates texts token by token with the signatures `sample_start`, `sample_step` and `decode` of an export.

Texts that were started at different times share each step: their rows are concatenated. A row is a dict of arrays; the
signatures say what is in it. The tokens of a text do not depend on the others.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np

START, STEP, DECODE = SIGNATURES = ("sample_start", "sample_step", "decode")
_ONCE = ("lead", "num_read")  # outputs of START that are no part of the rows
_TOKENS = ("tokens", "log_probabilities", "top_ids", "top_log_probabilities")  # outputs of STEP, likewise
_INCOMPLETE = "\N{REPLACEMENT CHARACTER}"  # what stands for bytes until the character is complete
# New tokens are decoded after some that stand before them: these decide on spaces, and may be a part of a character.
_CONTEXT, _LONGEST_CONTEXT = 8, 40
_STEPS = 4  # of one run, unless a text waits for its first token

Rows = dict[str, np.ndarray]
Run = Callable[[str, Rows], Rows]  # (signature, inputs) -> outputs


@dataclasses.dataclass(frozen=True)
class Piece:
    """What a run adds to a text.

    Attributes:
        text: to be appended; may be empty.
        end: why the text has ended: "stop", the model ended it or it has a stop text; "length", it has the maximum
            number of tokens; "" if it has not ended.
        tokens: for each new token its text, its log-probability, and (text, log-probability) of the most likely ones;
            empty unless asked for.
    """

    text: str
    end: str = ""
    tokens: tuple[tuple[str, float, tuple[tuple[str, float], ...]], ...] = ()


class Text:
    """A text that is being generated.

    Args:
        stops: the text ends before the first of them.
        wants_tokens: whether its pieces have `tokens`.
        keeps_stop: whether the text ends after the stop text instead.

    Attributes:
        num_read: number of tokens of the prompt.
        ids: the generated tokens.
        decoded: their text, without what stands before it.
    """

    def __init__(self, stops: Sequence[str] = (), wants_tokens: bool = False, keeps_stop: bool = False):
        self._stops, self.wants_tokens, self._keeps_stop = tuple(filter(None, stops)), wants_tokens, keeps_stop
        self.num_read, self.lead, self.decoded = 0, "", ""
        self.ids: list[int] = []
        self.context_start = 0  # the first of the ids that are decoded again
        self._context = ""  # the text of these ids
        self._sent = 0  # characters

    @property
    def num_tokens(self) -> int:
        """Number of generated tokens."""
        return len(self.ids)

    def extend(self, ids: Sequence[int], context: str, shorter: str = "") -> None:
        """Appends tokens.

        Args:
            context: the text of all tokens from `context_start` on, the new ones among them.
            shorter: the text of the last `_CONTEXT` tokens, which become the context. "" if it is not known.
        """
        self.ids.extend(map(int, ids))
        before = self._context.rstrip(_INCOMPLETE)
        self.decoded, self._context = self.decoded.rstrip(_INCOMPLETE) + context[len(before) :], context
        # Spaces at the start are not decoded, so the context has to have something else.
        if shorter.strip() and not shorter.startswith(_INCOMPLETE):
            self.context_start, self._context = len(self.ids) - _CONTEXT, shorter

    def piece(self, end: str, tokens: tuple) -> Piece:
        """Returns what is new in the text.

        Args:
            end, tokens: see `Piece`.
        """
        text = self.lead + self.decoded if self.decoded else ""
        found = [(at, each) for each in self._stops if (at := text.find(each)) >= 0]
        if found:
            at, stop = min(found)
            text, end = text[: at + len(stop) * self._keeps_stop], "stop"
        elif not end:
            text = self._certain(text.rstrip(_INCOMPLETE))
        new, self._sent = text[self._sent :], max(self._sent, len(text))
        return Piece(new, end, tokens)

    def _certain(self, text: str) -> str:
        """Returns the text without an end that may become a stop text."""
        starts = (each[:size] for each in self._stops for size in range(len(each) - 1, 0, -1))
        longest = max((len(start) for start in starts if text.endswith(start)), default=0)
        return text[: len(text) - longest]


class Batch:
    """Texts that share each step.

    Args:
        run: runs a signature.
    """

    def __init__(self, run: Run):
        self._run = run
        self._texts: list[Text] = []
        self._rows: Rows = {}

    def __len__(self) -> int:
        return len(self._texts)

    def join(self, texts: Sequence[Text], inputs: Rows) -> None:
        """Reads prompts; the next run of `advance` continues these texts, too.

        Args:
            inputs: of `sample_start`, with a row for each text.

        Raises:
            Exception: the one of `run`; then the batch is as it was.
        """
        outputs = self._run(START, inputs)
        for text, lead, num_read in zip(texts, *(outputs.pop(name) for name in _ONCE), strict=True):
            text.lead, text.num_read = lead.decode(), int(num_read)
        self._rows = concatenated(self._rows, outputs) if self._texts else outputs
        self._texts.extend(texts)

    def leave(self, texts: Sequence[Text]) -> None:
        """Generates no more of these texts."""
        kept = [i for i, text in enumerate(self._texts) if text not in texts]
        self._texts = [self._texts[i] for i in kept]
        self._rows = {name: array[kept] for name, array in self._rows.items()} if kept else {}

    def advance(self) -> list[tuple[Text, Piece]]:
        """Generates the next tokens of all texts. A text that has ended leaves.

        Raises:
            Exception: the one of `run`; then the batch is as it was.
        """
        num_steps = 1 if any(not text.ids for text in self._texts) else _STEPS
        before = self._rows["lengths"]
        inputs = self._rows | {"num_steps": np.full(len(self._texts), num_steps, np.int32)}
        outputs = self._run(STEP, inputs)
        written = {name: outputs.pop(name) for name in _TOKENS}
        new = [ids[:number] for ids, number in zip(written["tokens"], outputs["lengths"] - before, strict=True)]
        contexts = [[*text.ids[text.context_start :], *ids] for text, ids in zip(self._texts, new, strict=True)]
        too_long = [i for i, ids in enumerate(contexts) if len(ids) > _LONGEST_CONTEXT]
        decoded = self._decoded([*contexts, *(contexts[i][-_CONTEXT:] for i in too_long)])
        shorter = dict(zip(too_long, decoded[len(contexts) :], strict=True))
        pieces = []
        for i, (text, ids) in enumerate(zip(self._texts, new, strict=True)):
            text.extend(ids, decoded[i], shorter.get(i, ""))
            end = "" if outputs["alive"][i] else "stop" if text.num_tokens < outputs["max_length"][i] else "length"
            tokens = self._described({name: array[i, : len(ids)] for name, array in written.items()}, text)
            pieces.append((text, text.piece(end, tokens)))
        self._rows = outputs
        self.leave([text for text, piece in pieces if piece.end])
        return pieces

    def _decoded(self, ids: list[list[int]]) -> list[str]:
        padded = np.zeros((len(ids), max(map(len, ids), default=0)), np.int32)
        for row, of_text in zip(padded, ids, strict=True):
            row[: len(of_text)] = of_text
        return [text.decode("utf-8", "replace") for text in self._run(DECODE, {"ids": padded})["text"]]

    def _described(self, written: Rows, text: Text) -> tuple:
        """See `Piece.tokens`."""
        if not text.wants_tokens or not len(written["tokens"]):
            return ()
        likely = self._decoded([[int(each)] for each in written["top_ids"].reshape(-1)])
        chosen = self._decoded([[int(each)] for each in written["tokens"]])
        size = written["top_ids"].shape[1]
        top = [
            tuple(zip(likely[i * size : (i + 1) * size], map(float, row), strict=True))
            for i, row in enumerate(written["top_log_probabilities"])
        ]
        return tuple(zip(chosen, map(float, written["log_probabilities"]), top, strict=True))


def concatenated(first: Rows, second: Rows) -> Rows:
    """Returns the rows of both. Where further axes differ in size, zeros are appended."""
    joined = {}
    for name, array in first.items():
        sizes = np.maximum(array.shape[1:], second[name].shape[1:])
        joined[name] = np.concatenate([_padded(each, sizes) for each in (array, second[name])])
    return joined


def _padded(array: np.ndarray, sizes) -> np.ndarray:
    missing = sizes - array.shape[1:]
    return np.pad(array, [(0, 0), *((0, each) for each in missing)]) if missing.any() else array


def generate(run: Run, inputs: Rows) -> Iterator[str]:
    """Yields the pieces of one text.

    Args:
        inputs: of `sample_start`, with one row.
    """
    batch = Batch(run)
    batch.join([Text()], inputs)
    while len(batch):
        for _, piece in batch.advance():
            yield piece.text
