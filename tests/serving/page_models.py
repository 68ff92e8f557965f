"""Models for the tests of the live page: they have the signatures of our exports, and compute little."""

import json
from pathlib import Path

import tensorflow as tf

from serving.cards import CARD

_TEXT = [tf.TensorSpec([None], tf.string, name="text")]
_LETTERS = " abcdefghijklmnopqrstuvwxyz"
_NUM_SPECIAL = 4  # padding, unknown, start, end
VOCABULARY_SIZE = _NUM_SPECIAL + len(_LETTERS)
UNITS, HEADS = 4, 2
LABELS = ("negative", "<img src=x onerror=alert(1)>")  # a name of a class may be hostile
TOPICS = tuple(f"topic {i}" for i in range(12))
EXAMPLE = "</script><b>A text</b> of the validation \u202edata"  # a text may be, too
ENTITY_LABELS = ("LONG", "<img src=x onerror=alert(1)>")


def _function(function, specs=_TEXT):
    return tf.function(function, autograph=False).get_concrete_function(*specs)


def _words(text):
    return tf.strings.split(text)  # [batch, (time)]


def text(value: str) -> tf.Tensor:
    """A batch of one text."""
    return tf.constant([value])


def _lengths(ragged):
    return tf.cast(ragged.row_lengths(), tf.int32)


def _units(words):
    """Numbers from 0 to 1 for each word: [batch, time, units]."""
    length = tf.cast(tf.strings.length(words.to_tensor()), tf.float32)
    return tf.sigmoid(length[..., None] - tf.range(UNITS, dtype=tf.float32))


def _attention(queries, keys):
    """Weights from the lengths of the words: [batch, heads, queries, keys]."""
    scores = tf.cast(tf.strings.length(queries)[:, :, None] * tf.strings.length(keys)[:, None, :], tf.float32)
    return tf.nn.softmax(tf.stack([scores / (3.0 + 20 * head) for head in range(HEADS)], axis=1))


def _classify(text):
    score = tf.sigmoid(tf.cast(tf.strings.length(text), tf.float32) - 10.0)
    probabilities = tf.stack([score, 1 - score], axis=1)
    index = tf.argmax(probabilities, axis=1)
    return {
        "label": tf.gather(tf.constant(LABELS), index),
        "score": tf.reduce_max(probabilities, axis=1),
        "probabilities": probabilities,
    }


def _classify_several(text):
    """Several labels per text, or as here none."""
    probabilities = _classify(text)["probabilities"]
    return {"labels": tf.fill(tf.shape(probabilities), ""), "probabilities": probabilities}


def _classify_many(text):
    """Topic 3 is the most probable one, then 4, 5, ..., 11, 0, 1, 2."""
    shares = tf.nn.softmax(-0.5 * ((tf.range(len(TOPICS), dtype=tf.float32) - 3) % len(TOPICS)))
    probabilities = tf.tile(shares[None], [tf.shape(text)[0], 1])
    scores, index = tf.math.top_k(probabilities, 5)
    names = tf.gather(tf.constant(TOPICS), index)
    answer = {"label": names[:, 0], "score": scores[:, 0], "probabilities": probabilities}
    return {**answer, "top_labels": names, "top_scores": scores}


def _explain(text):
    words = _words(text)
    weights = tf.cast(tf.strings.length(words.to_tensor()), tf.float32) - 4.0
    return {**_classify(text), "pieces": words.to_tensor(), "weights": weights}


def _composed(title, price):
    shown = tf.where(tf.math.is_nan(price), "missing", tf.strings.as_string(price, precision=0))
    return tf.strings.join([title, shown], " ␞ ")


def _classify_columns(price, a_title):
    composed = _composed(a_title, price)
    return {**_classify(composed), "composed": composed}


def _number_of_columns(price, a_title):
    return {"value": tf.where(tf.math.is_nan(price), 0.0, price) + tf.cast(tf.strings.length(a_title), tf.float32)}


def _explain_columns(text):
    parts = tf.strings.split(text, " ␞ ").to_tensor()  # [batch, 2]
    pieces = tf.stack([parts[:, 0], tf.strings.join(["price >= ", parts[:, 1]])], axis=1)
    weights = tf.ones_like(pieces, tf.float32) * [[1.0, -2.0]]
    return {**_classify(text), "pieces": pieces, "weights": weights, "fields": tf.constant([["a title", "price"]])}


