"""SavedModels that are made in a moment, for the server to serve."""

import os
from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2


def _inputs(**specs):
    return [tf.TensorSpec(shape, dtype, name=name) for name, (shape, dtype) in specs.items()]


class Shouter(tf.Module):
    """Shouts a text; says which version it is. A text "wait" takes `seconds`, or a tenth of that on a fast machine."""

    def __init__(self, version: int, seconds: float = 0.0):
        super().__init__()
        self._version, self._seconds = version, seconds
        self.calls = tf.Variable(0)

    @tf.function(input_signature=_inputs(text=([None], tf.string)))
    def shout(self, text):
        if self._seconds:  # real work, so that it also takes its time in a graph that has no Python
            rounds = tf.where(tf.reduce_any(tf.equal(text, "wait")), int(self._seconds * 150), 0)
            square = tf.while_loop(lambda i, _: i < rounds, lambda i, x: (i + 1, tf.tanh(x @ x)), (0, tf.eye(300)))[1]
            text = tf.where(square[0, 0] > 2.0, "", text)
        length = tf.strings.length(text, "UTF8_CHAR")
        share = tf.cast(length, tf.float32) / tf.cast(tf.maximum(length, 1) + 1, tf.float32)
        return {
            "label": tf.strings.upper(text, "utf-8"), "length": length, "version": tf.fill(tf.shape(text), self._version),
            "probabilities": tf.stack([share, 1 - share], axis=1), "rows": tf.fill(tf.shape(text), tf.shape(text)[0]),
        }  # fmt: skip

    @tf.function(input_signature=_inputs(text=([None], tf.string), temperature=([None], tf.float32), times=([None], tf.int32)))
    def repeat(self, text, temperature, times):
        with tf.control_dependencies([tf.debugging.assert_non_negative(temperature, "temperature must be 0 or more")]):
            text = tf.identity(text)
        return {"text": tf.map_fn(lambda x: tf.strings.reduce_join(tf.repeat(x[0], x[1])), (text, times), fn_output_signature=tf.string)}

    @tf.function(input_signature=_inputs(text=([None], tf.string)))
    def words(self, text):
        return {"words": tf.strings.split(text).to_tensor(), "raw_bytes": text}

    @tf.function(input_signature=_inputs(ids=([None, 3], tf.int64), flag=([None], tf.bool), scale=([None], tf.float64)))
    def add(self, ids, flag, scale):
        return {"sum": tf.where(flag, tf.cast(tf.reduce_sum(ids, axis=1), tf.float64) * scale, -1.0)}


def save(root: Path, name: str, version: int, seconds: float = 0.0, warm_up: str = "hello") -> Path:
    """root/name/version, which appears whole."""
    model = Shouter(version, seconds)
    signatures = {"serving_default": model.shout, "repeat": model.repeat, "words": model.words, "add": model.add}
    part = root / name / f".tmp-{version}"
    part.parent.mkdir(parents=True, exist_ok=True)
    tf.saved_model.save(model, str(part), signatures={key: f.get_concrete_function() for key, f in signatures.items()})
    (part / "assets.extra").mkdir()
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, "serving_default"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([warm_up]))
    log = prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
    with tf.io.TFRecordWriter(str(part / "assets.extra" / "tf_serving_warmup_requests")) as writer:
        writer.write(log.SerializeToString())
    os.rename(part, root / name / str(version))
    return root / name / str(version)
