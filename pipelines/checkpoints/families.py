"""The families of checkpoints that can be read, as a table: the names of their weights and of their settings.

All are encoders of Transformer blocks with learned positions and a normalization after each sublayer. They differ in
names, in the number of the first position, and in whether their embeddings are projected.

Source: Devlin et al. 2019, "BERT"; Sanh et al. 2019, "DistilBERT"; Clark et al. 2020, "ELECTRA"; Liu et al. 2019,
"RoBERTa"; Conneau et al. 2020, "Unsupervised Cross-lingual Representation Learning at Scale" (XLM-RoBERTa); Martin et
al. 2020, "CamemBERT".
"""

from pathlib import Path
from typing import NamedTuple

from pipelines.checkpoints.files import CONFIG
from pipelines.support.errors import UserError, suggestion

ACTIVATIONS = ("gelu", "relu")
_BLOCK = "block_{}/"
_BERT_BLOCK = "encoder.layer.{}."


class Family(NamedTuple):
    """What one kind of checkpoint calls its weights and settings.

    Args:
        prefix: that may stand before the names of all weights but those of the heads.
        names: of the weights of the network, by the path of our layer. {} is the number of the block, ours from 1 and
            theirs from 0.
        head: of the weights of the head that predicts masked tokens, by the name of our layer.
        keys: of config.json, where they differ from BERT's.
        pad: the id of the padding, if config.json does not say it.
        counts_from_pad: whether the first token has the position pad + 1, not 0.
        epsilon: of the normalizations, if config.json does not say it.
        has_types: whether there are embeddings of token types.
        head_activation: of the head, if it is not that of the blocks.
    """

    prefix: str
    names: dict[str, str]
    head: dict[str, str]
    keys: dict[str, str] = {}  # noqa: RUF012
    pad: int = 0
    counts_from_pad: bool = False
    epsilon: float = 1e-12
    has_types: bool = True
    head_activation: str | None = None


class Sizes(NamedTuple):
    """The settings of a checkpoint that its network needs."""

    model_type: str
    vocabulary: int
    embedding: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int  # of the table
    offset: int  # the position of the first token
    types: int
    pad: int
    epsilon: float
    activation: str
    head_activation: str
    is_tied: bool


