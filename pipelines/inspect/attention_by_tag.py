"""The attention of each head counted over a treebank: from each part of speech to each.

A word may be several tokens. The attention from a word is the mean over its tokens, the attention to a word the sum
over its tokens, as in Clark et al. 2019, "What does BERT look at?". So what a word gives to all words and special
tokens sums to 1.

Nouns get more attention than conjunctions because there are more of them. So every number has one beside it that a head
would have which looks at all tokens alike (uniform): of a causal network, at all tokens up to the one that looks.
"""

import dataclasses
from collections.abc import Iterable

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import choice
from pipelines.inspect.figure import Figure
from pipelines.inspect.gates_by_tag import MIN_WORDS, words_of_tokens
from pipelines.inspect.trace import Trace
from pipelines.support.bootstrap import resampled_sums
from pipelines.support.errors import UserError

SPECIAL = "special tokens"
KINDS = {
    "itself": None,
    "the word before": None,
    "the word after": None,
    SPECIAL: None,
    "others of its part of speech": None,
    "nouns": ("NOUN", "PROPN"),
    "verbs": ("VERB", "AUX"),
    "punctuation": ("PUNCT",),
}
"""What a head may look at -> parts of speech, where it is about them."""


@dataclasses.dataclass(frozen=True)
class Counts:
    """Sums of attention over the words of each sentence.

    Attributes:
        tags: the parts of speech, in the order of the axes.
        heads: layer and number, from 1; at the end ("", 0), the uniform attention.
        to_tags: float [sentences, heads, tags, tags + 1], from each part of speech to each and to special tokens.
        to_kinds: float [sentences, heads, kinds], in the order of KINDS.
        words: int [sentences, tags], number of words.
    """

    tags: list[str]
    heads: list[tuple[str, int]]
    to_tags: np.ndarray
    to_kinds: np.ndarray
    words: np.ndarray


def count(traces: Iterable[Trace], sentences: list[list[str]], tags: list[list[str]]) -> Counts:
    """Returns the sums of self-attention. Sentences whose tokens do not spell their words are left out.

    Args:
        traces: of the sentences.
        sentences: words of each.
        tags: of the words.

    Raises:
        UserError: the model has no self-attention over a text, or no sentence can be used.
    """
    names = sorted({tag for each in tags for tag in each})
    number = {name: i for i, name in enumerate(names)}
    heads, to_tags, to_kinds, words_of = [], [], [], []
    for trace, words, own in zip(traces, sentences, tags, strict=True):
        part = "encoder" if "encoder" in trace.tokens else "layer"
        layers = {name: each for name, each in trace.attention.items() if name.startswith(part)}
        if not layers:
            raise UserError(f"{trace.model} has no self-attention over a text: --treebank needs a transformer")
        places = words_of_tokens(trace.tokens[part], words)
        if places is None:
            continue
        heads = [(layer, head) for layer, each in layers.items() for head in range(1, len(each.weights) + 1)]
        weights = np.concatenate([each.weights for each in layers.values()])  # [heads, tokens, tokens]
        weights = np.concatenate([weights, uniform(weights)[None]])
        between = by_word(weights, places, len(words))  # [heads, words, words + 1]
        tag = np.eye(len(names))[[number[name] for name in own]]  # [words, tags]
        keys = np.zeros((len(words) + 1, len(names) + 1))  # [words + 1, tags + 1]
        keys[:-1, :-1], keys[-1, -1] = tag, 1
        to_tags.append(np.einsum("qt,hqk,ks->hts", tag, between, keys))
        to_kinds.append(np.einsum("hqk,nqk->hn", between, _kinds(own)))
        words_of.append(tag.sum(0))
    if not to_tags:
        raise UserError("no sentence of the treebank has words that the model's tokens spell")
    return Counts(names, [*heads, ("", 0)], np.stack(to_tags), np.stack(to_kinds), np.stack(words_of))


def uniform(weights: np.ndarray) -> np.ndarray:
    """Returns the weights of a head that looks at all tokens alike, or at all tokens up to its own.

    Args:
        weights: float [heads, tokens, tokens]. Where nothing looks ahead, nothing could.
    """
    visible = np.ones(weights.shape[1:])
    if not np.triu(weights, 1).any():
        visible = np.tril(visible)
    return visible / visible.sum(1, keepdims=True)