def _columns(text):
    names = {"names": ["a title", "price"], "inputs": ["a_title", "price"], "is_number": [False, True]}
    return {name: tf.tile(tf.constant([row]), [tf.size(text), 1]) for name, row in names.items()}


_COLUMNS = [tf.TensorSpec([None], tf.float32, name="price"), tf.TensorSpec([None], tf.string, name="a_title")]


def _trace_recurrent(text):
    words = _words(text)
    units = _units(words)
    values = {f"layer_1_{name}_{gate}_gate": units for name in ("forward", "backward") for gate in ("update", "reset")}
    return {
        **values,
        "layer_1_forward_hidden": 2 * units - 1,
        "layer_1_backward_hidden": 1 - 2 * units,
        "tokens": words.to_tensor(),
        "lengths": _lengths(words),
        "cut": words.row_lengths() > 1000,
    }


def _tag(text):
    words = _words(text)
    tokens = words.to_tensor()
    return {
        "tokens": tokens,
        "tags": tf.where(tf.strings.length(tokens) > 3, "B-LONG", "O"),
        "scores": tf.fill(tf.shape(tokens), 0.75),
        "num_tokens": _lengths(words),
    }


def _find_entities(text):
    """The words of more than three letters, of texts with one space between words."""
    words = _words(text)
    units = tf.strings.length(tf.strings.unicode_transcode(words.flat_values, "UTF-8", "UTF-16-BE")) // 2
    sizes = {"": tf.strings.length(words.flat_values, unit="UTF8_CHAR"), "_utf16": units}
    kept = tf.ragged.map_flat_values(lambda flat: tf.strings.length(flat) > 3, words)
    number = tf.ragged.range(words.row_lengths())
    found = {
        "entities": words,
        "labels": words.with_flat_values(tf.gather(tf.constant(ENTITY_LABELS), number.flat_values % 2)),
        "scores": words.with_flat_values(tf.fill(tf.shape(units), 0.75)),
    }
    for name, size in sizes.items():
        end = tf.RaggedTensor.from_tensor(
            tf.cumsum(words.with_flat_values(size + 1).to_tensor(), axis=1), words.row_lengths()
        )
        found |= {f"end{name}": end - 1, f"start{name}": end - words.with_flat_values(size + 1)}
    found = {name: tf.ragged.boolean_mask(values, kept) for name, values in found.items()}
    num_entities = _lengths(found["entities"])
    return {name: values.to_tensor() for name, values in found.items()} | {"num_entities": num_entities}


def _translate(text):
    return {"translation": tf.strings.upper(text, "utf-8"), "score": tf.fill(tf.shape(text), -1.5)}


def _align(text):
    source = _words(text).to_tensor()
    target = tf.strings.upper(source, "utf-8")
    weights = _attention(target, source)
    return {**_translate(text), "source_tokens": source, "target_tokens": target, "weights": weights}


def _trace_translation(text):
    words = _words(text)
    source = words.to_tensor()
    target = tf.strings.upper(source, "utf-8")
    return {
        **_translate(text),
        "source_tokens": source,
        "source_lengths": _lengths(words),
        "target_tokens": target,
        "target_lengths": _lengths(words),
        "log_probabilities": tf.fill(tf.shape(source), -0.5),
        "next_tokens": tf.stack([target, source], axis=2),
        "next_probabilities": tf.tile([[[0.6, 0.4]]], [*tf.unstack(tf.shape(source)), 1]),
        "encoder_1_attention": _attention(source, source),
        "decoder_1_attention": _attention(target, source),
        "decoder_1_self_attention": _attention(target, target),
        "cut": words.row_lengths() > 1000,
    }


def _encode_one(text):
    letters = tf.strings.unicode_decode(text, "UTF-8")
    table = tf.constant([ord(letter) for letter in _LETTERS])
    known = tf.equal(letters.to_tensor()[..., None], table)
    return {"ids": tf.argmax(known, axis=-1, output_type=tf.int32) + _NUM_SPECIAL, "lengths": _lengths(letters)}


def _decode(ids):
    letters = tf.constant([*[""] * _NUM_SPECIAL, *_LETTERS])
    return {"text": tf.strings.reduce_join(tf.gather(letters, ids), axis=1)}


