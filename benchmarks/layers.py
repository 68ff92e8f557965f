"""What each layer costs beside Keras's nearest: ratios of a training step, side by side in one run.

    python benchmarks/layers.py [--hidden 512] [--pairs 11] [--only CRF]

Each line times a forward and backward pass of our layer and of Keras's in turn, A B A B ..., and prints the median of
the ratios pair by pair. The last line compares the CRF's loss with the bidirectional LSTM that usually gives it its
logits. Wants an otherwise idle machine.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.support.quiet import import_tensorflow

import_tensorflow()

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

import layers  # noqa: E402

CRF_LINE = "CRF, 17 tags, 30 tokens, batch 32 / bidirectional LSTM, 2 x 256"


def training_step(model: keras.Model, inputs: list[tf.Tensor]):
    """One forward and backward pass as a graph."""

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.cast(model(inputs, training=True), tf.float32) ** 2)
        return loss, [tf.convert_to_tensor(g) for g in tape.gradient(loss, model.trainable_variables)]

    return lambda: step()[0].numpy()


def seconds(step) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def compare(name: str, ours, keras_own, inputs: list[tf.Tensor], policy: str, pairs: int) -> None:
    """Prints the ratio of the two functions of symbolic inputs, each made into a model under `policy`."""
    keras.config.set_dtype_policy(policy)
    steps = []
    for function in (ours, keras_own):
        symbolic = [keras.Input(tensor.shape[1:], dtype=tensor.dtype.name) for tensor in inputs]
        steps.append(training_step(keras.Model(symbolic, function(*symbolic)), inputs))
    compare_steps(name, steps, policy, pairs)


def compare_steps(name: str, steps: list, policy: str, pairs: int) -> None:
    for step in steps:
        step()
        step()
    times = [(seconds(steps[0]), seconds(steps[1])) for _ in range(pairs)]
    ratios = [a / b for a, b in times]
    ours_ms, keras_ms = (1000 * statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"| {name} | {policy} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} | "
        f"{ours_ms:.3g} ms | {keras_ms:.3g} ms |",
        flush=True,
    )


def keras_encoder_block(x, mask, hidden):
    """The Transformer's encoder block from Keras's own layers, post-norm."""
    attended = keras.layers.MultiHeadAttention(8, hidden // 8)(x, x, attention_mask=mask[:, None, :])
    x = keras.layers.LayerNormalization(epsilon=1e-5)(x + attended)
    return keras_feed_forward(x, hidden)


def keras_decoder_block(x, memory, mask, hidden):
    attended = keras.layers.MultiHeadAttention(8, hidden // 8)(x, x, use_causal_mask=True)
    x = keras.layers.LayerNormalization(epsilon=1e-5)(x + attended)
    attended = keras.layers.MultiHeadAttention(8, hidden // 8)(x, memory, attention_mask=mask[:, None, :])
    x = keras.layers.LayerNormalization(epsilon=1e-5)(x + attended)
    return keras_feed_forward(x, hidden)


def keras_feed_forward(x, hidden):
    inner = keras.layers.Dense(4 * hidden, activation="relu")(x)
    return keras.layers.LayerNormalization(epsilon=1e-5)(x + keras.layers.Dense(hidden)(inner))


def attention_decoder(x, memory, mask, hidden, style):
    attention = layers.BahdanauAttention(hidden) if style == "bahdanau" else layers.LuongAttention("general")
    cell = layers.AttentionDecoderCell(keras.layers.GRUCell(hidden), attention, hidden, style=style)
    return layers.AttentionDecoder(cell)(x, memory, mask)


def crf_step(batch: int, time: int, tags: int):
    """The CRF's negative log-likelihood with its gradients by the logits and its weights, for any batch and time."""
    crf = layers.CRF()
    crf.build((None, None, tags))

    @tf.function(input_signature=[tf.TensorSpec([None, None, tags]), tf.TensorSpec([None, None], tf.int32)])
    def step(logits, expected):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = tf.reduce_mean(crf.loss(expected, crf(logits)))
        return loss, [tf.convert_to_tensor(g) for g in tape.gradient(loss, [logits, *crf.trainable_variables])]

    logits = tf.random.normal([batch, time, tags])
    expected = tf.random.uniform([batch, time], 0, tags, tf.int32)
    return lambda: step(logits, expected)[0].numpy()


