"""`inspect neurons`: units of a character model that follow something one can name.

Source: Karpathy, Johnson and Fei-Fei 2015, "Visualizing and Understanding Recurrent Networks", figure 2.
"""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import choice, shown
from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import Trace
from pipelines.support.errors import UserError

_COLUMNS = 90  # characters per line of the picture
_SHOWN_CHARACTERS = 1200
_MIN_SHARE = 0.01  # of the characters on which a feature is true or false


def features(text: str) -> dict[str, np.ndarray]:
    """Returns feature -> its value after each character of a text, float [characters].

    quote: inside of double quotes; parentheses: inside of them; line: characters since the line end; word: characters
    since the last space; capital: in a word that starts with a capital; digit: a digit; vowel: a vowel.
    """
    depth, in_quote, column, in_word, capital = 0, False, 0, 0, False
    rows = []
    for character in text:
        depth = max(0, depth + (character == "(") - (character == ")"))
        in_quote ^= character == '"'
        column = 0 if character == "\n" else column + 1
        if character.isspace():
            in_word, capital = 0, False
        else:
            capital = character.isupper() if in_word == 0 else capital
            in_word += 1
        rows.append((in_quote, depth > 0, column, in_word, capital, character.isdigit(), character.lower() in "aeiou"))
    names = ("quote", "parentheses", "line", "word", "capital", "digit", "vowel")
    return dict(zip(names, np.array(rows, float).reshape(-1, len(names)).T, strict=True))


def correlations(states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns the correlation of each unit's state with a feature, float [units]; 0 for a constant.

    Args:
        states: float [n, units].
        values: float [n].
    """
    states, values = states - states.mean(0), values - values.mean()
    sizes = np.linalg.norm(states, axis=0) * np.linalg.norm(values)
    return np.divide(states.T @ values, sizes, out=np.zeros(states.shape[1]), where=sizes > 0)


def best_units(traces: list[Trace], texts: list[str]) -> pd.DataFrame:
    """Returns layer, state, feature, unit, found and correlation: for each feature the unit that follows it best.

    The units are found by their correlation with the feature in every other text (`found`), and measured in the rest.

    Args:
        traces: of a character model, whose first token is <start>.
        texts: their texts.

    Raises:
        UserError: the model has no recurrent layer, or its tokens are not characters.
    """
    if not traces[0].layers():
        raise UserError(f"{traces[0].model} has no recurrent layer, so it has no such units")
    for trace, text in zip(traces, texts, strict=True):
        if len(trace.tokens["layer"]) - 1 > len(text) or any(len(token) > 1 for token in trace.tokens["layer"][1:]):
            raise UserError(f"{trace.model} reads words: `inspect neurons` needs a model of characters (train char-lm)")
    read = [text[: len(trace.tokens["layer"]) - 1] for trace, text in zip(traces, texts, strict=True)]
    values = {}
    for text in read:
        for name, each in features(text).items():
            values.setdefault(name, []).append(each)
    values = {name: np.concatenate(each) for name, each in values.items()}
    is_first = np.concatenate([np.full(len(text), number % 2 == 0) for number, text in enumerate(read)])
    values = {
        name: each
        for name, each in values.items()
        if min(each[is_first].std(), each[~is_first].std()) > 0 and (each > 0).mean() >= _MIN_SHARE
    }
    rows = []
    for layer in traces[0].layers():
        for state in ("cell", "hidden"):
            if state not in traces[0].recurrent[layer]:
                continue
            states = np.concatenate([trace.recurrent[layer][state][1:] for trace in traces])
            for name, each in values.items():
                found = correlations(states[is_first], each[is_first])
                unit = int(np.abs(found).argmax())
                measured = correlations(states[~is_first, unit : unit + 1], each[~is_first])[0]
                rows.append(
                    {
                        "layer": layer,
                        "state": state,
                        "feature": name,
                        "unit": unit,
                        "found": float(found[unit]),
                        "correlation": float(measured),
                    }
                )
    best = pd.DataFrame(rows).sort_values("found", key=np.abs, ascending=False, kind="stable")
    return best.drop_duplicates("feature").reset_index(drop=True)


def figures(traces: list[Trace], texts: list[str]) -> list[Figure]:
    """Returns the figure: the text, coloured by the unit that follows a feature best, for each feature."""
    units = best_units(traces, texts)
    data = {"characters": character_rows(traces, texts, units), "units": units}
    names = list(units["feature"])
    labels = [
        f"{row.feature}: unit {row.unit} of {row.layer}, {row.state}, correlation {row.correlation:.2f}"
        for row in units.itertuples()
    ]
    cells = alt.Chart(alt.NamedData("characters")).transform_filter("datum.feature == quantity")
    x, y = alt.X("column:O", axis=None), alt.Y("line:O", axis=None)
    color = alt.Scale(domain=[-2, 2], clamp=True, scheme="redblue", reverse=True)
    background = cells.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color("value:Q", scale=color, title="standard deviations"),
        tooltip=["character:N", alt.Tooltip("value:Q", format=".2f")],
    )
    on_dark = alt.condition("abs(datum.value) > 1.2", alt.value("#ffffff"), alt.value("#111111"))
    letters = cells.mark_text(font="monospace", fontSize=12).encode(x=x, y=y, text="character:N", fill=on_dark)
    text = (background + letters).properties(width=alt.Step(11), height=alt.Step(18))
    bars = (
        alt.Chart(alt.NamedData("units"))
        .mark_bar()
        .encode(
            x=alt.X("correlation:Q", scale=alt.Scale(domain=[-1, 1])),
            y=alt.Y("feature:N", sort=None, title=None),
            tooltip=["feature:N", "layer:N", "state:N", "unit:O", alt.Tooltip("correlation:Q", format=".2f")],
        )
        .properties(width=400, title="the unit that follows each feature best")
    )
    chart = alt.vconcat(text, bars).resolve_scale(x="independent", y="independent", color="independent")
    chart = chart.add_params(choice("quantity", names, labels, "feature "))
    return [
        Figure(
            "neurons",
            f"Units of {traces[0].model} that follow a feature",
            "Each character is coloured by the state of one unit after it, in standard deviations from its mean. The "
            "units were found in one half of the text; their correlation is measured in the other half.",
            chart,
            data,
            table=units,
        )
    ]


def character_rows(traces: list[Trace], texts: list[str], units: pd.DataFrame) -> pd.DataFrame:
    """Returns feature, line, column, character and value, the standardized state of the feature's unit."""
    frames = []
    for row in units.itertuples():
        states = [trace.recurrent[row.layer][row.state][1:, row.unit] for trace in traces]
        mean, deviation = np.concatenate(states).mean(), max(np.concatenate(states).std(), 1e-9)
        line, column, left = 0, 0, _SHOWN_CHARACTERS
        rows = []
        for text, values in zip(texts, states, strict=True):
            for character, value in zip(text[: min(len(values), left)], values):
                rows.append((line, column, shown(character), (value - mean) / deviation))
                line, column = (line + 1, 0) if character == "\n" or column == _COLUMNS - 1 else (line, column + 1)
            left -= min(len(text), len(values))
            if left <= 0:
                break
        frame = pd.DataFrame(rows, columns=["line", "column", "character", "value"])
        frames.append(frame.assign(feature=row.feature))
    return pd.concat(frames, ignore_index=True)
