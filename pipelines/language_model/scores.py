"""How likely texts are: log-probability, perplexity, and the surprisal of each token, -log2 p."""

import functools
import math
from collections.abc import Sequence

import numpy as np

from pipelines.command_line import ServedModelFlags
from pipelines.data.table_options import TableOptions
from pipelines.decoding.options import CACHE, filled
from pipelines.export.exported import Exported
from pipelines.language_model.cache_options import cache_options, exported_cache_options, require_cache
from pipelines.language_model.next_tokens import has_end_tokens, shown
from pipelines.predicting.file_steps import FileSteps
from pipelines.predicting.row_files import RowTask, row_steps
from pipelines.support.numbers import counted
from pipelines.text.special_tokens import END, SPECIAL_TOKENS, UNKNOWN

MEASURES = ("log_probability", "perplexity", "tokens", "bits_per_token")
_BATCH_TOKENS = 2**14  # tokens of a batch, padding included
_BATCH_TEXTS = 64
# Bits from which a token has a color: about as likely as one of 2, 16 and 256 equally likely ones.
_LEVELS = ((8.0, "\033[91m"), (4.0, "\033[33m"), (1.0, "\033[36m"), (0.0, "\033[32m"))
_RESET = "\033[0m"


def score_texts(exported: Exported, texts: list[str], cache: dict | None = None, loaded=None) -> list[dict]:
    """Scores texts.

    Args:
        cache: option of `CACHE` -> value; None where it is not given. Each text starts with an empty cache.
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", `MEASURES` (log-probability in nats), "surprisal": [[token, bits], ...], and
        "note" where tokens are unknown. A text without tokens has log-probability 0 and perplexity 1.
    """
    return list(_Scorer(exported, cache, loaded).score(texts, with_tokens=True))


def score_texts_on_server(
    server: ServedModelFlags, model: str, texts: list[str], cache: dict | None = None
) -> list[dict]:
    """As `score_texts`, with a model on a server, and without notes.

    Raises:
        UserError: the server does not answer.
    """
    encoded = server.ask(model, {"text": texts}, "encode")
    ids, lengths = np.array(encoded["ids"], np.int32).reshape(len(texts), -1), np.array(encoded["lengths"])
    if has_end_tokens(server, model):
        ids, lengths = _with_end_tokens(ids, lengths)
    options = cache_options(cache or {})
    inputs = {"ids": _with_column(ids).tolist()}
    inputs |= {name: [value] * len(texts) for name, value in (options or {}).items()}
    signature = "token_losses_with_cache" if options else "token_losses"
    losses = np.array(server.ask(model, inputs, signature)["losses"])
    used = sorted({i for row, length in zip(ids.tolist(), lengths) for i in row[:length]} - {END})
    names = server.ask(model, {"ids": [[i] for i in used]}, "decode")["text"] if used else []
    tokens = {END: SPECIAL_TOKENS[END], **dict(zip(used, names))}
    return [
        _result(text, losses[row, : lengths[row]], [tokens[i] for i in ids[row, : lengths[row]].tolist()])
        for row, text in enumerate(texts)
    ]


def file_steps(options: TableOptions, suffix: str, cache: dict, prefix: str | None = None) -> FileSteps:
    """Returns the steps that score the texts of files.

    Args:
        options: how to read a table.
        suffix: one of `PredictRowsCommand.suffixes`.
        cache: as for `score_texts`.
        prefix: of the names of the columns that are written; see `row_files.names_of_outputs`.
    """
    task = RowTask(
        names=MEASURES,
        load=functools.partial(_load, cache),
        columns=_columns,
        given={"cache": cache},
        chunks_per_part=1,
    )
    return row_steps(task, options, suffix, prefix)


def _load(cache: dict, exported: Exported):
    scorer = _Scorer(exported, cache)
    return lambda texts: list(scorer.score(texts, with_tokens=False))


def _columns(results: list[dict]) -> dict[str, Sequence]:
    """See `RowTask.columns`. As objects, the numbers are written as they were rounded."""
    return {name: np.array([result[name] for result in results], object) for name in MEASURES}


def token_losses(signatures, ids, cache: dict | None = None) -> np.ndarray:
    """Returns -log p of each of ids int32 [batch, time] in nats, float32 [batch, time].

    Args:
        cache: option of `CACHE` -> value; None uses no cache.
    """
    if not cache:
        return signatures["token_losses"](ids=ids)["losses"].numpy()
    outputs = signatures["token_losses_with_cache"](ids=ids, **filled(CACHE, cache, ids[:, 0]))
    return outputs["losses"].numpy()


def format_scores(results: list[dict], color: bool) -> str:
    """Returns for each text its tokens with their surprisal in bits underneath the text's measures.

    Args:
        color: whether tokens are colored by their surprisal instead of followed by it.
    """
    blocks = []
    for result in results:
        measures = (
            f"log-probability {result['log_probability']:.3f}   perplexity {result['perplexity']:.2f}   "
            f"{result['bits_per_token']:.2f} bits per token   {counted(result['tokens'], 'token')}"
        )
        blocks.append(f"{_colored_text(result['surprisal'], color)}\n  {measures}")
    if len(results) > 1:
        best = min(results, key=lambda result: result["bits_per_token"])
        blocks.append(f"the most likely per token: {best['text']!r}")
    return "\n".join(blocks)


