"""What the charts of `inspect` share: the axis of the tokens, the marked token, and the choices of the reader."""

import unicodedata

import altair as alt
import numpy as np

from pipelines.text.special_tokens import WORD_START

MARKED = alt.param(name="marked", value=[])  # positions of the marked tokens; the page sets it
IS_MARKED = "indexof(marked, datum.position) >= 0"
_MAX_WIDTH, _MIN_STEP, _MAX_STEP = 1000, 13, 40  # pixels; of more tokens than fit, the figure is wider and scrolls
_LETTER = 8, 16  # pixels: width and height that a letter of 11 pixels takes at most
_ANY_STEP = 26  # pixels, for tokens that are not known here
_SHOWN = {"\n": "⏎", " ": "␣", "\t": "⇥", WORD_START: "▁"}


def shown(token: str) -> str:
    """Returns a token as it is drawn and printed: with visible white space and control characters.

    serving/page/trace.js has it for spaces, tabs and line ends.
    """
    return "".join(_SHOWN.get(character) or _escaped(character) for character in token) or "∅"


def _escaped(character: str) -> str:
    hidden = character.isspace() or unicodedata.category(character) == "Cc"
    return character.encode("unicode_escape").decode() if hidden else character


def step(tokens: list[str] | None) -> int:
    """Returns the width of a token in pixels. tokens: None if they are not known."""
    if tokens is None:
        return _ANY_STEP
    return int(max(_MIN_STEP, min(_MAX_STEP, _MAX_WIDTH / max(len(tokens), 1))))


def tokens_parameter(tokens: list[str] | None, name: str = "tokens") -> alt.Parameter:
    """Returns the parameter from which `token_axis` takes the labels. tokens: None if the page sets it."""
    return alt.param(name=name, value=[shown(token) for token in tokens or []])


def token_axis(
    channel, tokens: list[str] | None, field: str = "position", name: str = "tokens", title: str | None = None
):
    """Returns the encoding of token positions.

    Args:
        channel: `alt.X` or `alt.Y`.
        tokens: whose number and lengths determine how the labels are drawn; None for labels that suit any tokens.
        name: of the parameter with the tokens.
    """
    is_long = tokens is None or any(len(shown(token)) > 2 for token in tokens[1:])
    options = {"labelAngle": -60 if is_long else 0} if channel is alt.X else {}
    options |= {"labelAlign": "right"} if channel is alt.X and is_long else {}
    axis = alt.Axis(
        labelExpr=f"{name}[datum.value]",
        labelFontSize=min(12, step(tokens) - 2),
        labelOverlap=False,
        labelLimit=110,
        ticks=False,
        domain=False,
        title=title,
        **options,
    )
    # All positions: a chart without rows of a token keeps its column.
    return channel(f"{field}:O", axis=axis, scale=alt.Scale(domain=alt.expr(f"sequence(length({name}))")))


def labels_that_fit(x: np.ndarray, y: np.ndarray, texts: list[str], width: int, height: int) -> list[str]:
    """Returns the labels of points, "" for one that would cover an earlier one.

    Args:
        x, y: float [n], the places of the points.
        texts: label of each, drawn at its right.
        width, height: of the chart in pixels, over which the points spread.
    """
    spread = [max(np.ptp(values), 1e-12) for values in (x, y)]
    left, top = (x - x.min()) / spread[0] * width, (y - y.min()) / spread[1] * height
    kept: list[int] = []
    labels = [""] * len(texts)
    for i, text in enumerate(texts):
        others = [j for j in kept if abs(top[i] - top[j]) < _LETTER[1]]
        if all(
            left[i] + _LETTER[0] * len(text) < left[j] or left[j] + _LETTER[0] * len(texts[j]) < left[i] for j in others
        ):
            kept.append(i)
            labels[i] = text
    return labels


def above_zero(chart: alt.Chart, field: str) -> alt.Chart:
    """Returns a chart for a logarithmic scale: one 0 on such a scale leaves no room for the other numbers."""
    return chart.transform_filter(f"datum.{field} > 0")


def choice(name: str, options: list, labels: list[str] | None = None, title: str | None = None) -> alt.Parameter:
    """Returns a parameter that the reader chooses from a list."""
    bind = alt.binding_select(
        options=options, labels=labels or [str(each) for each in options], name=title or f"{name} "
    )
    return alt.param(name=name, value=options[0], bind=bind)


def marker(tokens: list[str] | None) -> alt.Chart:
    """Returns a layer that frames the marked tokens over the height of the chart.

    Its dataset is "tokens": rows with the column position, one for each token.
    """
    return (
        alt.Chart(alt.NamedData("tokens"))
        .transform_filter(IS_MARKED)
        .mark_rect(fill=None, stroke="#e8590c", strokeWidth=2)
        .encode(x=token_axis(alt.X, tokens), y=alt.value(0), y2=alt.value("height"))
    )


def marked_rule(tokens: list[str]) -> alt.Chart:
    """Returns a layer with a line at the marked tokens. The chart around it has the data, with the column position."""
    return alt.Chart().transform_filter(IS_MARKED).mark_rule(color="#e8590c").encode(x=token_axis(alt.X, tokens))
