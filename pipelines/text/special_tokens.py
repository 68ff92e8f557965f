"""The special tokens, which have the same ids in every tokenizer. Imports no TensorFlow."""

PAD, UNKNOWN, START, END = range(4)
SPECIAL_TOKENS = ("<pad>", "<unknown>", "<start>", "<end>")
FIELD_MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"  # between the fields of a text that has several
WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # what SentencePiece writes for a space


def never_generated(documents) -> tuple[int, ...]:
    """Returns the ids that a language model never generates.

    Args:
        documents: `LanguageModelConfig.documents`; a model of one long text has never seen the end of one.
    """
    return (PAD, UNKNOWN, START) if documents else (PAD, UNKNOWN, START, END)