def by_word(weights: np.ndarray, places: list[int], num_words: int) -> np.ndarray:
    """Returns the attention between words, float [heads, words, words + 1]; the last key are the special tokens.

    Args:
        weights: float [heads, tokens, tokens].
        places: the word of each token; -1 for special tokens, and for the spaces between words.
    """
    member = np.eye(num_words + 1)[places]  # [tokens, words + 1]; -1 is the last column
    queries = member[:, :-1] / member[:, :-1].sum(0)
    return np.einsum("qw,hqk,kv->hwv", queries, weights, member)


def _kinds(tags: list[str]) -> np.ndarray:
    """Returns which keys are of each kind for each query: float [kinds, words, words + 1]."""
    size = len(tags)
    itself = np.eye(size, size + 1)
    special = np.zeros((size, size + 1))
    special[:, -1] = 1
    same = np.zeros((size, size + 1))
    same[:, :-1] = np.array(tags)[:, None] == np.array(tags)
    before, after = np.eye(size, size + 1, -1), np.eye(size, size + 1, 1)
    after[:, -1] = 0
    masks = [itself, before, after, special, same - itself]
    for wanted in list(KINDS.values())[len(masks) :]:
        masks.append(np.tile([*(float(tag in wanted) for tag in tags), 0.0], (size, 1)))
    return np.stack(masks)


def tag_rows(counts: Counts) -> pd.DataFrame:
    """Returns layer, head, query, key, words, mean, low, high and uniform.

    `mean` is the share of the attention of a word of the part of speech `query` that goes to words of `key`, with the
    95 % interval of a bootstrap over sentences. Parts of speech with fewer than 20 words are left out as queries.

    Raises:
        UserError: no part of speech has 20 words.
    """
    total = counts.words.sum(0)
    kept = np.flatnonzero(total >= MIN_WORDS)
    if not len(kept):
        raise UserError(f"no part of speech has {MIN_WORDS} words: give a larger treebank")
    sums, words = counts.to_tags[:, :, kept], counts.words[:, kept]
    mean, low, high = _bootstrap(sums, words[:, None, :, None])
    keys = [*counts.tags, SPECIAL]
    rows = [
        (
            layer,
            head,
            counts.tags[tag],
            key,
            int(total[tag]),
            mean[h, q, k],
            low[h, q, k],
            high[h, q, k],
            mean[-1, q, k],
        )
        for h, (layer, head) in enumerate(counts.heads[:-1])
        for q, tag in enumerate(kept)
        for k, key in enumerate(keys)
        if mean[-1, :, k].any()  # not every network has special tokens
    ]
    columns = ["layer", "head", "query", "key", "words", "mean", "low", "high", "uniform"]
    return pd.DataFrame(rows, columns=columns)


def kind_rows(counts: Counts) -> pd.DataFrame:
    """Returns layer, head, kind, words, mean, low, high and uniform: the same by KINDS, over all words.

    The kinds overlap: the word before may be a noun. A kind that no head can see is left out.
    """
    words = counts.words.sum(1)  # [sentences]
    mean, low, high = _bootstrap(counts.to_kinds, words[:, None, None])
    rows = [
        (layer, head, kind, int(words.sum()), mean[h, k], low[h, k], high[h, k], mean[-1, k])
        for h, (layer, head) in enumerate(counts.heads[:-1])
        for k, kind in enumerate(KINDS)
        if mean[-1, k] > 0
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "kind", "words", "mean", "low", "high", "uniform"])


