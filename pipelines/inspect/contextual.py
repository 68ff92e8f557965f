"""The vectors of words in context beside their embeddings: what a model makes of one word in several sentences.

The embedding of a word is the same everywhere (static). The vector that an encoder computes for it depends on the
sentence (Peters et al. 2018, "Deep contextualized word representations"), that of a language model on the words before
it: what predicts the next token, computed from the word's last token.
"""

import collections
import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.embeddings import unit_vectors
from pipelines.inspect.figure import Figure
from pipelines.inspect.gates_by_tag import words_of_tokens
from pipelines.inspect.states import Plane
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import UNKNOWN

if TYPE_CHECKING:
    from pipelines.inspect.models import Model

_BATCH, _MAX_WORDS = 64, 100  # sentences, and words of a sentence that are read
_SHOWN = 4  # occurrences of a word whose neighbours are listed
_AROUND = 3  # words on each side in the label of an occurrence
_DEFAULT_WORDS, _MIN_EACH = 3, 5
_OPEN_CLASSES = ("NOUN", "VERB", "ADJ", "ADV", "ADP", "PROPN")


@dataclasses.dataclass(frozen=True)
class Occurrences:
    """All words of a treebank, in its order.

    Attributes:
        rows: word (in lower case), tag, sentence and label, which has the words around it.
        static: float [occurrences, size], the embeddings.
        context: float [occurrences, units], the model's vectors.
    """

    rows: pd.DataFrame
    static: np.ndarray
    context: np.ndarray


def read(model: "Model", sentences: list[list[str]], tags: list[list[str]]) -> Occurrences:
    """Returns what a model computes for the words of sentences.

    Raises:
        UserError: the export gives no vectors of words, or knows none of them.
    """
    sentences, tags = ([each[:_MAX_WORDS] for each in lists] for lists in (sentences, tags))
    if "words" in model.signatures:
        vectors = _of_encoder(model, sentences)
    elif model.entry.explains == "next token" and model.tokenizer != "character":
        vectors = _of_language_model(model, sentences)
    else:
        raise UserError(
            f"{model.title} gives no vectors of words: `inspect embeddings --treebank` needs an encoder, or a language "
            "model of words or subwords"
        )
    rows, static, context = [], [], []
    for number, (words, names, found) in enumerate(zip(sentences, tags, vectors, strict=True)):
        static.append(found.static)
        context.append(found.context)
        for position in found.positions:
            rows.append((words[position].lower(), names[position], number, _label(words, position)))
    if not rows:
        raise UserError(f"{model.title} knows no word of the sentences of the treebank")
    return Occurrences(
        pd.DataFrame(rows, columns=["word", "tag", "sentence", "label"]),
        np.concatenate(static),
        np.concatenate(context),
    )


class _Vectors(NamedTuple):
    """What a model computes for a sentence.

    Attributes:
        positions: of the words that have vectors.
        static: their embeddings, float [words, size].
        context: their vectors in context, float [words, units].
    """

    positions: Sequence[int]
    static: np.ndarray
    context: np.ndarray


def _of_encoder(model: "Model", sentences: list[list[str]]) -> Iterator[_Vectors]:
    """Yields the vectors of all words of each sentence."""
    for start in range(0, len(sentences), _BATCH):
        batch = sentences[start : start + _BATCH]
        longest = max(map(len, batch))
        outputs = model.ask("words", tokens=[[*words, *[""] * (longest - len(words))] for words in batch])
        if "embeddings" not in outputs:
            raise UserError(f"{model.title} was exported by an older version: train it again")
        for i, words in enumerate(batch):
            places = range(len(words))
            yield _Vectors(places, outputs["embeddings"][i, places], outputs["vectors"][i, places])


def _of_language_model(model: "Model", sentences: list[list[str]]) -> Iterator[_Vectors]:
    """Yields the vectors of the words of each sentence that the model knows; none if its tokens do not spell the words.

    The embedding of a word is the mean of those of its tokens.
    """
    table = model.embedding_table()
    for words in sentences:
        text = " ".join(words)
        trace = model.trace([text])[0]
        read = len(trace.tokens["layer"])
        ids = model.ask("encode", text=[text])["ids"][0][: read - 1]  # without <start>
        places = words_of_tokens(trace.tokens["layer"], words) or []
        tokens_of = {number: [] for number in range(len(words))}
        for position, place in enumerate(places):
            if place >= 0:
                tokens_of[place].append(position - 1)
        kept = [number for number, found in tokens_of.items() if found and (ids[found] != UNKNOWN).all()]
        static = [table[ids[tokens_of[number]]].mean(0) for number in kept]
        last = [tokens_of[number][-1] + 1 for number in kept]
        context = trace.outputs["features"][last]
        yield _Vectors(kept, np.array(static).reshape(-1, table.shape[1]), context)


def _label(words: list[str], position: int) -> str:
    before = words[max(0, position - _AROUND) : position]
    return " ".join([*before, f"[{words[position]}]", *words[position + 1 : position + 1 + _AROUND]])


def ambiguous_words(rows: pd.DataFrame) -> list[str]:
    """Returns up to three words that have two parts of speech at least five times each, the most frequent ones."""
    counts = rows[rows["tag"].isin(_OPEN_CLASSES)].groupby(["word", "tag"]).size()
    frequent = counts[counts >= _MIN_EACH].reset_index(name="count").groupby("word")["count"].agg(["size", "min"])
    found = frequent[frequent["size"] > 1].sort_values("min", ascending=False, kind="stable")
    return list(found.index[:_DEFAULT_WORDS]) or [rows["word"].value_counts().index[0]]


