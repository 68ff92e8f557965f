"""Sampling in pieces, as two signatures: a client gets each token as soon as it is chosen.

sample_start    texts and options -> the rows: a dict of tensors, batch first on every leaf
sample_step     the rows -> the next tokens of each, and the rows after them

The rows of several calls of `sample_start` may be concatenated and continued together, and rows may be left out between
two steps: the tokens of a row are those of `sampling.sample`, whatever the other rows. Where the sizes of further axes
differ, the rows are padded with zeros at the end of these axes.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import tensorflow as tf

from pipelines.decoding import sampling
from pipelines.decoding.loop import STAGE_STEPS
from pipelines.decoding.options import Option, clipped, example_values, in_range, signature_specs

NUM_TOP = 5  # most likely tokens that a step returns
_ONCE = ("lead", "num_read")  # outputs of sample_start alone
_TEXT = tf.TensorSpec([None], tf.string, name="text")


class Begun(NamedTuple):
    """Texts that have been read.

    Attributes:
        logits: float32 [batch, vocabulary], of the first token.
        state: of the model, with room for STAGE_STEPS tokens.
        stop_ids: see `sampling.Rules`.
        seen: bool [batch, vocabulary], tokens of the prompts.
        lead: string [batch], what stands before the decoded tokens unless these are empty.
        num_read: int32 [batch], number of tokens of the texts.
    """

    logits: tf.Tensor
    state: dict
    stop_ids: tf.Tensor
    seen: tf.Tensor
    lead: tf.Tensor
    num_read: tf.Tensor


def make_signatures(
    begin: Callable[[tf.Tensor, dict], tuple[Begun, dict]],
    make_step: Callable[[], Callable],
    align: Callable[[dict], dict],
    weights: Callable[[], AbstractContextManager],
    options: tuple[Option, ...],
    banned_ids: Sequence[int],
    end_id: int | None,
) -> dict:
    """Returns the concrete functions `sample_start` and `sample_step`.

    sample_start: `text` and the `options`, each [batch] -> `lead` and `num_read`, see `Begun`, and the rows.
    sample_step: the rows, and `num_steps`, int32 [batch]. The number of steps is the largest of these values, but at
        most STAGE_STEPS. Returns
        tokens: int32 [batch, n], PAD after a row's end, where n is the number of steps until the last row ends.
        log_probabilities: float32 [batch, n], of the tokens under the model itself.
        top_ids: int32 and top_log_probabilities: float32 [batch, n, NUM_TOP], of the most likely tokens.
        the rows after these steps. Of these, `alive`, bool [batch], says which have not ended, and `lengths`, int32
        [batch], how many tokens each has, the end token included.

    Args:
        begin: (texts, options) -> (what has been read; the options of `sampling.make_rules`).
        make_step: returns the function of a step, see loop.py; called once for all steps.
        align: makes a state of rows that were started separately one that `step` accepts, with room for STAGE_STEPS
            tokens.
        weights: see `loop.weights_read_once`.

    Raises:
        InvalidArgumentError: from sample_start, if an option is out of its range.
    """
    structure: list[dict] = []  # the state of the model, as `begin` returned it

    def sample_start(text, **values):
        with tf.control_dependencies(in_range(options, values)):
            text, values = tf.identity(text), clipped(options, values)
        begun, values = begin(text, values)
        rules = sampling.make_rules(values, begun.stop_ids, banned_ids, end_id)
        structure.append(tf.nest.map_structure(lambda leaf: leaf.dtype, begun.state))
        rows = _to_rows(rules, sampling.first_state(rules, begun.logits, begun.state, begun.seen))
        return {"lead": begun.lead, "num_read": begun.num_read, **rows}

    def sample_step(num_steps, **rows):
        rules, start = _from_rows(rows, structure[0], banned_ids, end_id)
        size = tf.minimum(tf.reduce_max(tf.concat([num_steps, [0]], axis=0)), STAGE_STEPS)
        vocabulary_size = start.logits.shape[-1]
        num_top = min(NUM_TOP, vocabulary_size)
        dtypes: dict[str, tuple] = {"tokens": (tf.int32, []), "log_probabilities": (tf.float32, [])}
        dtypes |= {"top_ids": (tf.int32, [num_top]), "top_log_probabilities": (tf.float32, [num_top])}
        written = {
            name: tf.TensorArray(dtype, size=size, element_shape=[None, *shape])
            for name, (dtype, shape) in dtypes.items()
        }
        start = start._replace(state=align(start.state), written=written)
        with weights():
            end = sampling.run(make_step(), rules, start, size, num_top=num_top)
        outputs = {name: _stacked(array, end, dtypes[name]) for name, array in end.written.items()}
        return {**outputs, **_to_rows(rules, end)}

    started = tf.function(sample_start, autograph=False).get_concrete_function(text=_TEXT, **signature_specs(options))
    specs = {
        name: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype, name=name)
        for name, spec in started.structured_outputs.items()
        if name not in _ONCE
    }
    num_steps = tf.TensorSpec([None], tf.int32, name="num_steps")
    continued = tf.function(sample_step, autograph=False).get_concrete_function(num_steps=num_steps, **specs)
    return {"sample_start": started, "sample_step": continued}


def example_requests(in_pieces: dict, texts: Sequence[str], options: tuple[Option, ...]) -> dict[str, dict]:
    """Returns a request of three texts for `sample_start`, and one for the first of its rows for `sample_step`.

    Args:
        in_pieces: from `make_signatures`.
    """
    request = {"text": list(texts), **example_values(options)}
    specs = {"text": _TEXT, **signature_specs(options)}
    rows = in_pieces["sample_start"](**{name: tf.constant(request[name], specs[name].dtype) for name in specs})
    first = {name: value[:1].numpy() for name, value in rows.items() if name not in _ONCE}
    return {"sample_start": request, "sample_step": {"num_steps": [2], **first}}


_CHANGED = ("alive", "recent", "seen", "lengths", "logits")  # fields of SampleState that are entries of the rows


def _to_rows(rules: sampling.Rules, s: sampling.SampleState) -> dict[str, tf.Tensor]:
    rows = {
        **rules.options,
        "random_numbers": rules.random_numbers,
        "stop_ids": rules.stop_ids,
        **{name: getattr(s, name) for name in _CHANGED},
        **{f"state_{i}": leaf for i, leaf in enumerate(tf.nest.flatten(s.state))},
    }
    return rows | _reversed(rows)


def _reversed(rows: dict) -> dict[str, tf.Tensor]:
    """The entries that are compared from their ends, the last token first: the padding is then at the end."""
    return {name: tf.reverse(rows[name], [1]) for name in ("recent", "stop_ids")}


def _from_rows(rows: dict, structure: dict, banned_ids, end_id) -> tuple[sampling.Rules, sampling.SampleState]:
    rows = rows | _reversed(rows)
    leaves = [rows[f"state_{i}"] for i in range(len(tf.nest.flatten(structure)))]
    state = tf.nest.pack_sequence_as(structure, leaves)
    changed = {name: rows[name] for name in _CHANGED}
    fixed = {"random_numbers", "stop_ids", *changed, *(f"state_{i}" for i in range(len(leaves)))}
    options = {name: value for name, value in rows.items() if name not in fixed}
    rules = sampling.Rules(options, rows["random_numbers"], rows["stop_ids"], banned_ids, end_id)
    total = tf.zeros(tf.shape(rows["lengths"]))
    return rules, sampling.SampleState(time=0, log_probabilities=total, written={}, state=state, **changed)


def _stacked(array: tf.TensorArray, end: sampling.SampleState, kind: tuple) -> tf.Tensor:
    """The values of the steps that were run, [batch, n, ...]."""
    dtype, shape = kind

    def values():
        steps = array.stack()[: end.time]  # [n, batch, ...]
        return tf.transpose(steps, [1, 0, *range(2, 2 + len(shape))])

    return tf.cond(end.time > 0, values, lambda: tf.zeros([tf.shape(end.alive)[0], 0, *shape], dtype))
