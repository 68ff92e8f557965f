"""What `inspect salience` explains: a next token, a label or a tag, as a function of the vectors of the tokens.

The baseline is a text of as many tokens that say nothing. For language models and classifiers these are unknown tokens;
zeros would not do, because near them the gradient of a layer normalization is very large. The words of a tagger become
the unknown word, with the mean over all spellings, affixes and characters.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from pipelines.export.network import load_network
from pipelines.inspect.salience import Explained
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import START, UNKNOWN

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from pipelines.inspect.models import Model
    from pipelines.inspect.trace import Trace

_MAX_TOKENS = 128  # of the text of a language model
_IMPOSSIBLE = -1e4  # log-score of a tag that is excluded
_LINEAR = "ngram_logits"  # the linear model beside the encoder of a classifier


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What the reader wants explained; None leaves the choice to the model.

    Attributes:
        token: language models: the next token.
        label: classifiers and taggers: the label or tag.
        word: taggers: the word whose tag is explained.
    """

    token: str | None = None
    label: str | None = None
    word: str | None = None


def explain(model: "Model", text: str, wanted: Wanted) -> Explained:
    """Returns what a model computes for a text, to be explained.

    Raises:
        UserError: the model is of another task, or has no such token, label or word; or the text is too long or empty.
    """
    makers = {
        "next token": (_next_token, ("token",)),
        "label": (_label, ("label",)),
        "tag": (_tag, ("label", "word")),
    }
    if model.entry.explains not in makers:
        raise UserError(
            f"{model.title} is of the task {model.card['task']}: `inspect salience` needs a language model, a "
            "classifier with recurrent layers or attention, or a tagger"
        )
    make, uses = makers[model.entry.explains]
    for name, value in dataclasses.asdict(wanted).items():
        if value is not None and name not in uses:
            given = " and ".join(f"--{each}" for each in uses)
            raise UserError(f"--{name} has no effect on {model.title}: it takes {given}")
    return make(model, text, wanted)


def of_next_token(network: "keras.Model", ids: np.ndarray, target: int) -> Explained:
    """Returns the log-probability of a next token.

    Args:
        network: ids int32 [batch, time] -> logits [batch, time, vocabulary], whose embedding is called "tokens".
        ids: int32 [time], with <start>.
        target: id of the next token.
    """
    import tensorflow as tf

    def log_probability(ids):
        with _last_position_alone(network):
            logits = network(ids, training=False)
        return tf.nn.log_softmax(logits[:, -1])[:, target]

    is_start = np.arange(len(ids)) == 0
    return _of_ids(network, ["tokens"], ids, is_start, log_probability)


def of_label(
    network: "keras.Model", ids: np.ndarray, label: int, multi_label: bool, temperature: float = 1.0
) -> Explained:
    """Returns the log-odds of a label.

    Args:
        network: ids int32 [batch, time] -> logits [batch, classes].
        ids: int32 [time], with <start> and <end>.
        label: number of the class.
        multi_label: whether a text may have several labels; then the logit is the log-odds.
        temperature: what the logits are divided by, which calibrates them.
    """
    import tensorflow as tf

    def log_odds(ids):
        logits = network(ids, training=False) / temperature
        if multi_label:
            return logits[:, label]
        others = np.delete(np.arange(logits.shape[1]), label)
        return logits[:, label] - tf.reduce_logsumexp(tf.gather(logits, others, axis=1), axis=1)

    is_end = np.isin(np.arange(len(ids)), (0, len(ids) - 1))
    return _of_ids(network, _embeddings(network), ids, is_end, log_odds)


