"""Static embeddings in the format of model2vec: a text's vector is the mean of the vectors of its tokens.

    y = sum_t w_t e_t / n    over the n tokens of the text that are known; e_t = E[mapping_t]
    y / ||y||                with `normalize`

Source: Tulkens and van Dongen 2024, "Model2Vec: Fast State-of-the-Art Static Embeddings". Texts have no special tokens
there, and tokens that are unknown do not count.
"""

from pathlib import Path

import keras
import numpy as np
from keras import layers, ops

from layers import MaskedMeanPooling
from pipelines.checkpoints.files import CONFIG, WEIGHTS, Tensor, read_object, read_tensor, weights_of
from pipelines.support.errors import UserError

_TOKENIZER = "tokenizer.json"
_PADDINGS = ("[PAD]", "<pad>")
_MAX_TOKENS = 512  # of model2vec, where config.json says nothing
_NAMES = {"embeddings", "weights", "mapping"}


def is_static(config: dict) -> bool:
    """Whether a config.json is that of static embeddings."""
    architectures = config.get("architectures")
    names = [config.get("model_type"), *(architectures if isinstance(architectures, list) else [])]
    return any(name in ("model2vec", "StaticModel") for name in names)


def static_network(folder: Path, config: dict) -> tuple[keras.Model, int, int, int]:
    """Returns the network of static embeddings, its maximum number of tokens, its number of ids, and the padding's id.

    network: ids int32 [batch, time] -> the dict of `network.load`, with one of "encoder_outputs". Special tokens and
    unknown ones have vectors, but do not count in "pooled_output".

    Raises:
        UserError: a file is missing or damaged, its tensors are not those of static embeddings, or no id is left for
            padding.
    """
    table = _table(folder, weights_of(folder))
    length = config.get("max_length", config.get("seq_length"))
    length = _MAX_TOKENS if length is None else length
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        raise UserError(f"{folder / CONFIG}: max_length is {length!r}, it must be a whole number of 1 or more")
    pad, left_out = _special_ids(folder)
    ids = keras.Input((None,), dtype="int32", name="ids")
    embedding = layers.Embedding(*table.shape, embeddings_initializer="zeros", name="token_embeddings")
    reading = keras.Model(ids, [embedding(ids)], name="layers")
    embedding.embeddings.assign(table)
    outputs = reading(ids)
    sequence = outputs[0] if isinstance(outputs, list | tuple) else outputs
    mask = counts = ops.not_equal(ids, pad)  # [batch, time]
    for token in left_out:
        counts = ops.logical_and(counts, ops.not_equal(ids, token))
    pooled = MaskedMeanPooling(name="mean_pooling")(sequence, mask=counts)
    if config.get("normalize"):
        pooled = layers.UnitNormalization(name="pooled_normalize")(pooled)
    result = {"encoder_outputs": [sequence], "sequence_output": sequence, "mask": mask, "pooled_output": pooled}
    return keras.Model(ids, result, name="encoder"), length, len(table), pad


def _table(folder: Path, tensors: dict[str, Tensor]) -> np.ndarray:
    """Returns the vector of each id: float32 [vocabulary, size]."""
    path = folder / WEIGHTS
    if unknown := sorted(set(tensors) - _NAMES):
        raise UserError(f"{path} has {unknown[0]}, which static embeddings do not have: give another checkpoint")
    if "embeddings" not in tensors or len(tensors["embeddings"].shape) != 2:
        raise UserError(f"{path} has no matrix of embeddings: get the checkpoint again")
    table = read_tensor(tensors["embeddings"])
    if "mapping" in tensors:
        mapping = read_tensor(tensors["mapping"], is_integer=True)
        if mapping.ndim != 1 or mapping.min(initial=0) < 0 or mapping.max(initial=0) >= len(table):
            raise UserError(f"{path}: the mapping names rows that the embeddings do not have: get the checkpoint again")
        table = table[mapping]
    if "weights" in tensors:
        weights = read_tensor(tensors["weights"])
        if weights.shape != (len(table),):
            raise UserError(f"{path}: {len(table)} ids have weights of shape {list(weights.shape)}: get it again")
        table = table * weights[:, None]
    return table


def _special_ids(folder: Path) -> tuple[int, list[int]]:
    """Returns the id of the padding, and those of the other special tokens and of the unknown token.

    model2vec does not pad. Without a padding in tokenizer.json, the unknown token, which does not count, can stand for
    it.
    """
    path = folder / _TOKENIZER
    settings = read_object(path)
    model, padding, added = (settings.get(key) for key in ("model", "padding", "added_tokens"))
    model = model if isinstance(model, dict) else {}
    added = [token for token in added if isinstance(token, dict)] if isinstance(added, list) else []
    special = {token.get("content"): token.get("id") for token in added if token.get("special")}
    vocabulary = model.get("vocab")
    unknown = vocabulary.get(model.get("unk_token")) if isinstance(vocabulary, dict) else model.get("unk_id")
    named = [padding.get("pad_id")] if isinstance(padding, dict) else []
    candidates = [*named, *(special.get(name) for name in _PADDINGS), unknown]
    pad = next((token for token in candidates if isinstance(token, int)), None)
    if pad is None:
        raise UserError(f"{path} has neither a token for padding nor one for unknown words: give another checkpoint")
    return pad, sorted({token for token in (*special.values(), unknown) if isinstance(token, int)} - {pad})
