"""Characters that nobody sees and that change no word: a soft hyphen, and those of width zero.

U+200C and U+200D are not among them: in Persian, in Indic scripts and in emoji they make another word or sign.
"""

CHARACTERS = "\u00ad\u200b\u2060\ufeff"  # soft hyphen, zero width space, word joiner, zero width no-break space
PATTERN = "[" + "".join(rf"\x{{{ord(character):X}}}" for character in CHARACTERS) + "]+"  # of TensorFlow's RE2


def visible(text: str) -> str:
    """Returns `text` without invisible characters: what the graph reads of it (`normalization.without_invisible`)."""
    for character in CHARACTERS:
        text = text.replace(character, "")
    return text


def is_blank(text: str) -> bool:
    """Returns whether a text has nothing but white space and invisible characters."""
    return not visible(text).strip()