def _bootstrap(sums: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns sums / words over all sentences, and the limits of its 95 % interval: each [...].

    Args:
        sums: float [sentences, ...].
        words: of the same number of axes.
    """
    flat = [each.reshape(len(each), -1) for each in (sums, words)]
    drawn = resampled_sums(np.concatenate(flat, axis=1))  # [draws, columns of both]
    drawn, of = np.split(drawn, [flat[0].shape[1]], axis=1)
    drawn, of = drawn.reshape(-1, *sums.shape[1:]), of.reshape(-1, *words.shape[1:])
    low, high = np.nanpercentile(drawn / np.where(of > 0, of, np.nan), [2.5, 97.5], axis=0)
    return sums.sum(0) / words.sum(0), low, high


def sentences_text(model: str, counts: Counts, rows: pd.DataFrame) -> list[str]:
    """Returns lines for the terminal: for each head the kind that it prefers most, relative to uniform attention."""
    lines = [f"{model}: {len(counts.words):,} sentences with {int(counts.words.sum()):,} words"]
    for (layer, head), group in rows.groupby(["layer", "head"], sort=False):
        above = group[group["low"] > group["uniform"]]
        if above.empty:
            lines.append(f"{model}: {layer}, head {head}: nothing above uniform attention")
            continue
        best = above.loc[(above["mean"] / above["uniform"]).idxmax()]
        lines.append(
            f"{model}: {layer}, head {head}: {best['kind']} {best['mean']:.2f} ({best['low']:.2f} to "
            f"{best['high']:.2f}), {best['mean'] / best['uniform']:.1f} times uniform attention"
        )
    return lines


def figure(model: str, tags: pd.DataFrame, kinds: pd.DataFrame) -> Figure:
    """Returns the figure of the rows of `tag_rows` and `kind_rows`."""
    tags = tags.assign(name=tags["layer"] + ", head " + tags["head"].astype(str))
    tags = tags.assign(ratio=tags["mean"] / tags["uniform"].where(tags["uniform"] > 0))
    kinds = kinds.assign(name=kinds["layer"] + ", head " + kinds["head"].astype(str))
    names = list(dict.fromkeys(tags["name"]))
    return Figure(
        "attention-by-tag",
        f"Attention of {model} by part of speech",
        "Above: the share of a word's attention that goes to each kind of key, with the 95 % interval of a bootstrap "
        "over sentences; the grey line is a head that looks at all tokens alike. The kinds overlap. Below, for one "
        "head: from each part of speech (row) to each (column); a row sums to 1.",
        alt.vconcat(_kinds_chart(names), _tags_chart(names), spacing=24).resolve_scale(color="independent"),
        {"kinds": kinds, "tags": tags},
        table=kinds.drop(columns="name"),
    )


def _kinds_chart(names: list[str]) -> alt.FacetChart:
    y = alt.Y("kind:N", sort=list(KINDS), title=None)
    tooltip = ["kind:N", *(alt.Tooltip(f"{each}:Q", format=".3f") for each in ("mean", "low", "high", "uniform"))]
    base = alt.Chart().encode(y=y, tooltip=tooltip)
    uniform_line = base.mark_tick(color="#868e96", thickness=2).encode(x="uniform:Q")
    intervals = base.mark_rule(color="#4c6ef5").encode(x="low:Q", x2="high:Q")
    x = alt.X("mean:Q", scale=alt.Scale(domainMin=0), title="share of the attention")
    points = base.mark_point(filled=True, size=50, color="#4c6ef5").encode(x=x)
    by_head = alt.Facet("name:N", sort=names, title=None)
    chart = alt.layer(uniform_line, intervals, points).properties(width=170, height=alt.Step(17))
    return chart.facet(by_head, columns=4, data=alt.NamedData("kinds"))


def _tags_chart(names: list[str]) -> alt.Chart:
    tooltip = [
        "query:N",
        "key:N",
        "words:Q",
        *(alt.Tooltip(f"{each}:Q", format=".3f") for each in ("mean", "low", "high", "uniform")),
        alt.Tooltip("ratio:Q", format=".2f", title="times uniform"),
    ]
    chart = (
        alt.Chart(alt.NamedData("tags"))
        .transform_filter("datum.name == shown_head")
        .mark_rect()
        .encode(
            x=alt.X("key:N", title="key", axis=alt.Axis(labelAngle=-60)),
            y=alt.Y("query:N", title="query"),
            color=alt.Color("mean:Q", scale=alt.Scale(scheme="viridis", domainMin=0), title="share"),
            tooltip=tooltip,
        )
        .properties(width=alt.Step(26), height=alt.Step(20), title="one head: from each part of speech to each")
    )
    return chart.add_params(choice("shown_head", names, title="head "))
