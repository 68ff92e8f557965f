"""What changes in a model's answer if something inside is set: `inspect intervene` and `inspect patch`."""

import re
from collections.abc import Iterable, Sequence

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import shown, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure
from pipelines.inspect.models import Model
from pipelines.inspect.trace import Edit, Trace
from pipelines.networks.interventions import ALL, OF_BLOCKS
from pipelines.support.errors import UserError

ROWS = 64  # texts that a model reads at once
_WIDTH = 200  # pixels of the bars: with the labels beside them, they fit on a phone
MAX_LISTED = 24  # units and heads of the ranking
_NAMES = {"hidden": "unit", "head": "head"}  # of what a number stands for
_CLAMP = re.compile(
    r"(?:(?P<layer>[a-z]+_\d+(?:_forward|_backward)?):)?(?P<kind>[a-z_]+):(?P<step>\d+|all):(?P<unit>\d+|all)"
    r"(?::(?P<key>\d+|all))?=(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
)
_SHORT = {name: f"{name}_gate" for name in ("forget", "input", "output", "update", "reset")}
EXAMPLE = "forget:all:3=1"


def parse(clamps: Iterable[str], trace: Trace) -> list[Edit]:
    """Returns the interventions that flags state: [LAYER:]KIND:STEP:UNIT[:KEY]=VALUE. Without a layer, all are meant.

    Raises:
        UserError: one has another form, or names what the model does not have.
    """
    edits = []
    for given in clamps:
        match = _CLAMP.fullmatch(given.replace(" ", ""))
        if not match:
            raise UserError(
                f"{given}: expected KIND:STEP:UNIT=VALUE, such as {EXAMPLE}, or LAYER:KIND:STEP:UNIT=VALUE; "
                "steps and units count from 0, and `all` means all"
            )
        kind = _SHORT.get(match["kind"], match["kind"])
        known = layers_of(trace, kind)
        layers = [match["layer"]] if match["layer"] else known
        if not known or not set(layers) <= set(known):
            have = "; ".join(f"{layer}: {', '.join(sorted(kinds))}" for layer, kinds in kinds_of(trace).items())
            raise UserError(f"{given}: {trace.model} does not have it. It has {have}")
        place = {name: ALL if match[name] in (None, "all") else int(match[name]) for name in ("step", "unit", "key")}
        for layer in layers:
            _check_place(given, trace, layer, kind, place)
            edits.append(Edit(layer, kind, place["unit"], place["step"], place["key"], float(match["value"])))
    return edits


def kinds_of(trace: Trace) -> dict[str, list[str]]:
    """Returns layer -> what can be set in it."""
    return {
        layer: [*values, *(OF_BLOCKS[1:] if layer in trace.attention else ())]
        for layer, values in trace.recurrent.items()
    }


def layers_of(trace: Trace, kind: str) -> list[str]:
    """Returns the layers in which a kind can be set."""
    return [layer for layer, kinds in kinds_of(trace).items() if kind in kinds]


def _check_place(given: str, trace: Trace, layer: str, kind: str, place: dict[str, int]) -> None:
    """Raises a UserError if a layer has no such step, unit or key."""
    num_steps = len(trace.tokens_of(layer))
    of_heads = kind in ("attention", "head")
    num_units = len(trace.attention[layer].weights) if of_heads else trace.recurrent[layer]["hidden"].shape[1]
    sizes = {"step": num_steps, "key": num_steps, "unit": num_units}
    for name, size in sizes.items():
        if place[name] >= size:
            called = "head" if name == "unit" and of_heads else name
            raise UserError(f"{given}: {layer} has {size} {called}s, numbered from 0: there is no {place[name]}")


def ask(model: Model, text: str, rows: Sequence[Sequence[Edit]]) -> list[Trace]:
    """Returns the trace of a text with the interventions of each row."""
    found: list[Trace] = []
    for first in range(0, len(rows), ROWS):
        found += model.intervene(text, rows[first : first + ROWS])
    return found


