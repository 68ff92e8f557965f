"""A small model that generates token by token: it continues the alphabet."""

import contextlib
import json
import string
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines.decoding import sampling, streaming
from pipelines.decoding.options import SAMPLING, clipped, signature_specs
from pipelines.text.special_tokens import END, SPECIAL_TOKENS

LETTERS = string.ascii_lowercase
DEFAULTS = {"max_length": 5, "temperature": 0.0, "top_p": 1.0}
_FIRST = len(SPECIAL_TOKENS)
_SIZE = _FIRST + len(LETTERS)
_NEXT = [_FIRST] * _FIRST + [*range(_FIRST + 1, _SIZE), END]
# The next letter has most of the probability, and the letter after it the rest.
_LOGITS = np.full((_SIZE, _SIZE), -30.0, "float32")
_LOGITS[range(_SIZE), _NEXT] = 2.0
_LOGITS[range(_SIZE), [_NEXT[each] for each in _NEXT]] = 0.0


class Alphabet(tf.Module):
    """After "c" comes "d"; after "z" the text ends; the empty text is continued by "a".

    Its state has an axis whose size is the length of the prompt: rows of several prompts are padded.
    """

    def signatures(self):
        return {"serving_default": self.generate, "decode": self.decode, **self.in_pieces()}

    def in_pieces(self):
        rules = SAMPLING, (), END
        return streaming.make_signatures(
            self._begin, lambda: _step, lambda state: state, contextlib.nullcontext, *rules
        )

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="ids")], autograph=False)
    def decode(self, ids):
        letters = tf.constant([""] * _FIRST + list(LETTERS))
        return {"text": tf.strings.reduce_join(tf.gather(letters, ids), axis=1)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text"), signature_specs(SAMPLING)])
    def generate(self, text, options):
        begun, values = self._begin(text, clipped(SAMPLING, options))
        samples = sampling.sample(_step, begun.logits, begun.state, values, begun.stop_ids, seen=begun.seen, end_id=END)
        return {"text": self.decode(samples.tokens)["text"]}

    def _begin(self, text, options):
        code = tf.strings.unicode_decode(text, "UTF-8").to_tensor()  # [batch, characters]
        last = tf.strings.substr(tf.strings.join([" ", text]), -1, 1)
        ids = tf.maximum(tf.strings.unicode_decode(last, "UTF-8").to_tensor()[:, 0] - ord("a") + _FIRST, 0)
        state = {"prompt": tf.cast(code, tf.float32)}
        logits, state = _step(ids, state)
        others = {name: value for name, value in options.items() if name != "stop"}
        seen, lead = tf.zeros_like(logits, tf.bool), tf.fill(tf.shape(text), "")
        stop_ids = tf.zeros([tf.size(text), 1], tf.int32)
        return streaming.Begun(logits, state, stop_ids, seen, lead, tf.strings.length(text)), others


def _step(ids, state):
    return tf.gather(tf.constant(_LOGITS), ids), state


def save(root: Path, name: str = "alphabet") -> None:
    """Writes root/name/1 with a card."""
    folder = root / name / "1"
    model = Alphabet()
    tf.saved_model.save(model, str(folder), signatures=model.signatures())
    (folder / "model_card.json").write_text(json.dumps({"generation_defaults": DEFAULTS}))
