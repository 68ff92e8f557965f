"""What the charts of `inspect` share: the axis of the tokens, the marked token, and the choices of the reader."""

import altair as alt

from pipelines.text.special_tokens import WORD_START

POSITION = alt.param(name="position", value=-1)  # the marked token; page.js sets it
_MAX_WIDTH, _MIN_STEP, _MAX_STEP = 1000, 7, 40  # pixels
_SHOWN = {"\n": "⏎", " ": "␣", "\t": "⇥", WORD_START: "▁"}


def shown(token: str) -> str:
    """Returns a token as it is drawn: with a visible character for a space or a line end."""
    return _SHOWN.get(token, token) or "∅"


def step(num_tokens: int) -> int:
    """Returns the width of a token in pixels."""
    return int(max(_MIN_STEP, min(_MAX_STEP, _MAX_WIDTH / max(num_tokens, 1))))


def tokens_parameter(tokens: list[str], name: str = "tokens") -> alt.Parameter:
    """Returns the parameter from which `token_axis` takes the labels."""
    return alt.param(name=name, value=[shown(token) for token in tokens])


def token_axis(channel, tokens: list[str], field: str = "position", name: str = "tokens", title: str | None = None):
    """Returns the encoding of token positions.

    Args:
        channel: `alt.X` or `alt.Y`.
        tokens: whose number and lengths determine how the labels are drawn.
        name: of the parameter with the tokens.
    """
    is_long = any(len(shown(token)) > 2 for token in tokens[1:])
    options = {"labelAngle": -60 if is_long else 0} if channel is alt.X else {}
    options |= {"labelAlign": "right"} if channel is alt.X and is_long else {}
    axis = alt.Axis(
        labelExpr=f"{name}[datum.value]",
        labelFontSize=min(12, max(7, step(len(tokens)) - 2)),
        labelOverlap=False,
        labelLimit=110,
        ticks=False,
        domain=False,
        title=title,
        **options,
    )
    # All positions: a chart without rows of a token keeps its column.
    return channel(f"{field}:O", axis=axis, scale=alt.Scale(domain=list(range(len(tokens)))))


def choice(name: str, options: list, labels: list[str] | None = None, title: str | None = None) -> alt.Parameter:
    """Returns a parameter that the reader chooses from a list."""
    bind = alt.binding_select(
        options=options, labels=labels or [str(each) for each in options], name=title or f"{name} "
    )
    return alt.param(name=name, value=options[0], bind=bind)


def marker(data: alt.NamedData, tokens: list[str], height: int) -> alt.Chart:
    """Returns a layer that frames the marked token.

    Args:
        data: rows with the column position, one for each token.
        height: of the chart, in pixels.
    """
    return (
        alt.Chart(data)
        .transform_filter("datum.position == position")
        .mark_rect(fill=None, stroke="#e8590c", strokeWidth=2)
        .encode(x=token_axis(alt.X, tokens), y=alt.value(0), y2=alt.value(height))
    )