def answer(model: Model, trace: Trace) -> dict[str, float]:
    """Returns the answer as numbers: probability of each label, of each tag, or of the tokens that may come next."""
    outputs = trace.outputs
    if "probabilities" in outputs:
        return dict(zip(model.card["classes"], map(float, outputs["probabilities"]), strict=True))
    if "tags" in outputs:
        tokens = trace.tokens_of("layer_1")
        rows = zip(tokens, outputs["tags"], outputs["scores"])
        return {f"{i} {shown(token)}: {_text(tag)}": float(score) for i, (token, tag, score) in enumerate(rows)}
    last = zip(outputs["next_tokens"][-1], outputs["next_probabilities"][-1])
    return {shown(_text(token)): float(probability) for token, probability in last}


def difference(before: dict[str, float], after: dict[str, float]) -> float:
    """Returns by how much the number changes that changes most; what one answer lacks is 0 there."""
    return max(abs(after.get(name, 0.0) - before.get(name, 0.0)) for name in {*before, *after})


def changes(before: dict[str, float], after: dict[str, float]) -> pd.DataFrame:
    """Returns answer, before, after and change, the largest change first."""
    rows = [(name, before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}]
    found = pd.DataFrame(rows, columns=["answer", "before", "after"])
    found["change"] = found["after"] - found["before"]
    order = found["change"].abs().sort_values(ascending=False, kind="stable").index
    return found.loc[order].reset_index(drop=True)


