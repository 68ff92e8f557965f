"""What each layer holds of the words of a treebank: linear probes by layer.

From the output of a layer at a word, probes guess the word, its part of speech, its relation to its head (the word that
it depends on), and the head's part of speech: from what stands at the place itself to what only the sentence tells.

Source: Tenney et al. 2019, "BERT rediscovers the classical NLP pipeline".
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect import memory
from pipelines.inspect.figure import Figure
from pipelines.inspect.gates_by_tag import last_tokens
from pipelines.inspect.treebank import Word
from pipelines.support.errors import UserError

if TYPE_CHECKING:
    from pipelines.inspect.models import Model

_BATCH = 32
_NUM_CLASSES = 50  # the most frequent answers; words with other answers are left out
_WIDTH = 150
QUESTIONS = ("the word", "its part of speech", "its relation to its head", "its head's part of speech")


def answers(sentence: list[Word]) -> list[tuple[str, ...]]:
    """Returns for each word its answers to QUESTIONS. The head of the root is "root"."""
    return [
        (
            word.form.lower(),
            word.upos,
            word.relation.split(":")[0],
            sentence[word.head - 1].upos if word.head else "root",
        )
        for word in sentence
    ]


def outputs(model: "Model", texts: list[str]) -> Iterator[tuple[list[str], dict[str, np.ndarray]]]:
    """Yields the tokens of each text, and the outputs of the layers, the lowest first: name -> float [tokens, units].

    Raises:
        UserError: the export does not give the outputs of its layers.
    """
    if "words" not in model.signatures:
        for text in texts:
            (trace,) = model.intervene(text, [()])
            yield trace.tokens["layer"], {name: values["hidden"] for name, values in trace.recurrent.items()}
        return
    import tensorflow as tf

    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        traces = model.trace(batch)
        layers = model.loaded(tf.constant(batch), training=False)["encoder_outputs"]  # each [batch, time, units]
        for i, trace in enumerate(traces):
            tokens = trace.tokens["layer"]
            yield tokens, {f"layer_{n}": layer[i, : len(tokens)].numpy() for n, layer in enumerate(layers, start=1)}


def look(model: "Model", sentences: list[list[Word]]) -> tuple[list[Figure], list[str]]:
    """Returns the figure of the probes of a model, and a line for each layer and for each question.

    Raises:
        UserError: as `outputs`; or there are too few words that the model's tokens spell.
    """
    texts = [" ".join(word.form for word in sentence) for sentence in sentences]
    states: dict[str, list[np.ndarray]] = {}
    rows, groups = [], []
    for number, (sentence, (tokens, layers)) in enumerate(zip(sentences, outputs(model, texts), strict=True)):
        places = last_tokens(tokens, [word.form for word in sentence])
        if places is None:
            continue
        for name, values in layers.items():
            states.setdefault(name, []).append(values[places])
        rows += answers(sentence)
        groups += [number] * len(sentence)
    if not states:
        raise UserError(
            f"{model.title}: its tokens spell no sentence of the treebank, or it has no layers to look into"
        )
    frame = probes({name: np.concatenate(values) for name, values in states.items()}, rows, np.array(groups))
    read = f"{model.title}: {len(rows)} words of {len(np.unique(groups))} sentences (of {len(sentences)})"
    return [_figure(model.title, frame)], [read, *_lines(model.title, frame)]


def probes(states: dict[str, np.ndarray], rows: list[tuple[str, ...]], groups: np.ndarray) -> pd.DataFrame:
    """Returns question, layer, and the entries of `memory.probe` and "alone", for each question and layer.

    Args:
        states: layer -> float [words, units].
        rows: the answers of each word, in the order of QUESTIONS.
        groups: int [words], the sentence of each word.
    """
    words = np.array([row[0] for row in rows])
    found = []
    for question, given in zip(QUESTIONS, zip(*rows)):
        labels = np.array(given)
        names, counts = np.unique(labels, return_counts=True)
        kept = np.isin(labels, names[np.argsort(-counts, kind="stable")[:_NUM_CLASSES]])
        alone = by_word(words[kept], labels[kept], groups[kept])
        for layer, values in states.items():
            result = memory.probe(values[kept], labels[kept], groups[kept])
            found.append({"question": question, "layer": layer.replace("_", " "), **result, "alone": alone})
    return pd.DataFrame(found)


def by_word(words: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> float:
    """Returns the accuracy of always giving a word its most frequent answer in the training part of the probes.

    A word that is not in the training part gets the most frequent answer of all.
    """
    in_training = memory.training_rows(groups)
    given = pd.DataFrame({"word": words[in_training], "label": labels[in_training]})
    usual = given.groupby("word")["label"].agg(lambda each: each.mode()[0])
    guessed = pd.Series(words[~in_training]).map(usual).fillna(given["label"].mode()[0])
    return float((guessed.to_numpy() == labels[~in_training]).mean())


def _lines(title: str, frame: pd.DataFrame) -> list[str]:
    lines = []
    for question, rows in frame.groupby("question", sort=False):
        best = rows.loc[rows["accuracy"].idxmax()]
        values = ", ".join(f"{row.layer} {row.accuracy:.3f}" for row in rows.itertuples())
        alone = "" if question == QUESTIONS[0] else f"; the word alone {best['alone']:.3f}"
        lines.append(f"{title}, {question}: {values}{alone}; most in {best['layer']}")
    return lines


def _figure(title: str, frame: pd.DataFrame) -> Figure:
    layers = list(dict.fromkeys(frame["layer"]))
    x = alt.X("layer:N", sort=layers, title=None, axis=alt.Axis(labelAngle=-40))
    y = alt.Y("accuracy:Q", scale=alt.Scale(domain=[0, 1]), title="accuracy of the probe")
    base = alt.Chart().encode(x=x)
    tooltip = ["question:N", "layer:N", *(alt.Tooltip(f"{n}:Q", format=".3f") for n in ("accuracy", "alone", "floor"))]
    lines = base.mark_line(point=True).encode(y=y, tooltip=tooltip)
    intervals = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q")
    alone = base.mark_line(color="#e8590c", strokeDash=[6, 3]).encode(y="alone:Q")
    floor = base.mark_line(color="#868e96", strokeDash=[2, 3]).encode(y="floor:Q")
    chart = (
        alt.layer(alone, floor, intervals, lines)
        .properties(width=max(_WIDTH, 24 * len(layers)), height=200)
        .facet(alt.Facet("question:N", sort=list(QUESTIONS), title=None), columns=2, data=alt.NamedData("layers"))
    )
    return Figure(
        "layers",
        f"{title}: what each layer holds of a word",
        "A linear classifier (probe) reads the output of a layer at the last token of a word, in sentences that it was "
        "not fitted to, with 95 % intervals (Wilson). The dashed orange line knows the word alone, and gives its most "
        "frequent answer; the dotted grey line always gives the most frequent answer of all.",
        chart,
        {"layers": frame},
    )