def legend() -> str:
    """Returns what the colors of `format_scores` mean."""
    names = ("8 bits and more", "4 to 8", "1 to 4", "less than 1")
    parts = [f"{color}{name}{_RESET}" for (_, color), name in zip(_LEVELS, names, strict=True)]
    return f"surprisal: {', '.join(reversed(parts))}"


class _Scorer:
    """The signatures of a loaded export, and the texts of the tokens."""

    def __init__(self, exported: Exported, cache: dict | None, loaded=None):
        self._cache = exported_cache_options(exported, cache or {})
        self._loaded = loaded or exported.load()  # kept as long as its signatures are used
        if self._cache:
            require_cache(exported, self._loaded.signatures)
        self._names: dict[int, str] = {END: SPECIAL_TOKENS[END]}
        self._with_end = bool(exported.card().get("config", {}).get("documents"))

    def score(self, texts: list[str], with_tokens: bool):
        """Yields the dicts of `score_texts`, in the order of the texts; "surprisal" only `with_tokens`."""
        import tensorflow as tf

        from pipelines.support.quiet import capture_stderr_descriptor

        for start in range(0, len(texts), _BATCH_TEXTS):
            batch = texts[start : start + _BATCH_TEXTS]
            encoded = self._call("encode", text=tf.constant([text.encode("utf-8", "surrogatepass") for text in batch]))
            ids, lengths = encoded["ids"], encoded["lengths"]
            if self._with_end:
                ids, lengths = _with_end_tokens(ids, lengths)
            results: dict[int, dict] = {}
            order = np.argsort(lengths, kind="stable")
            for rows in _groups(order, lengths):
                longest = int(lengths[rows].max())
                read = tf.constant(_with_column(ids[rows, :longest]))
                with capture_stderr_descriptor():  # the first call may print lines about oneDNN
                    losses = token_losses(self._loaded.signatures, read, self._cache)
                for row, row_losses in zip(rows.tolist(), losses):
                    own = ids[row, : lengths[row]]
                    names = self._texts_of(own) if with_tokens else None
                    results[row] = _result(batch[row], row_losses[: lengths[row]], names) | _note(own)
            yield from (results[row] for row in range(len(batch)))

    def _texts_of(self, ids: np.ndarray) -> list[str]:
        import tensorflow as tf

        missing = sorted(set(ids.tolist()) - set(self._names))
        if missing:
            names = self._call("decode", ids=tf.constant(missing, tf.int32)[:, None])["text"]
            self._names |= zip(missing, (name.decode() for name in names))
        return [self._names[i] for i in ids.tolist()]

    def _call(self, signature: str, **inputs) -> dict[str, np.ndarray]:
        from pipelines.support.quiet import capture_stderr_descriptor

        with capture_stderr_descriptor():  # the first call may print lines about oneDNN
            outputs = self._loaded.signatures[signature](**inputs)
        return {name: value.numpy() for name, value in outputs.items()}


def _groups(order: np.ndarray, lengths: np.ndarray):
    """Yields parts of `order`, texts of similar length with at most `_BATCH_TOKENS` tokens, or one longer text."""
    first = 0
    for i in range(1, len(order) + 1):
        if i == len(order) or (i + 1 - first) * max(lengths[order[i]], 1) > _BATCH_TOKENS:
            yield order[first:i]
            first = i


def _with_column(ids: np.ndarray) -> np.ndarray:
    """Returns the ids with at least one column, because a network reads at least one token."""
    return ids if ids.shape[1] else np.zeros((len(ids), 1), ids.dtype)


def _with_end_tokens(ids: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ids = np.pad(ids, [(0, 0), (0, 1)])
    ids[np.arange(len(ids)), lengths] = END
    return ids, lengths + 1


def _result(text: str, losses: np.ndarray, names: list[str] | None) -> dict:
    total, count = float(losses.sum()), len(losses)
    mean = total / max(count, 1)
    result = {
        "text": text,
        "log_probability": round(-total, 4) + 0.0,  # not -0.0
        "perplexity": round(math.exp(min(mean, 700)), 4),
        "tokens": count,
        "bits_per_token": round(mean / math.log(2), 4),
    }
    if names is not None:
        result["surprisal"] = [[name, round(float(loss) / math.log(2), 3)] for name, loss in zip(names, losses)]
    return result


def _note(ids: np.ndarray) -> dict:
    count = int((ids == UNKNOWN).sum())
    return {"note": f"{counted(count, 'token')} never seen in training, scored as the unknown token"} if count else {}


def _colored_text(surprisal: list[list], color: bool) -> str:
    if not surprisal:
        return "(no tokens)"
    if color:
        # Words do not contain the spaces between them; characters and subwords do.
        between = " " if all(len(token) > 1 and " " not in token for token, _ in surprisal[:2]) else ""
        return between.join(f"{_color(bits)}{shown(token)}{_RESET}" for token, bits in surprisal)
    return " ".join(f"{shown(token)}({bits:.1f})" for token, bits in surprisal)


def _color(bits: float) -> str:
    return next(color for lowest, color in _LEVELS if bits >= lowest or lowest == 0.0)
