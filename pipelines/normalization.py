"""Cleaning of raw text, as graph ops: bytes in, one line of plain lower-case NFKC text out."""

import html.entities

import tensorflow as tf
import tensorflow_text as tf_text

_TAG = r"(?i)</?(?:br|p|i|b|em|strong|u|hr|div|span|a)\b[^<>]{0,200}>"
_ENTITY = r"(&#?[0-9A-Za-z]{1,31};)"


def valid_utf8(texts: tf.Tensor, max_bytes: int) -> tf.Tensor:
    """The first `max_bytes` bytes of each text, without bytes that are not UTF-8 (such as a character cut in two)."""
    return tf.strings.unicode_transcode(tf.strings.substr(texts, 0, max_bytes), "UTF-8", "UTF-8", errors="ignore")


class EntityDecoder(tf.Module):
    """Replaces the entities of HTML, such as `&amp;`, `&#8217;` or `&#x27;`, by their characters.

    Covers HTML 5's named entities, and decimal and hexadecimal references to ASCII and to the characters that have a name.
    """

    def __init__(self):
        super().__init__()
        meaning = {f"&{name}": text for name, text in html.entities.html5.items() if name.endswith(";")}
        for character in {*map(chr, range(32, 127)), *(text for text in meaning.values() if len(text) == 1)}:
            code = ord(character)
            for reference in (f"{code}", f"x{code:x}", f"x{code:X}", f"X{code:x}", f"X{code:X}"):
                meaning[f"&#{reference};"] = character
        keys = sorted(meaning)
        values = [meaning[key] for key in keys]
        self._table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default_value="")

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """string [batch] -> string [batch]"""
        pieces = tf_text.regex_split(texts, _ENTITY, _ENTITY)
        decoded = self._table.lookup(pieces.flat_values)
        pieces = pieces.with_flat_values(tf.where(decoded == "", pieces.flat_values, decoded))
        return tf.strings.reduce_join(pieces, axis=-1)


class Normalizer(tf.Module):
    """Review as found -> review as the word and subword tokenizers read it.

    Cut to `max_bytes`, formatting tags out, entities decoded, Unicode's NFKC form, lower case.
    """

    def __init__(self, max_bytes: int):
        super().__init__()
        self._max_bytes = max_bytes
        self._decode_entities = EntityDecoder()

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """string [batch] -> string [batch]"""
        texts = valid_utf8(texts, self._max_bytes)
        texts = self._decode_entities(tf.strings.regex_replace(texts, _TAG, " "))
        return tf.strings.lower(tf_text.normalize_utf8(texts, "NFKC"), encoding="utf-8")
