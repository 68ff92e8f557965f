"""The signature of a model of several columns: an input for each, which become the text of `data/fields.py`."""

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from pipelines.data import pair_fields
from pipelines.data.fields import BETWEEN, MISSING, NUMBER, Field
from pipelines.text.special_tokens import FIELD_MARK


def columns_signature(fields: Sequence[Field], classify: Callable):
    """Returns a function of one input per column, string or float32 [batch], with the outputs of `classify`.

    The output "composed" is the text of all fields, which the signatures `composed` and `explain` take.

    Args:
        classify: string [batch] -> outputs.
    """
    inputs = [field for field in fields if field.is_column]
    types = [tf.float32 if each.kind == NUMBER else tf.string for each in inputs]
    specs = [tf.TensorSpec([None], dtype, name=each.input) for each, dtype in zip(inputs, types, strict=True)]

    @tf.function(input_signature=specs, autograph=False)
    def classify_columns(*columns):
        texts = composed(fields, columns)
        return {**classify(texts), "composed": texts}

    return classify_columns


def inputs_signature(fields: Sequence[Field]):
    """Returns a function that names the columns in the order of the training, for clients without the model card.

    It takes text, string [batch], which counts for nothing, and returns "names", the columns, and "inputs", those of
    the export, string [batch, columns], and "is_number", bool [batch, columns].
    """
    inputs = [field for field in fields if field.is_column]
    values = {
        "names": [each.name for each in inputs],
        "inputs": [each.input for each in inputs],
        "is_number": [each.kind == NUMBER for each in inputs],
    }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def name_columns(text):
        return {name: tf.tile(tf.constant([row]), [tf.size(text), 1]) for name, row in values.items()}

    return name_columns


def field_of(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Returns the number of the field that each token is in: string [batch, (tokens)] -> int32 [batch, (tokens)].

    A mark is in the field that it begins.
    """
    is_mark = tf.cast(is_field_mark(tokens.flat_values), tf.int32)
    marks = tf.cumsum(is_mark)
    before = tf.gather(marks - is_mark, tokens.row_starts())  # in earlier texts
    return tokens.with_flat_values(marks - tf.gather(before, tokens.value_rowids()))


def is_field_mark(tokens: tf.Tensor) -> tf.Tensor:
    """Returns which tokens divide fields: string [n] -> bool [n]. A tokenizer of subwords may add a sign."""
    return tf.strings.regex_full_match(tokens, f".*{FIELD_MARK}.*")


def ranges_of(fields: Sequence[Field], texts: tf.Tensor) -> tf.Tensor:
    """Returns what the number of each field of composed texts is, such as "price >= 2"; "" of a field of words.

    Args:
        fields: those that are read.
        texts: string [batch].

    Returns:
        string [batch, fields].
    """
    parts = tf.strings.split(texts, BETWEEN).to_tensor("", shape=[None, len(fields)])
    shown = []
    for i, field in enumerate(fields):
        if not field.limits:
            shown.append(tf.fill(tf.shape(texts), ""))
            continue
        is_part = tf.equal(parts[:, i, None], tf.constant([*field.words(), MISSING]))
        shown.append(tf.gather(tf.constant(field.ranges()), tf.argmax(is_part, axis=1)))
    return tf.stack(shown, axis=1)


def composed(fields: Sequence[Field], columns: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns what `fields.composed` does: string or float32 [batch] of each column -> string [batch].

    Args:
        columns: of the fields that are columns.
    """
    given = iter(columns)
    pair = _compared(*columns[:2]) if any(not field.is_column for field in fields) else {}
    parts = []
    for field in fields:
        value = next(given) if field.is_column else pair[field.kind]
        if field.limits:
            parts.append(_words(field, value))
        elif field.is_read:
            parts.append(_text(value))
    return tf.strings.join(parts, BETWEEN)


def example_columns(fields: Sequence[Field], texts: Sequence[str]) -> dict[str, list]:
    """Returns a request for each text: input -> values; every third number is missing."""
    found: dict[str, list] = {}
    for i, field in enumerate(each for each in fields if each.is_column):
        numbers = [np.nan, *field.limits]
        rotated = [texts[(j + i) % len(texts)] for j in range(len(texts))]
        found[field.input] = (
            [float(numbers[j % len(numbers)]) for j in range(len(texts))] if field.kind == NUMBER else rotated
        )
    return found


def _text(cells: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(cells, FIELD_MARK, " ")


def _words(field: Field, numbers: tf.Tensor) -> tf.Tensor:
    words = tf.constant(field.words())  # [limits + 1]
    limits = tf.constant(field.limits, tf.float32)
    index = tf.searchsorted(limits, tf.where(tf.math.is_nan(numbers), 0.0, numbers), side="right")
    return tf.where(tf.math.is_nan(numbers), MISSING, tf.gather(words, index))


def _compared(first: tf.Tensor, second: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns what `pair_fields.compared` does, [batch] of each."""
    a, b = (_sets(_text(each)) for each in (first, second))
    common, different = tf.sets.intersection(a, b), tf.sets.union(tf.sets.difference(a, b), tf.sets.difference(b, a))
    num_common, num_different = (tf.sets.size(each) for each in (common, different))
    shared = tf.cast(num_common, tf.float32) / tf.cast(tf.maximum(1, num_common + num_different), tf.float32)
    sets = {
        pair_fields.COMMON: common,
        pair_fields.ONLY_FIRST: tf.sets.difference(a, b),
        pair_fields.ONLY_SECOND: tf.sets.difference(b, a),
        pair_fields.DIFFERENT: different,
    }
    joined = {
        name: tf.strings.strip(tf.strings.reduce_join(tf.sparse.to_dense(each, ""), axis=-1, separator=" "))
        for name, each in sets.items()
    }
    return joined | {pair_fields.SHARED: shared}


def _sets(texts: tf.Tensor) -> tf.SparseTensor:
    """Returns the words of each text, string [batch, words]."""
    spaced = tf.strings.regex_replace(tf.strings.lower(texts), pair_fields.NO_WORDS, " ")
    return tf.strings.split(spaced).to_sparse()
