"""The special tokens, which have the same ids in every tokenizer that this project trains. Imports no TensorFlow."""

from typing import NamedTuple

PAD, UNKNOWN, START, END = range(4)
MASK = UNKNOWN  # the id that stands for a masked token in our own encoders; subwords leave no other use for it
BLANK = "[MASK]"  # what a text has where an encoder finds the missing word
SPECIAL_TOKENS = ("<pad>", "<unknown>", "<start>", "<end>")
FIELD_MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"  # between the fields of a text that has several
WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # what SentencePiece writes for a space


class SpecialIds(NamedTuple):
    """The ids of a tokenizer's special tokens; those of a pretrained checkpoint are the checkpoint's."""

    pad: int = PAD
    unknown: int = UNKNOWN
    start: int = START
    end: int = END
    blank: int | None = None
    """Of the token in place of a hidden one, such as [MASK]; None if the tokenizer has no such token."""


def never_generated(documents) -> tuple[int, ...]:
    """Returns the ids that a language model never generates.

    Args:
        documents: `LanguageModelConfig.documents`; a model of one long text has never seen the end of one.
    """
    return (PAD, UNKNOWN, START) if documents else (PAD, UNKNOWN, START, END)