def change_figure(title: str, found: pd.DataFrame, clamps: Sequence[str]) -> Figure:
    """Returns the figure of `changes`: before and after, side by side."""
    listed = found.head(MAX_LISTED)
    long = listed.melt(["answer"], ["before", "after"], "when", "probability")
    chart = (
        alt.Chart(alt.NamedData("answers"))
        .mark_bar()
        .encode(
            y=alt.Y("answer:N", sort=listed["answer"].tolist(), title=None),
            yOffset=alt.YOffset("when:N", sort=["before", "after"]),
            x=alt.X("probability:Q", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "when:N",
                sort=["before", "after"],
                scale=alt.Scale(range=["#adb5bd", "#1c7ed6"]),
                title=None,
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["answer:N", "when:N", alt.Tooltip("probability:Q", format=".4f")],
        )
        .properties(width=_WIDTH, height=alt.Step(14))
    )
    return Figure(
        "intervene",
        f"{title}: the answer before and after",
        f"What is set: {', '.join(clamps)}. Grey is the model's answer, blue the answer that it computes with it.",
        chart,
        {"answers": long},
        table=found,
    )


def ablations(trace: Trace) -> list[Edit]:
    """Returns the interventions that take out one thing each: a unit of a recurrent layer, or a head."""
    edits = []
    for layer, values in trace.recurrent.items():
        if layer in trace.attention:
            edits += [Edit(layer, "head", head, ALL, ALL, 0.0) for head in range(len(trace.attention[layer].weights))]
            edits += [Edit(layer, kind, ALL, ALL, ALL, 0.0) for kind in ("attention_output", "feed_forward_output")]
        else:
            edits += [Edit(layer, "hidden", unit, ALL, ALL, 0.0) for unit in range(values["hidden"].shape[1])]
    return edits


def ranking(model: Model, text: str, trace: Trace) -> pd.DataFrame:
    """Returns layer, what is taken out, and the change of the answer, the largest first."""
    edits, before = ablations(trace), answer(model, trace)
    after = [answer(model, each) for each in ask(model, text, [[edit] for edit in edits])]
    rows = [
        (edit.layer, edit.kind if edit.unit == ALL else f"{_NAMES[edit.kind]} {edit.unit}", difference(before, each))
        for edit, each in zip(edits, after, strict=True)
    ]
    found = pd.DataFrame(rows, columns=["layer", "without", "change"])
    return found.sort_values("change", ascending=False, kind="stable").reset_index(drop=True)


def ranking_figure(title: str, found: pd.DataFrame) -> Figure:
    """Returns the figure of `ranking`."""
    listed = found.head(MAX_LISTED)
    listed = listed.assign(place=listed["layer"] + ", " + listed["without"])
    chart = (
        alt.Chart(alt.NamedData("ranking"))
        .mark_bar(color="#1c7ed6")
        .encode(
            y=alt.Y("place:N", sort=listed["place"].tolist(), title=None, axis=alt.Axis(labelLimit=300)),
            x=alt.X("change:Q", title="change of the answer"),
            tooltip=["place:N", alt.Tooltip("change:Q", format=".4f")],
        )
        .properties(width=_WIDTH, height=alt.Step(16))
    )
    return Figure(
        "intervene",
        f"{title}: what the answer rests on",
        "Each bar is one run of the model in which one thing is taken out: a unit of a recurrent layer stays 0 at all "
        "steps, or a head or a sublayer adds nothing. Its length is the largest change of a probability of the answer.",
        chart,
        {"ranking": listed},
        table=found,
    )


def patches(trace: Trace, other: Trace) -> list[tuple[str, int, list[Edit]]]:
    """Returns (layer, step, interventions): the state of a layer at one step becomes that of the other text."""
    found = []
    for layer, values in other.recurrent.items():
        names = [name for name in ("hidden", "cell") if name in values]
        for at in range(min(len(values["hidden"]), len(trace.recurrent[layer]["hidden"]))):
            edits = [
                Edit(layer, name, unit, at, ALL, float(value))
                for name in names
                for unit, value in enumerate(values[name][at])
            ]
            found.append((layer, at, edits))
    return found


def restored(text: dict[str, float], other: dict[str, float], patched: dict[str, float]) -> float:
    """Returns how far an answer has gone from that of the text, 0, to that of the other one, 1.

    (p - a) (b - a) / |b - a|^2 for the probabilities a of the text, b of the other one and p of the patched text.
    """
    names = sorted({*text, *other, *patched})
    a, b, p = (np.array([each.get(name, 0.0) for name in names]) for each in (text, other, patched))
    return float((p - a) @ (b - a) / max(1e-12, float((b - a) @ (b - a))))


def patching(model: Model, text: str, trace: Trace, other: Trace) -> pd.DataFrame:
    """Returns layer, position, token, its token in the other text, and `restored`, for each layer and step."""
    places = patches(trace, other)
    before, wanted = answer(model, trace), answer(model, other)
    after = ask(model, text, [edits for _, _, edits in places])
    rows = []
    for (layer, at, _), each in zip(places, after, strict=True):
        tokens = trace.tokens_of(layer)[at], other.tokens_of(layer)[at]
        rows.append((layer, at, *tokens, restored(before, wanted, answer(model, each))))
    return pd.DataFrame(rows, columns=["layer", "position", "token", "other token", "restored"])


def patching_figure(title: str, tokens: list[str], found: pd.DataFrame) -> Figure:
    """Returns the figure of `patching`: layers over tokens."""
    chart = (
        alt.Chart(alt.NamedData("patch"))
        .mark_rect()
        .encode(
            x=token_axis(alt.X, tokens),
            y=alt.Y("layer:N", title=None, sort=None),
            color=alt.Color(
                "restored:Q",
                title="restored",
                scale=alt.Scale(scheme="redblue", domain=[-1, 1], clamp=True),
            ),
            tooltip=["layer:N", "position:Q", "token:N", "other token:N", alt.Tooltip("restored:Q", format=".3f")],
        )
        .properties(width=alt.Step(max(step(tokens), 28)), height=alt.Step(34))
        .add_params(tokens_parameter(tokens))
    )
    return Figure(
        "patch",
        f"{title}: where the other text comes in",
        "Each field is one run of the model in which the state of a layer at a token is that of the other text at the "
        "same place. 1 (blue): the answer is that of the other text; 0 (white): that of the text; red: further away.",
        chart,
        {"patch": found},
    )


def _text(value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
