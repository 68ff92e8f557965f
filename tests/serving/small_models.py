"""Small SavedModels for the tests."""

import os
from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"


def _inputs(**specs):
    return [tf.TensorSpec(shape, dtype, name=name) for name, (shape, dtype) in specs.items()]


class UpperCase(tf.Module):
    """Converts texts to upper case, and returns its version.

    With `wait_for`, the text "wait" is answered after a file with this path exists.
    """

    def __init__(self, version: int, wait_for: Path | None = None):
        super().__init__()
        self._version, self._wait_for = version, wait_for
        self.num_calls = tf.Variable(0)  # so that the SavedModel has a file of variables

    @tf.function(input_signature=_inputs(text=([None], tf.string)))
    def upper(self, text):
        if self._wait_for:
            text = self._wait(text)
        length = tf.strings.length(text, "UTF8_CHAR")
        share = tf.cast(length, tf.float32) / tf.cast(tf.maximum(length, 1) + 1, tf.float32)
        return {
            "label": tf.strings.upper(text, "utf-8"),
            "length": length,
            "version": tf.fill(tf.shape(text), self._version),
            "probabilities": tf.stack([share, 1 - share], axis=1),
            "rows": tf.fill(tf.shape(text), tf.shape(text)[0]),
        }

    def _wait(self, text):
        def is_missing(i):
            # The pattern depends on the step, so that TensorFlow cannot look for the file once, before the loop.
            pattern = tf.strings.join([str(self._wait_for), tf.strings.substr(tf.strings.as_string(i), 0, 0)])
            return tf.reduce_any(tf.equal(text, "wait")) & tf.equal(tf.size(tf.io.matching_files(pattern)), 0)

        steps = tf.while_loop(is_missing, lambda i: (i + 1,), (tf.constant(0, tf.int64),))[0]
        return tf.where(steps < 0, "", text)  # never true; the outputs must depend on the loop

    @tf.function(
        input_signature=_inputs(text=([None], tf.string), temperature=([None], tf.float32), times=([None], tf.int32))
    )
    def repeat(self, text, temperature, times):
        check = tf.debugging.assert_non_negative(temperature, "temperature must be 0 or more")
        with tf.control_dependencies([check]):
            text = tf.identity(text)

        def repeat_one(row):
            return tf.strings.reduce_join(tf.repeat(row[0], row[1]))

        return {"text": tf.map_fn(repeat_one, (text, times), fn_output_signature=tf.string)}

    @tf.function(input_signature=_inputs(text=([None], tf.string)))
    def words(self, text):
        return {"words": tf.strings.split(text).to_tensor(), "raw_bytes": text}

    @tf.function(input_signature=_inputs(ids=([None, 3], tf.int64), flag=([None], tf.bool), scale=([None], tf.float64)))
    def add(self, ids, flag, scale):
        return {"sum": tf.where(flag, tf.cast(tf.reduce_sum(ids, axis=1), tf.float64) * scale, -1.0)}


class Generator(tf.Module):
    """Repeats each text `max_length` times."""

    @tf.function(input_signature=_inputs(text=([None], tf.string), max_length=([None], tf.int32)))
    def generate(self, text, max_length):
        def repeat(row):
            return tf.strings.reduce_join(tf.repeat(row[0], row[1]))

        return {"text": tf.map_fn(repeat, (text, max_length), fn_output_signature=tf.string)}


class Rowless(tf.Module):
    """Two functions that are wrong without rows: one fails, the other answers with a row that nobody has asked for."""

    @tf.function(input_signature=_inputs(text=([None], tf.string)))
    def first(self, text):
        return {"text": tf.fill(tf.shape(text), tf.gather(text, 0))}

    @tf.function(input_signature=_inputs(text=([None], tf.string)))
    def padded(self, text):
        shape = tf.maximum(tf.shape(text), 1)
        return {"text": tf.ensure_shape(tf.fill(shape, "padding"), [None])}


def save_rowless(root: Path, name: str, version: int) -> None:
    model = Rowless()
    signatures = {"serving_default": model.first, "padded": model.padded}
    tf.saved_model.save(model, str(root / name / str(version)), signatures=signatures)


def save_generator(root: Path, name: str, version: int) -> None:
    model = Generator()
    tf.saved_model.save(model, str(root / name / str(version)), signatures=model.generate)


def save(
    root: Path, name: str, version: int, wait_for: Path | None = None, warm_up_signature="serving_default"
) -> Path:
    """Writes root/name/version, which appears complete. Returns the folder."""
    model = UpperCase(version, wait_for)
    functions = {"serving_default": model.upper, "repeat": model.repeat, "words": model.words, "add": model.add}
    signatures = {key: function.get_concrete_function() for key, function in functions.items()}
    part = root / name / f".tmp-{version}"
    part.parent.mkdir(parents=True, exist_ok=True)
    tf.saved_model.save(model, str(part), signatures=signatures)
    (part / WARM_UP.parent).mkdir()
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, warm_up_signature
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(["hello"]))
    log = prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
    write_warm_up(part, log.SerializeToString())
    os.rename(part, root / name / str(version))
    return root / name / str(version)


def write_warm_up(folder: Path, record: bytes) -> None:
    with tf.io.TFRecordWriter(str(folder / WARM_UP)) as writer:
        writer.write(record)
