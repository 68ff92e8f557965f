"""Normalization of raw text as graph operations: bytes become one line of lower-case text in Unicode's NFKC form."""

import html.entities

import tensorflow as tf
import tensorflow_text as tf_text

from pipelines.text import invisible

_TAG = r"(?i)</?(?:br|p|i|b|em|strong|u|hr|div|span|a)\b[^<>]{0,200}>"
_ENTITY = r"(&#?[0-9A-Za-z]{1,31};)"
_NO_UTF8 = b"\xff"  # a byte that no UTF-8 text contains


def valid_utf8(texts: tf.Tensor, max_bytes: int) -> tf.Tensor:
    """Returns the first `max_bytes` bytes of each text, without bytes that are not UTF-8 (such as half of a character).

    Args:
        texts: string [batch].

    Returns:
        String [batch].
    """
    return tf.strings.unicode_transcode(tf.strings.substr(texts, 0, max_bytes), "UTF-8", "UTF-8", errors="ignore")


def without_invisible(texts: tf.Tensor) -> tf.Tensor:
    """Returns texts without the characters of `invisible.CHARACTERS`, string [batch]."""
    return tf.strings.regex_replace(texts, invisible.PATTERN, "")


class Cutter(tf.Module):
    """Cuts texts without another change: the normalization of all that reads cased text.

    Args:
        max_bytes: number of bytes that are read of each text.
        removes_invisible: whether the bytes that are read lose their invisible characters.
    """

    def __init__(self, max_bytes: int, removes_invisible: bool = True):
        super().__init__()
        self._max_bytes = max_bytes
        self._removes_invisible = removes_invisible

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Converts string [batch] to string [batch], valid UTF-8."""
        texts = valid_utf8(texts, self._max_bytes)
        return without_invisible(texts) if self._removes_invisible else texts


class EntityDecoder(tf.Module):
    """Replaces HTML entities, such as `&amp;`, `&#8217;` or `&#x27;`, by their characters.

    It knows the named entities of HTML 5, and decimal and hexadecimal references to ASCII characters and to the
    characters that have a name.
    """

    def __init__(self):
        super().__init__()
        characters = {f"&{name}": text for name, text in html.entities.html5.items() if name.endswith(";")}
        for character in {*map(chr, range(32, 127)), *(text for text in characters.values() if len(text) == 1)}:
            code = ord(character)
            for reference in (f"{code}", f"x{code:x}", f"x{code:X}", f"X{code:x}", f"X{code:X}"):
                characters[f"&#{reference};"] = character
        keys = sorted(characters)
        values = [characters[key] for key in keys]
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        self._table = tf.lookup.StaticHashTable(initializer, default_value="")

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Converts string [batch], valid UTF-8, to string [batch]."""
        marked = tf.strings.regex_replace(texts, _ENTITY, _NO_UTF8 + rb"\1" + _NO_UTF8)
        parts = tf.strings.split(marked, _NO_UTF8)
        decoded = self._table.lookup(parts.flat_values)
        parts = parts.with_flat_values(tf.where(decoded == "", parts.flat_values, decoded))
        return tf.strings.reduce_join(parts, axis=-1)


class Normalizer(tf.Module):
    """Normalizes texts for the word and subword tokenizers.

    Steps: the first `max_bytes` bytes, no invisible characters, no formatting tags, entities decoded, NFKC, lower case.

    Args:
        max_bytes: number of bytes that are read of each text.
        removes_invisible: False for the tokenizers of runs that were trained with invisible characters.
    """

    def __init__(self, max_bytes: int, removes_invisible: bool = True):
        super().__init__()
        self._removes_invisible = removes_invisible
        self._cut = Cutter(max_bytes, removes_invisible)
        self._decode_entities = EntityDecoder()

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Converts string [batch] to string [batch]."""
        # Twice: an invisible character may stand in an entity, or be one, such as "&shy;".
        texts = self._decode_entities(tf.strings.regex_replace(self._cut(texts), _TAG, " "))
        texts = without_invisible(texts) if self._removes_invisible else texts
        return tf.strings.lower(tf_text.normalize_utf8(texts, "NFKC"), encoding="utf-8")