def of_tag(network: "keras.Model", inputs: dict[str, np.ndarray], position: int, tag: int) -> Explained:
    """Returns the log-odds of the tag of a word, p / (1 - p) with the marginal probability p of the CRF.

    log p is the difference of two log-partitions: of all sequences that have the tag, and of all.

    Args:
        network: of `tagging.networks`.
        inputs: of one sentence, [1, time, ...] each.
        position: of the word.
        tag: its number.
    """
    import tensorflow as tf

    embeddings = _embeddings(network)
    crf, length = network.get_layer("crf"), inputs["words"].shape[1]

    def log_odds(vectors):
        rows = len(next(iter(vectors.values())))
        repeated = {name: np.repeat(values, rows, axis=0) for name, values in inputs.items()}
        given = {name: vectors[name] for name in vectors if name in inputs}
        with _given(network, {name: vectors[name] for name in vectors if name not in inputs}):
            logits = network(repeated | given, training=False)  # [rows, time, tags]
        is_tag = np.zeros(logits.shape[1:], bool)
        is_tag[position, tag] = True
        here = np.arange(length)[:, None] == position
        with_tag = tf.where(here & ~is_tag, _IMPOSSIBLE, logits)
        with_others = tf.where(is_tag, _IMPOSSIBLE, logits)
        return crf.log_partition(with_tag) - crf.log_partition(with_others)

    vectors = _looked_up(network, embeddings, inputs)
    baseline = {}
    for name, values in vectors.items():
        table = network.get_layer(name).embeddings
        mean = table[UNKNOWN] if name == "word_vectors" else tf.reduce_mean(table[1:], axis=0)  # 0 is the padding
        baseline[name] = tf.zeros_like(values) + mean
    if "vectors" in inputs:
        vectors["vectors"] = tf.constant(inputs["vectors"])
        baseline["vectors"] = tf.zeros_like(vectors["vectors"])

    def hidden(positions):
        is_hidden = np.zeros((len(positions), length), bool)
        np.put_along_axis(is_hidden, np.array(positions), True, axis=1)
        return log_odds(
            {
                name: tf.where(is_hidden.reshape(*is_hidden.shape, *[1] * (len(each.shape) - 2)), baseline[name], each)
                for name, each in vectors.items()
            }
        ).numpy()

    return Explained([""] * length, "", vectors, baseline, log_odds, hidden, list(range(length)))


def _next_token(model: "Model", text: str, wanted: Wanted) -> Explained:
    from pipelines.language_model.config import WITH_ORDER

    config, network = load_network(model.exported, model.loaded)
    if config.model in WITH_ORDER:
        raise UserError(
            f"{model.title} reads its last {config.order - 1} tokens: salience needs a recurrent model or a transformer"
        )
    encoded = model.ask("encode", text=[text])
    ids = np.concatenate([[START], encoded["ids"][0][: encoded["lengths"][0]]]).astype(np.int32)
    limit = min(_MAX_TOKENS, config.window)
    if not 2 <= len(ids) <= limit:
        raise UserError(f"the text has {len(ids) - 1} tokens for {model.title}: give one of 1 to {limit - 1}")
    if wanted.token is None:
        target = int(network(ids[None], training=False)[0, -1].numpy().argmax())
    else:
        target = model.token_id(wanted.token, "--token")
    names = model.ask("decode", ids=[[i] for i in [*ids[1:], target]])["text"]
    names = [name.decode("utf-8", "replace") for name in names]
    return dataclasses.replace(
        of_next_token(network, ids, target),
        tokens=["<start>", *names[:-1]],
        target=f"{names[-1]!r} as the next token",
        attention=_attention(model.trace([text])[0], len(ids) - 1) if config.model == "transformer" else None,
    )


def _label(model: "Model", text: str, wanted: Wanted) -> Explained:
    if model.kind in ("cnn", "bag", "linear"):
        raise UserError(
            f"{model.title} has no recurrent layer and no attention: `predict {model.card['task']} --explain` weights "
            "its words by occlusion"
        )
    trace = model.trace([text])[0]
    config, network = load_network(model.exported, model.loaded)
    ids = _read(model, trace, "ids")[0]
    classes = model.card["classes"]
    if wanted.label is not None and wanted.label not in classes:
        raise UserError(f"--label {wanted.label!r}: {model.title} has the labels {', '.join(classes)}")
    label = classes.index(wanted.label) if wanted.label else int(np.argmax(trace.outputs["probabilities"]))
    attention = _attention(trace, None) if config.model == "transformer" else None
    part = ", by the encoder, without the linear model over n-grams" if config.max_ngrams else ""
    temperature = model.card["scores"]["validation"].get("temperature", 1.0)  # those of 0.9.0 have none
    return dataclasses.replace(
        of_label(network, ids, label, config.multi_label, temperature),
        tokens=trace.tokens["layer"],
        target=f"the label {classes[label]}{part}",
        attention=attention,
    )