def compare_crf(pairs: int) -> None:
    batch, time, tags, units = 32, 30, 17, 256
    keras.config.set_dtype_policy("float32")
    x, mask = tf.random.normal([batch, time, units]), tf.ones([batch, time], tf.bool)
    symbolic = keras.Input((None, units)), keras.Input((None,), dtype="bool")
    lstm = keras.layers.Bidirectional(keras.layers.LSTM(units, return_sequences=True))
    model = keras.Model(symbolic, lstm(symbolic[0], mask=symbolic[1]))
    compare_steps(CRF_LINE, [crf_step(batch, time, tags), training_step(model, [x, mask])], "float32", pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--only", default="", help="print only the lines whose name contains this text")
    arguments = parser.parse_args()
    hidden, pairs = arguments.hidden, arguments.pairs
    x = tf.random.normal([64, 64, hidden])
    small, memory = tf.random.normal([32, 64, hidden]), tf.random.normal([32, 48, hidden])
    mask, memory_mask = tf.ones([32, 64], tf.bool), tf.ones([32, 48], tf.bool)
    rnn = keras.layers.RNN

    print("| ours against Keras's | policy | ratio | range | ours | Keras |\n|---|---|---:|---|---:|---:|")
    for policy in ("float32", "mixed_bfloat16"):
        rows = [
            (
                "HoistedLSTM / LSTM",
                lambda s: layers.HoistedLSTM(hidden)(s),
                lambda s: keras.layers.LSTM(hidden)(s),
                [x],
            ),
            ("HoistedGRU / GRU", lambda s: layers.HoistedGRU(hidden)(s), lambda s: keras.layers.GRU(hidden)(s), [x]),
            (
                "PeepholeLSTMCell / LSTMCell",
                lambda s: rnn(layers.PeepholeLSTMCell(hidden))(s),
                lambda s: rnn(keras.layers.LSTMCell(hidden))(s),
                [x],
            ),
            (
                "JordanCell (three products) / SimpleRNNCell (two)",
                lambda s: rnn(layers.JordanCell(hidden))(s),
                lambda s: rnn(keras.layers.SimpleRNNCell(hidden))(s),
                [x],
            ),
            (
                "TransformerEncoderBlock / the same of Keras's layers",
                lambda s, m: layers.TransformerEncoderBlock(8, 4 * hidden)(s, mask=m),
                lambda s, m: keras_encoder_block(s, m, hidden),
                [small, mask],
            ),
            (
                "TransformerDecoderBlock / the same of Keras's layers",
                lambda s, z, m: layers.TransformerDecoderBlock(8, 4 * hidden)(s, z, encoder_mask=m),
                lambda s, z, m: keras_decoder_block(s, z, m, hidden),
                [small, memory, memory_mask],
            ),
        ]
        for style in ("bahdanau", "luong"):
            rows.append(
                (
                    f"AttentionDecoderCell ({style}) over 48 positions / GRUCell without attention",
                    lambda s, z, m, style=style: attention_decoder(s, z, m, hidden, style),
                    lambda s, z, m: rnn(keras.layers.GRUCell(hidden), return_sequences=True)(s),
                    [small, memory, memory_mask],
                )
            )
        for name, ours, keras_own, inputs in rows:
            if arguments.only in name:
                compare(name, ours, keras_own, inputs, policy, pairs)
    if arguments.only in CRF_LINE:
        compare_crf(pairs)


if __name__ == "__main__":
    main()