def neighbours(found: Occurrences, word: str, count: int) -> pd.DataFrame:
    """Returns word, of, rank, neighbour and cosine: the nearest other words, in the embeddings and in context.

    `of` is "static" or the label of an occurrence with its part of speech; there are at most four, of different parts
    of speech first. In context, a neighbour counts by its most similar occurrence.
    """
    rows = found.rows
    own = rows.index[rows["word"] == word]
    turn = rows.loc[own].drop_duplicates(["tag", "label"]).groupby("tag").cumcount()
    shown = turn.sort_values(kind="stable").index[:_SHOWN]
    asked = [("static", found.static, own[0])]
    asked += [(f"{rows.at[i, 'tag']}: {rows.at[i, 'label']}", found.context, i) for i in shown]
    results = []
    for of, vectors, index in asked:
        unit = unit_vectors(vectors)
        cosines = unit @ unit[index]
        best = pd.Series(cosines).groupby(rows["word"].to_numpy()).max().drop(word)
        best = best.sort_values(ascending=False, kind="stable")[:count]
        results += [
            {"word": word, "of": of, "rank": rank, "neighbour": each, "cosine": float(cosine)}
            for rank, (each, cosine) in enumerate(best.items(), start=1)
        ]
    return pd.DataFrame(results)


def same_tag(found: Occurrences, word: str) -> tuple[float, float, collections.Counter]:
    """Returns how often the nearest other occurrence of the word in context has its part of speech; the chance; counts.

    The chance is that of a random other occurrence: sum n (n - 1) / (N (N - 1)) over the parts of speech. Both are NaN
    for a word that occurs once.
    """
    own = found.rows.index[found.rows["word"] == word]
    tags = found.rows.loc[own, "tag"].to_numpy()
    counts = collections.Counter(tags.tolist())
    if len(own) < 2:
        return float("nan"), float("nan"), counts
    unit = unit_vectors(found.context[own])
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    right = float((tags[cosines.argmax(1)] == tags).mean())
    chance = sum(n * (n - 1) for n in counts.values()) / (len(own) * (len(own) - 1))
    return right, chance, counts


def look(model: "Model", sentences, tags, words: tuple[str, ...], count: int) -> tuple[list[Figure], list[str]]:
    """Returns the figure of a model, and a line for each word.

    Args:
        sentences: lists of words.
        tags: of the words.
        words: to look at; by default `ambiguous_words`.
        count: number of neighbours.

    Raises:
        UserError: as `read`; or a word is not in the sentences.
    """
    found = read(model, sentences, tags)
    asked = [word.lower() for word in words] or ambiguous_words(found.rows)
    notes = []
    for word in asked:
        if word not in set(found.rows["word"]):
            raise UserError(f"--words {word!r}: it is not in the sentences of the treebank that are read")
        right, chance, counts = same_tag(found, word)
        parts = ", ".join(f"{tag} {number}" for tag, number in counts.most_common())
        notes.append(
            f"{word} ({parts}): the nearest other occurrence has the same part of speech in {right:.0%}, a random one "
            f"in {chance:.0%}"
        )
    near = pd.concat([neighbours(found, word, count) for word in asked], ignore_index=True)
    return [_figure(model.title, near, pd.concat([_points(found, word) for word in asked]), asked, count)], notes


def _points(found: Occurrences, word: str) -> pd.DataFrame:
    own = found.rows[found.rows["word"] == word]
    vectors = found.context[own.index]
    places = Plane(vectors).project(vectors)
    return own.assign(x=places[:, 0], y=places[:, -1])


def _figure(title: str, near: pd.DataFrame, points: pd.DataFrame, words: list[str], count: int) -> Figure:
    labels = list(dict.fromkeys(near["of"]))
    bars = (
        alt.Chart()
        .transform_calculate(label="datum.neighbour + '  ' + format(datum.cosine, '.2f')")
        .encode(y=alt.Y("rank:O", axis=None), x=alt.X("cosine:Q", scale=alt.Scale(domain=[0, 1], clamp=True)))
    )
    label = bars.mark_text(align="left", dx=4).encode(x=alt.value(2), text="label:N")
    lists = []
    for word in words:
        layers = alt.layer(bars.mark_bar(color="#5c7cfa", opacity=0.45), label).properties(width=190, height=14 * count)
        header = alt.Header(labelLimit=195, labelFontSize=11)
        by_occurrence = alt.Facet("of:N", sort=labels, title=None, header=header)
        faceted = layers.facet(by_occurrence, columns=5, data=alt.NamedData("neighbours"))
        lists.append(faceted.transform_filter(f"datum.word === {json.dumps(word)}").properties(title=word))
    dots = (
        alt.Chart(alt.NamedData("points"))
        .mark_circle(size=60)
        .encode(
            x=alt.X("x:Q", title="first component"),
            y=alt.Y("y:Q", title="second component"),
            color=alt.Color("tag:N", title="part of speech"),
            tooltip=["label:N", "tag:N"],
        )
        .properties(width=300, height=260)
        .facet(alt.Facet("word:N", sort=words, title=None), columns=3)
        .resolve_scale(x="independent", y="independent")
        .properties(title="every occurrence in context, by its part of speech")
    )
    return Figure(
        "contextual",
        f"Words in context, of {title}",
        "For each word the other words of the treebank that are most similar to it (cosine): by the embedding, which "
        "is the same everywhere (static), and by the model's vector of single occurrences. Below, each occurrence in "
        "the plane of the two largest principal components of the word's vectors.",
        alt.vconcat(*lists, dots, spacing=20).resolve_scale(x="independent", y="independent", color="independent"),
        {"neighbours": near, "points": points.drop(columns="sentence")},
        table=near,
    )
