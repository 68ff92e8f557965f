"""The gates of a network averaged over the words of each part of speech."""

from collections.abc import Iterable

import altair as alt
import pandas as pd

from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import GATES, Trace
from pipelines.support.bootstrap import interval, resampled_sums
from pipelines.support.errors import UserError
from pipelines.text.invisible import visible
from pipelines.text.special_tokens import WORD_START

MIN_WORDS = 20  # of a part of speech


def words_of_tokens(tokens: list[str], words: list[str]) -> list[int] | None:
    """Returns the index of the word of each token; None if the tokens do not spell the words.

    Args:
        tokens: of a trace.
        words: of the same text.

    Returns:
        -1 for special tokens, which are in angle brackets, for spaces, and for tokens after the last word.
    """
    places, position = [-1] * len(tokens), 0
    for number, word in enumerate(words):
        wanted, spelled = "".join(visible(word).split()).lower(), ""
        while len(spelled) < len(wanted):
            if position == len(tokens):
                return None
            token = tokens[position]
            is_special = token.startswith("<") and token.endswith(">") and token != wanted
            piece = "" if is_special else visible(token).replace(WORD_START, "").strip().lower()
            spelled += piece
            if piece:
                places[position] = number
            position += 1
        if spelled != wanted:
            return None
    return places


def last_tokens(tokens: list[str], words: list[str]) -> list[int] | None:
    """Returns the index of the last token of each word; None if the tokens do not spell the words.

    Args:
        tokens: of a trace; special tokens in angle brackets are skipped.
        words: of the same text.
    """
    places = words_of_tokens(tokens, words)
    if places is None:
        return None
    last = {place: index for index, place in enumerate(places)}
    return [last[number] for number in range(len(words))]


def gate_rows(traces: Iterable[Trace], sentences: list[list[str]], tags: list[list[str]]) -> pd.DataFrame:
    """Returns layer, gate, tag, sentence and value: the mean over the units at the last token of each word.

    Sentences whose tokens do not spell their words are left out.
    """
    rows = []
    for number, (trace, words, names) in enumerate(zip(traces, sentences, tags, strict=True)):
        indices = last_tokens(trace.tokens["layer"], words)
        if indices is None:
            continue
        for layer in trace.layers(GATES):
            for gate in GATES:
                if gate in trace.recurrent[layer]:
                    means = trace.recurrent[layer][gate].mean(1)[indices]
                    rows += [(layer, gate.replace("_", " "), tag, number, value) for tag, value in zip(names, means)]
    if not rows:
        raise UserError("no sentence of the treebank has words that the model's tokens spell")
    return pd.DataFrame(rows, columns=["layer", "gate", "tag", "sentence", "value"])


def by_tag(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns layer, gate, tag, words, mean, low and high: the 95 % interval of a bootstrap over sentences.

    Args:
        rows: of `gate_rows`. Tags with fewer than 20 words are left out.
    """
    results = []
    for (layer, gate, tag), group in rows.groupby(["layer", "gate", "tag"], sort=False):
        if len(group) < MIN_WORDS:
            continue
        by_sentence = group.groupby("sentence")["value"].agg(["sum", "count"]).to_numpy()
        sums = resampled_sums(by_sentence)  # [draws, 2]
        low, high = interval(sums[:, 0] / sums[:, 1])
        results.append(
            {
                "layer": layer,
                "gate": gate,
                "tag": tag,
                "words": len(group),
                "mean": group["value"].mean(),
                "low": low,
                "high": high,
            }
        )
    if not results:
        raise UserError(f"no part of speech has {MIN_WORDS} words: give a larger treebank")
    return pd.DataFrame(results)


def figure(model: str, rows: pd.DataFrame) -> Figure:
    """Returns the figure of the rows of `by_tag`."""
    base = alt.Chart().encode(y=alt.Y("tag:N", sort="-x", title=None))
    x = alt.X("mean:Q", scale=alt.Scale(domain=[0, 1]), title="mean over units and words")
    tooltip = ["tag:N", "words:Q", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high"))]
    points = base.mark_point(filled=True, size=60).encode(x=x, tooltip=tooltip)
    intervals = base.mark_rule().encode(x="low:Q", x2="high:Q")
    chart = (
        alt.layer(intervals, points)
        .properties(width=230, height=alt.Step(18))
        .facet(row=alt.Row("layer:N", title=None), column=alt.Column("gate:N", title=None), data=alt.NamedData("tags"))
    )
    return Figure(
        "gates-by-tag",
        f"Gates of {model} by part of speech",
        "The mean of each gate over the words of a part of speech, with the 95 % interval of a bootstrap over "
        "sentences. Where the intervals are apart, the gate treats the parts of speech differently.",
        chart,
        {"tags": rows},
    )
