"""Entities of tagged texts as graph operations: the signature `entities`. The rule is that of `spans.spans_of`."""

from collections.abc import Sequence

import tensorflow as tf

from pipelines.text.words import Words, characters_between

_LAST_OF_ONE_UNIT = 0xFFFF  # a later character has two units in UTF-16


def entities(
    tags: Sequence[str], words: Words, ids: tf.Tensor, scores: tf.Tensor, starts_sentence: tf.Tensor
) -> dict[str, tf.Tensor]:
    """Returns the entities of texts with n tokens.

    Args:
        tags: names of the tags: O, B-x and I-x.
        words: of the texts.
        ids: int32 [n], the numbers of the tokens' tags.
        scores: float32 [n], their probabilities.
        starts_sentence: bool [n].

    Returns:
        entities, labels: string [batch, entities]; start, end: int32, the entity's first character in its text and the
        one after its last, counted in Unicode characters; start_utf16, end_utf16: the same in units of UTF-16; scores:
        float32, the lowest probability of a token. After the last entity of a text there are "" and 0.
        num_entities: int32 [batch].
    """
    first, last, lowest = _grouped(tags, ids, scores, starts_sentence)
    row = tf.gather(words.tokens.value_rowids(), first)
    start, end = tf.gather(words.start.flat_values, first), tf.gather(words.end.flat_values, last)
    codes = words.characters.flat_values  # of all texts, one after the other
    begin_of_text = tf.cast(tf.gather(words.characters.row_starts(), row), tf.int32)
    begin, stop = begin_of_text + start, begin_of_text + end
    num_wide = tf.cumsum(tf.cast(codes > _LAST_OF_ONE_UNIT, tf.int32))
    num_wide = tf.concat([[0], num_wide], axis=0)  # before each character, and at the end
    wide_in_text = [tf.gather(num_wide, each) - tf.gather(num_wide, begin_of_text) for each in (begin, stop)]
    by_entity = {
        "entities": characters_between(codes, begin, stop),
        "labels": tf.gather(tf.constant([tag[2:] for tag in tags]), tf.gather(ids, first)),
        "start": start,
        "end": end,
        "start_utf16": start + wide_in_text[0],
        "end_utf16": end + wide_in_text[1],
        "scores": lowest,
    }
    ragged = tf.RaggedTensor.from_value_rowids(start, row, words.tokens.nrows(), validate=False)
    return {
        **{name: ragged.with_flat_values(values).to_tensor() for name, values in by_entity.items()},
        "num_entities": tf.cast(ragged.row_lengths(), tf.int32),
    }


def _grouped(
    tags: Sequence[str], ids: tf.Tensor, scores: tf.Tensor, starts_sentence: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the number of the first and of the last token of each entity, int64, and its lowest score, float32."""
    names = sorted({tag[2:] for tag in tags})
    label = tf.gather(tf.constant([names.index(tag[2:]) for tag in tags]), ids)
    begins, inside = (tf.gather(tf.constant([tag[:2] == start for tag in tags]), ids) for start in ("B-", "I-"))
    # Tokens are in groups: an I- continues the group of the token before it if that has its label. A group is an entity
    # if it starts with B-; one of I- alone, and each O, is none.
    before = tf.concat([[-1], label], axis=0)[:-1]
    continues = inside & tf.equal(label, before) & ~starts_sentence
    group = tf.cumsum(tf.cast(~continues, tf.int32)) - 1
    first = tf.where(~continues)[:, 0]  # [groups]
    last = tf.concat([first, [tf.size(ids, tf.int64)]], axis=0)[1:] - 1
    lowest = tf.math.segment_min(scores, group)
    is_entity = tf.gather(begins, first)
    return tf.boolean_mask(first, is_entity), tf.boolean_mask(last, is_entity), tf.boolean_mask(lowest, is_entity)
