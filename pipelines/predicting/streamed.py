"""`predict --stream`: a text is printed while it is generated, by an export or by a server that has it."""

import sys
from collections.abc import Iterable, Iterator

import numpy as np

from pipelines.decoding.options import Option
from pipelines.export.exported import Exported
from pipelines.support.errors import UserError
from serving import generation


def require_pieces(exported: Exported, loaded) -> None:
    """Checks that an export can generate token by token.

    Raises:
        UserError: it cannot.
    """
    if not set(generation.SIGNATURES) <= set(loaded.signatures):
        raise UserError(
            f"{exported.title} was exported by an earlier version and cannot stream: leave out --stream, or train again"
        )


def pieces(loaded, text: str, options: tuple[Option, ...], values: dict) -> Iterator[str]:
    """Yields the text of an export, piece by piece.

    Args:
        loaded: the export.
        text: the prompt, or the text to translate.
        options: of the signature `sample_start`.
        values: option -> value, for all of them.
    """
    import tensorflow as tf

    def run(name: str, inputs: generation.Rows) -> generation.Rows:
        outputs = loaded.signatures[name](**{key: tf.constant(value) for key, value in inputs.items()})
        return {key: value.numpy() for key, value in outputs.items()}

    arrays = {
        option.name: np.array([values[option.name]], object if option.dtype == "string" else option.dtype)
        for option in options
    }
    yield from generation.generate(run, {"text": np.array([text.encode("utf-8", "surrogatepass")], object)} | arrays)


def print_pieces(prompt: str, found: Iterable[str]) -> None:
    """Prints a text as its pieces arrive, after its prompt."""
    sys.stdout.write(prompt)
    for piece in found:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")