def _logits(state):
    """The next letter of the alphabet, in its order."""
    ids = tf.cast(state[:, 0], tf.int32)
    special = 40 * tf.one_hot(tf.range(_NUM_SPECIAL), VOCABULARY_SIZE)  # probable, but never to be drawn
    return 20 * tf.one_hot(_NUM_SPECIAL + ids % len(_LETTERS), VOCABULARY_SIZE) + tf.reduce_sum(special, axis=0)


def _score(text):
    """As of a model that has not seen where texts end: an empty text has no token."""
    zeros = tf.zeros([tf.shape(text)[0]])
    return {"log_probability": zeros, "perplexity": zeros + 1, "tokens": tf.strings.length(text)}


def _start(text):
    state = tf.ones([tf.shape(text)[0], 1])
    return {"logits": _logits(state), "layer_0_state_0": state}


def _step(ids, layer_0_state_0):
    state = layer_0_state_0 + tf.cast(tf.where(ids >= 0, 1, 0), tf.float32)[:, None]
    return {"logits": _logits(state), "layer_0_state_0": state}


def _trace_language_model(text):
    words = _words(text)
    tokens = words.to_tensor()
    return {
        "tokens": tokens,
        "lengths": _lengths(words),
        "cut": words.row_lengths() > 1000,
        "log_probabilities": tf.fill(tf.shape(tokens), -1.0),
        "next_tokens": tf.stack([tokens, tf.strings.upper(tokens, "utf-8")], axis=2),
        "next_probabilities": tf.tile([[[0.7, 0.3]]], [*tf.unstack(tf.shape(tokens)), 1]),
        "layer_1_forget_gate": _units(words),
        "layer_1_cell": 10 * _units(words),
        "layer_2_attention": _attention(tokens, tokens),
    }


def _intervene(text, layer, kind, unit, step, key, value):
    """As the trace, with the states of the transformer; an intervention is the probability of the first token."""
    traced = _trace_language_model(text)
    first = tf.where(layer[:, :1, None] == "", traced["next_probabilities"][..., :1], value[:, :1, None])
    hidden = _units(_words(text))
    return {**traced, "layer_2_hidden": hidden, "next_probabilities": tf.concat([first, 1 - first], axis=2)}


_EDITS = [
    tf.TensorSpec([None, None], dtype, name=name)
    for name, dtype in (
        *(("layer", tf.string), ("kind", tf.string), ("unit", tf.int32)),
        *(("step", tf.int32), ("key", tf.int32), ("value", tf.float32)),
    )
]


def _ids(*shape):
    return tf.TensorSpec(shape, tf.int32, name="ids")


def signatures() -> dict[str, dict]:
    """Model name -> signature name -> concrete function."""
    state = tf.TensorSpec([None, 1], tf.float32, name="layer_0_state_0")
    return {
        "classifier": {
            "serving_default": _function(_classify),
            "explain": _function(_explain),
            "trace": _function(_trace_recurrent),
        },
        "columns": {
            "serving_default": _function(_classify_columns, _COLUMNS),
            "explain": _function(_explain_columns),
            "columns": _function(_columns),
            "trace": _function(_trace_recurrent),
        },
        "prices": {"serving_default": _function(_number_of_columns, _COLUMNS), "columns": _function(_columns)},
        "several": {"serving_default": _function(_classify_several)},
        "many": {"serving_default": _function(_classify_many)},
        "tagger": {"serving_default": _function(_tag)},
        "names": {"serving_default": _function(_tag), "entities": _function(_find_entities)},
        "translator": {
            "serving_default": _function(_translate),
            "align": _function(_align),
            "trace": _function(_trace_translation),
        },
        "language-model": {
            "start": _function(_start),
            "step": _function(_step, [_ids(None), state]),
            "decode": _function(_decode, [_ids(None, None)]),
            "encode": _function(_encode_one),
            "score": _function(_score),
            "trace": _function(_trace_language_model),
            "intervene": _function(_intervene, [*_TEXT, *_EDITS]),
        },
    }


def save_all(root: Path) -> None:
    """Writes root/<name>/1 for each model. "several" and "prices" have a card, with names of classes and examples."""
    for name, functions in signatures().items():
        tf.saved_model.save(tf.Module(), str(root / name / "1"), signatures=functions)
    (root / "several" / "1" / CARD).write_text(json.dumps({"classes": LABELS, "example_text": EXAMPLE}))
    (root / "prices" / "1" / CARD).write_text(json.dumps({"example_row": {"a title": EXAMPLE, "price": 12.5}}))
