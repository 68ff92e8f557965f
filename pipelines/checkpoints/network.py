"""A checkpoint of Hugging Face as a network of our layers, with the same vectors.

The network has no dropout: it is one for inference, and an export of it has no random operation. A checkpoint that is
trained further is regularized by its weight decay and by few epochs.
"""

import json
from pathlib import Path
from typing import NamedTuple

import keras
from keras import layers, ops

from layers import LearnedPositionalEmbedding, TransformerEncoderBlock
from pipelines.checkpoints.families import Sizes, sizes_of
from pipelines.checkpoints.files import read_config, read_object, weights_of
from pipelines.checkpoints.pooling import pooled, read_pooling, transformer_folder
from pipelines.checkpoints.static import is_static, static_network
from pipelines.checkpoints.weights import assign, matched, position_table
from pipelines.support.errors import UserError

_SENTENCE_CONFIG = "sentence_bert_config.json"


class Checkpoint(NamedTuple):
    """A checkpoint that was read.

    Args:
        network: ids int32 [batch, time] -> the dict of `load`.
        masked: {"ids": int32 [batch, time], "positions": int32 [batch, n]} -> logits of the tokens at the positions,
            float32 [batch, n, vocabulary]; None if the checkpoint has no such head.
        max_tokens: that a text may have, with the special tokens.
        vocabulary_size: number of ids.
        pad: the id of the padding.
        model_type: of config.json.
    """

    network: keras.Model
    masked: keras.Model | None
    max_tokens: int
    vocabulary_size: int
    pad: int
    model_type: str


@keras.saving.register_keras_serializable(package="unroll")
class AddedBias(layers.Layer):
    """Adds a learned vector.

        y = x + b

    Shapes:
        inputs: float [..., d]
        -> float [..., d]
    """

    def build(self, inputs_shape):
        """Makes b."""
        self.bias = self.add_weight(name="bias", shape=(inputs_shape[-1],), initializer="zeros")

    def call(self, inputs):
        """Returns the sum."""
        return inputs + self.bias

    def compute_output_shape(self, inputs_shape):
        """Returns the shape of the inputs."""
        return inputs_shape


def load(folder: Path) -> Checkpoint:
    """Returns the network of a checkpoint's folder, in inference: it has no dropout.

    network: ids int32 [batch, time], with padding on the right -> a dict of
        encoder_outputs: of all blocks, the lowest first, a list of float32 [batch, time, d].
        sequence_output: of the highest block, float32 [batch, time, d].
        mask: bool [batch, time], False for the padding.
        pooled_output: of the text, float32 [batch, size]: as modules.json and 1_Pooling say, else the mean over the
            tokens.
    Its layer "layers" is the model ids -> encoder_outputs. All tokens have the type 0, as in texts without a pair.

    Source: Devlin et al. 2019, "BERT", and the sources of `families`; the head: section 3.1, task 1.

    Raises:
        UserError: the folder is no checkpoint, the checkpoint is damaged, or it is of a kind that is not supported.
    """
    folder = Path(folder)
    inner = transformer_folder(folder)
    config = read_config(inner)
    if is_static(config):
        network, length, vocabulary, pad = static_network(inner, config)
        return Checkpoint(network, None, length, vocabulary, pad, config["model_type"])
    sizes = sizes_of(inner, config)
    weights, head = matched(inner, weights_of(inner), sizes)
    pooling = read_pooling(folder, sizes.hidden)
    reading = _reading(sizes)
    assign(reading, {name: layer for name, layer in weights.items() if name != "position_embeddings"})
    reading.get_layer("position_embeddings").embeddings.assign(position_table(weights, sizes))
    ids = keras.Input((None,), dtype="int32", name="ids")
    outputs = reading(ids)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    mask = ops.not_equal(ids, sizes.pad)
    network = keras.Model(
        ids,
        {
            "encoder_outputs": outputs,
            "sequence_output": outputs[-1],
            "mask": mask,
            "pooled_output": pooled(pooling, outputs[-1], mask),
        },
        name="encoder",
    )
    masked = None
    if head is not None:
        masked = _masked(reading, sizes)
        assign(masked, head)
    return Checkpoint(network, masked, _max_tokens(inner, sizes), sizes.vocabulary, sizes.pad, sizes.model_type)


def _reading(sizes: Sizes) -> keras.Model:
    """Returns the model ids int32 [batch, time] -> the outputs of all blocks, each float [batch, time, d]."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    mask = ops.not_equal(ids, sizes.pad)  # [batch, time]
    # zeros: random numbers for hundreds of megabytes take seconds, and are not used.
    x = layers.ReversibleEmbedding(
        sizes.vocabulary, sizes.embedding, embeddings_initializer="zeros", name="token_embeddings"
    )(ids)
    positions = sizes.positions - sizes.offset
    x = LearnedPositionalEmbedding(positions, initializer="zeros", name="position_embeddings")(x)
    x = layers.LayerNormalization(epsilon=sizes.epsilon, name="embeddings_norm")(x)
    if sizes.embedding != sizes.hidden:
        x = layers.Dense(sizes.hidden, kernel_initializer="zeros", name="embeddings_projection")(x)
    outputs = []
    for i in range(sizes.layers):
        block = TransformerEncoderBlock(
            sizes.heads,
            sizes.intermediate,
            activation=sizes.activation,
            norm="post",
            norm_epsilon=sizes.epsilon,
            kernel_initializer="zeros",
            name=f"block_{i + 1}",
        )
        x = block(x, mask=mask)
        outputs.append(x)
    return keras.Model(ids, outputs, name="layers")


def _masked(reading: keras.Model, sizes: Sizes) -> keras.Model:
    """Returns the model with the head that predicts masked tokens.

    logits = E norm(f(x W + b)) + c    with the embeddings E, or a matrix of its own
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    positions = keras.Input((None,), dtype="int32", name="positions")
    outputs = reading(ids)
    x = outputs[-1] if isinstance(outputs, list | tuple) else outputs
    x = ops.take_along_axis(x, ops.expand_dims(positions, -1), axis=1)  # [batch, n, d]
    x = layers.Dense(sizes.embedding, kernel_initializer="zeros", name="head_transform")(x)
    x = layers.Activation(sizes.head_activation, name="head_activation")(x)
    x = layers.LayerNormalization(epsilon=sizes.epsilon, name="head_norm")(x)
    if sizes.is_tied:
        logits = reading.get_layer("token_embeddings")(x, reverse=True)  # [batch, n, vocabulary]
        logits = AddedBias(name="head_bias")(logits)
    else:
        logits = layers.Dense(sizes.vocabulary, kernel_initializer="zeros", name="head_decoder")(x)
    return keras.Model({"ids": ids, "positions": positions}, logits, name=f"masked_{sizes.model_type}")


def _max_tokens(folder: Path, sizes: Sizes) -> int:
    """Returns the maximum number of tokens: that of sentence-transformers, at most as many as there are positions."""
    positions, path = sizes.positions - sizes.offset, folder / _SENTENCE_CONFIG
    if not path.is_file():
        return positions
    length = read_object(path).get("max_seq_length")
    if length is None:
        return positions
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        raise UserError(f"{path}: max_seq_length is {json.dumps(length)}, it must be a whole number of 1 or more")
    return min(length, positions)