_BERT_NAMES = {
    "token_embeddings": "embeddings.word_embeddings",
    "position_embeddings": "embeddings.position_embeddings",
    "type_embeddings": "embeddings.token_type_embeddings",
    "embeddings_norm": "embeddings.LayerNorm",
    "embeddings_projection": "embeddings_project",  # only where sizes differ
    _BLOCK + "self_attention/query": _BERT_BLOCK + "attention.self.query",
    _BLOCK + "self_attention/key": _BERT_BLOCK + "attention.self.key",
    _BLOCK + "self_attention/value": _BERT_BLOCK + "attention.self.value",
    _BLOCK + "self_attention/output": _BERT_BLOCK + "attention.output.dense",
    _BLOCK + "attention_norm": _BERT_BLOCK + "attention.output.LayerNorm",
    _BLOCK + "feed_forward/hidden": _BERT_BLOCK + "intermediate.dense",
    _BLOCK + "feed_forward/output": _BERT_BLOCK + "output.dense",
    _BLOCK + "feed_forward_norm": _BERT_BLOCK + "output.LayerNorm",
}
_DISTILBERT_BLOCK = "transformer.layer.{}."
_DISTILBERT_NAMES = {
    **{name: _BERT_NAMES[name] for name in ("token_embeddings", "position_embeddings", "embeddings_norm")},
    _BLOCK + "self_attention/query": _DISTILBERT_BLOCK + "attention.q_lin",
    _BLOCK + "self_attention/key": _DISTILBERT_BLOCK + "attention.k_lin",
    _BLOCK + "self_attention/value": _DISTILBERT_BLOCK + "attention.v_lin",
    _BLOCK + "self_attention/output": _DISTILBERT_BLOCK + "attention.out_lin",
    _BLOCK + "attention_norm": _DISTILBERT_BLOCK + "sa_layer_norm",
    _BLOCK + "feed_forward/hidden": _DISTILBERT_BLOCK + "ffn.lin1",
    _BLOCK + "feed_forward/output": _DISTILBERT_BLOCK + "ffn.lin2",
    _BLOCK + "feed_forward_norm": _DISTILBERT_BLOCK + "output_layer_norm",
}
_BERT_HEAD = {
    "head_transform": "cls.predictions.transform.dense",
    "head_norm": "cls.predictions.transform.LayerNorm",
    "head_bias": "cls.predictions",
    "head_decoder": "cls.predictions.decoder",
}
_ELECTRA_HEAD = {
    "head_transform": "generator_predictions.dense",
    "head_norm": "generator_predictions.LayerNorm",
    "head_bias": "generator_lm_head",
    "head_decoder": "generator_lm_head",
}
_DISTILBERT_HEAD = {
    "head_transform": "vocab_transform",
    "head_norm": "vocab_layer_norm",
    "head_bias": "vocab_projector",
    "head_decoder": "vocab_projector",
}
_ROBERTA_HEAD = {
    "head_transform": "lm_head.dense",
    "head_norm": "lm_head.layer_norm",
    "head_bias": "lm_head",
    "head_decoder": "lm_head.decoder",
}
_DISTILBERT_KEYS = {
    "hidden_size": "dim",
    "num_attention_heads": "n_heads",
    "num_hidden_layers": "n_layers",
    "intermediate_size": "hidden_dim",
    "hidden_act": "activation",
}
_ROBERTA = Family(
    "roberta.", _BERT_NAMES, _ROBERTA_HEAD, pad=1, counts_from_pad=True, head_activation="gelu"
)  # whose tokenizer is another matter
FAMILIES = {
    "bert": Family("bert.", _BERT_NAMES, _BERT_HEAD),
    "camembert": _ROBERTA,
    "distilbert": Family("distilbert.", _DISTILBERT_NAMES, _DISTILBERT_HEAD, _DISTILBERT_KEYS, has_types=False),
    "electra": Family("electra.", _BERT_NAMES, _ELECTRA_HEAD, head_activation="gelu"),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
}
_REFUSED = {
    "albert": "all its blocks share one set of weights",
    "bloom": "it has ALiBi in place of positions",
    "deberta": "it has relative positions",
    "deberta-v2": "it has relative positions",
    "gpt2": "it is a decoder",
    "llama": "it is a decoder",
    "modernbert": "it has rotary positions and gated networks",
    "mpnet": "it has relative positions",
    "mpt": "it has ALiBi in place of positions",
    "nomic_bert": "it has rotary positions and gated networks",
    "qwen2": "it is a decoder",
    "qwen3": "it is a decoder",
    "t5": "it has relative positions",
    "xlnet": "it has relative positions",
}