def _tag(model: "Model", text: str, wanted: Wanted) -> Explained:
    if model.kind == "best":
        raise UserError(f"{model.title} is a network and a linear model: train one with --model lstm, and inspect that")
    trace = model.trace([text])[0]
    tokens = trace.tokens["layer"]
    if not tokens:
        raise UserError("the text has no words: give one of at least 1")
    if wanted.word is not None and wanted.word not in tokens:
        raise UserError(f"--word {wanted.word!r}: it is not one of the words of the sentence: {' '.join(tokens)}")
    # By default the word whose tag is the least certain.
    position = tokens.index(wanted.word) if wanted.word else int(np.argmin(trace.outputs["scores"]))
    tags = model.card["classes"]
    if wanted.label is not None and wanted.label not in tags:
        raise UserError(f"--label {wanted.label!r}: {model.title} has the tags {', '.join(tags)}")
    name = wanted.label or trace.outputs["tags"][position].decode()
    config, network = load_network(model.exported, model.loaded)
    inputs = {each.name: _read(model, trace, each.name) for each in network.inputs}
    return dataclasses.replace(
        of_tag(network, inputs, position, tags.index(name)),
        tokens=tokens,
        target=f"the tag {name} of {tokens[position]!r}",
        attention=_attention(trace, position) if config.model == "transformer" else None,
    )


def _read(model: "Model", trace: "Trace", name: str) -> np.ndarray:
    """Returns what the network reads of the text, from its trace: [1, time, ...]."""
    if name not in trace.outputs:
        raise UserError(
            f"{model.title} was exported by an older Unroll, whose trace does not name the inputs: train it again"
        )
    return trace.outputs[name][None]


def _attention(trace: "Trace", query: int | None) -> np.ndarray:
    """Returns the weights of a position, or the mean over all positions: the mean over layers and heads, [time]."""
    weights = np.concatenate([each.weights for each in trace.attention.values()])  # [heads, queries, keys]
    return (weights.mean(1) if query is None else weights[:, query]).mean(0)


def _embeddings(network: "keras.Model") -> list[str]:
    """Returns the names of the embedding layers of ids."""
    import keras

    return [layer.name for layer in network.layers if type(layer) is keras.layers.Embedding]


def _of_ids(network, embeddings: list[str], ids, is_kept, value_of_ids: Callable) -> Explained:
    """Returns what a network computes from ids alone. A token is left out by deleting it.

    Args:
        is_kept: bool [time], the tokens that are in the baseline, too, and are not deleted.
        value_of_ids: int32 [rows, time] -> F, float [rows].
    """

    def value(vectors):
        with _given(network, vectors):
            return value_of_ids(np.repeat(ids[None], len(next(iter(vectors.values()))), axis=0))

    def deleted(positions):
        return value_of_ids(np.array([np.delete(ids, each) for each in positions], np.int32)).numpy()

    vectors = _looked_up(network, embeddings, ids[None])
    baseline = _looked_up(network, embeddings, np.where(is_kept, ids, UNKNOWN)[None].astype(np.int32))
    return Explained([""] * len(ids), "", vectors, baseline, value, deleted, np.flatnonzero(~is_kept).tolist())


def _looked_up(network, embeddings: list[str], inputs) -> "dict[str, tf.Tensor]":
    """Returns the vectors that the embedding layers look up for inputs: layer -> float [batch, time, ...]."""
    found = {}

    def recorded(name, call):
        def look_up(ids, **options):
            vectors = call(ids, **options)
            if not options.get("reverse"):
                found[name] = vectors
            return vectors

        return look_up

    with _replaced({name: recorded(name, network.get_layer(name).call) for name in embeddings}, network):
        network(inputs, training=False)
    return found


def _given(network, vectors: dict):
    """Makes the embedding layers return these vectors in place of those that they look up."""

    def given(name, call):
        # With tied weights the layer is called again, with reverse=True.
        return lambda ids, **options: call(ids, **options) if options.get("reverse") else vectors[name]

    return _replaced({name: given(name, network.get_layer(name).call) for name in vectors}, network)


def _last_position_alone(network):
    """Makes the output layer of a language model compute the logits of the last position alone."""
    names = {layer.name for layer in network.layers}
    name = "logits" if "logits" in names else "tokens"
    call = network.get_layer(name).call

    def last(inputs, **options):
        is_output = name == "logits" or options.get("reverse")
        return call(inputs[:, -1:] if is_output else inputs, **options)

    return _replaced({name: last}, network)


@contextlib.contextmanager
def _replaced(calls: dict[str, Callable], network) -> Iterator[None]:
    """Replaces what layers compute, for as long as the context lasts."""
    before = {name: network.get_layer(name).__dict__.get("call") for name in calls}
    try:
        for name, call in calls.items():
            network.get_layer(name).call = call
        yield
    finally:
        for name, call in before.items():
            if call is None:
                del network.get_layer(name).call
            else:
                network.get_layer(name).call = call
