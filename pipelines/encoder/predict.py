"""`predict encoder`: blanks filled, words compared in their contexts, and the vectors of texts."""

import io

import numpy as np

from pipelines.data.table_options import TableOptions
from pipelines.export.exported import Exported
from pipelines.predicting.file_steps import FileSteps, Predicted, table_steps
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import BLANK

_BAR_WIDTH = 20  # characters


def check_blanks(texts: list[str]) -> None:
    """Checks that each text has one blank.

    Raises:
        UserError: one has none, or several.
    """
    for text in texts:
        if text.count(BLANK) != 1:
            raise UserError(
                f"{text!r} has {text.count(BLANK) or 'no'} {BLANK}: write exactly one where a word is missing"
            )


def fill_blanks(exported: Exported, texts: list[str], top: int, loaded=None) -> list[dict]:
    """Finds the most likely tokens of the blank of each text.

    Args:
        texts: each with one `BLANK`.
        top: number of tokens.
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", and "candidates": [[token, probability], ...], the most likely first. A token that
        continues a word starts with "##".

    Raises:
        UserError: a text has not one blank, or the export cannot fill blanks.
    """
    check_blanks(texts)
    outputs = _signature(exported, loaded or exported.load(), "fill", "fills blanks")(texts)
    return results_of(texts, outputs, top)


def results_of(texts: list[str], outputs: dict, top: int) -> list[dict]:
    """Returns the dicts of `fill_blanks` from the outputs of the signature `fill`."""
    return [
        {
            "text": text,
            "candidates": [[str(token), round(float(p), 6)] for token, p in zip(tokens[:top], row[:top], strict=True)],
        }
        for text, tokens, row in zip(texts, outputs["tokens"], outputs["probabilities"], strict=True)
    ]


def format_candidates(candidates: list[list]) -> str:
    """Returns a line per token: the token, a bar and the probability."""
    width = max(len(token) for token, _ in candidates)
    return "\n".join(
        f"  {token:<{width}}  {'█' * max(round(_BAR_WIDTH * p), 0):<{_BAR_WIDTH}}  {p:.4f}" for token, p in candidates
    )


def compare_words(exported: Exported, texts: list[str], word: str | None, loaded=None) -> dict:
    """Compares a word in the contexts of several texts.

    Args:
        word: by default the last word that all texts have.

    Returns:
        "word"; "texts"; "context": cosines of the word's vectors in each pair of texts, float [n, n]; "static": the
        same of the mean of its token embeddings, which are 1 because they know no context.

    Raises:
        UserError: there are fewer than two texts, a text does not have the word, or the export has no such vectors.
    """
    if len(texts) < 2:
        raise UserError('--near compares a word in at least two texts, such as "river bank" "savings bank"')
    tokens = [text.split() for text in texts]
    word = word or _last_common(tokens)
    for text, row in zip(texts, tokens, strict=True):
        if word not in row:
            raise UserError(f"--word {word}: {text!r} does not have it between spaces")
    signature = _checked(exported, loaded or exported.load(), "words", "gives vectors of words")
    import tensorflow as tf

    outputs = signature(tokens=tf.ragged.constant(tokens, tf.string).to_tensor())
    if "embeddings" not in outputs:
        raise UserError(f"{exported.title} was exported by an older version: run its training command again")
    positions = [row.index(word) for row in tokens]
    context, static = (
        np.stack([values[i, position] for i, position in enumerate(positions)])
        for values in (outputs["vectors"].numpy(), outputs["embeddings"].numpy())
    )
    return {"word": word, "texts": texts, "context": _cosines(context), "static": _cosines(static)}


def format_comparison(result: dict) -> str:
    """Returns a line per pair of texts."""
    texts = result["texts"]
    lines = [f"cosine of {result['word']!r}      in context   token embedding"]
    for i in range(len(texts)):
        for j in range(i):
            lines.append(
                f"{result['context'][i][j]:>25.3f} {result['static'][i][j]:>15.3f}     {texts[j]} | {texts[i]}"
            )
    return "\n".join(lines)


def file_steps(options: TableOptions, suffix: str = ".npy") -> FileSteps:
    """Returns the steps that write the vectors of the texts of files: float32 [n, size], in the order of the texts.

    A poisoned row has a vector of NaN.

    Args:
        options: how to read a table.
        suffix: .npy.
    """
    return table_steps(options, suffix, 5, _load, _write_part, _head)


def _load(exported: Exported):
    encode = _signature(exported, exported.load(), "serving_default", "encodes texts")
    return lambda texts: encode(texts)["embedding"].astype("<f4")


def _head(first: Predicted, num_rows: int) -> bytes:
    """Returns the header of a .npy file, in which NumPy leaves room for any number of rows; see `FileSteps.head`."""
    file = io.BytesIO()
    shape = (num_rows, first.outputs.shape[1])
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return file.getvalue()


def _write_part(predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    vectors = (np.where(each.poisoned[:, None], np.float32(np.nan), each.outputs) for each in predicted)
    content = b"".join(each.astype("<f4").tobytes() for each in vectors)
    rows = sum(len(each.poisoned) for each in predicted)
    return content, {"rows": rows, "skipped": sum(each.chunk.num_skipped for each in predicted)}


def _signature(exported: Exported, loaded, name: str, purpose: str):
    """Returns a signature of texts, called in batches."""
    signature = _checked(exported, loaded, name, purpose)
    from pipelines.export.signatures import BatchedSignature

    return BatchedSignature(signature, model=loaded)


def _checked(exported: Exported, loaded, name: str, purpose: str):
    """Returns the signature `name` of the loaded export.

    Raises:
        UserError: it has none.
    """
    if name not in loaded.signatures:
        raise UserError(
            f"{exported.title} has no signature {name!r}, which {purpose}: take one that `train encoder --data` of "
            "this version has exported"
        )
    return loaded.signatures[name]


def _last_common(tokens: list[list[str]]) -> str:
    common = [word for word in tokens[0] if all(word in row for row in tokens)]
    if not common:
        raise UserError("--near: no word is in all texts: name one with --word")
    return common[-1]


def _cosines(vectors: np.ndarray) -> list[list[float]]:
    normalized = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.round((normalized @ normalized.T).astype(float), 4).tolist()