def sizes_of(folder: Path, config: dict) -> Sizes:
    """Returns the settings of a checkpoint.

    Args:
        folder: of the checkpoint, for messages.
        config: its config.json.

    Raises:
        UserError: its model_type, its positions, its activation or its use as a decoder is not supported, or a number
            is missing or impossible.
    """
    path, model_type = folder / CONFIG, config["model_type"]
    family = FAMILIES.get(model_type)
    if family is None:
        reason = f" ({_REFUSED[model_type]})" if model_type in _REFUSED else suggestion(model_type, FAMILIES)
        raise UserError(f"{path}: model_type {model_type} is not supported{reason}: give one of {', '.join(FAMILIES)}")
    positions = config.get("position_embedding_type", "absolute")
    if positions not in ("absolute", None):
        raise UserError(f"{path}: position_embedding_type is {positions}, but only absolute positions are supported")
    for key in ("is_decoder", "add_cross_attention"):
        if config.get(key):
            raise UserError(f"{path}: {key} is true, but only encoders are supported: give another checkpoint")
    activation = _setting(config, family, "hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise UserError(f"{path}: the activation is {activation}, but only {' and '.join(ACTIVATIONS)} are supported")
    sizes = _numbers(path, config, family, activation)
    if sizes.hidden % sizes.heads:
        raise UserError(f"{path}: {sizes.heads} heads do not divide the hidden size {sizes.hidden}: get it again")
    if sizes.positions <= sizes.offset:
        raise UserError(f"{path}: {sizes.positions} positions are too few, the first is {sizes.offset}: get it again")
    return sizes


def parts(sizes: Sizes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns of each layer of the network, by path, its checkpoint's name and the shape of its weight.

    The shape is that of the checkpoint: [outputs, inputs] for matrices, which have a bias of [outputs] as well as
    normalizations; tables of embeddings have none.
    """
    names = FAMILIES[sizes.model_type].names
    d, e = sizes.hidden, sizes.embedding
    found = {
        "token_embeddings": (sizes.vocabulary, e),
        "position_embeddings": (sizes.positions, e),
        "type_embeddings": (sizes.types, e),
        "embeddings_norm": (e,),
        "embeddings_projection": (d, e),
    }
    if not sizes.types:
        del found["type_embeddings"]
    if e == d:
        del found["embeddings_projection"]
    block: dict[str, tuple[int, ...]] = {name: (d, d) for name in names if name.startswith(_BLOCK)}
    block |= {_BLOCK + "attention_norm": (d,), _BLOCK + "feed_forward_norm": (d,)}
    block |= {_BLOCK + "feed_forward/hidden": (sizes.intermediate, d)}
    block |= {_BLOCK + "feed_forward/output": (d, sizes.intermediate)}
    blocks = {
        name.format(i + 1): (names[name].format(i), shape) for i in range(sizes.layers) for name, shape in block.items()
    }
    return {**{name: (names[name], shape) for name, shape in found.items()}, **blocks}


def head_parts(sizes: Sizes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns `parts` of the head that predicts masked tokens, whose "head_bias" is a bias without a weight."""
    head, e = FAMILIES[sizes.model_type].head, sizes.embedding
    shapes = {
        "head_transform": (e, sizes.hidden),
        "head_norm": (e,),
        "head_bias": (sizes.vocabulary,),
        "head_decoder": (sizes.vocabulary, e),
    }
    return {name: (head[name], shape) for name, shape in shapes.items()}


def _setting(config: dict, family: Family, name: str, default=None):
    return config.get(family.keys.get(name, name), default)


def _numbers(path: Path, config: dict, family: Family, activation: str) -> Sizes:
    def number(name: str, default: int | None = None, least: int = 1) -> int:
        key = family.keys.get(name, name)
        value = config.get(key)
        value = default if value is None else value
        if value is None:
            raise UserError(f"{path} has no {key}: get the checkpoint again")
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError(f"{path}: {key} is {value!r}, it must be a whole number of {least} or more: get it again")
        return value

    epsilon = config.get("layer_norm_eps", family.epsilon)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise UserError(f"{path}: layer_norm_eps is {epsilon!r}, it must be between 0 and 1: get the checkpoint again")
    hidden, vocabulary = number("hidden_size"), number("vocab_size")
    pad = number("pad_token_id", family.pad, least=0)
    if pad >= vocabulary:
        raise UserError(f"{path}: pad_token_id is {pad}, but vocab_size is {vocabulary}: get the checkpoint again")
    return Sizes(
        model_type=config["model_type"],
        vocabulary=vocabulary,
        # Only ELECTRA has two sizes; others may have the key without a meaning.
        embedding=number("embedding_size", hidden) if config["model_type"] == "electra" else hidden,
        hidden=hidden,
        layers=number("num_hidden_layers"),
        heads=number("num_attention_heads"),
        intermediate=number("intermediate_size"),
        positions=number("max_position_embeddings"),
        offset=pad + 1 if family.counts_from_pad else 0,
        types=number("type_vocab_size", 2) if family.has_types else 0,
        pad=pad,
        epsilon=epsilon,
        activation=activation,
        head_activation=family.head_activation or activation,
        is_tied=config.get("tie_word_embeddings", True) is not False,
    )
