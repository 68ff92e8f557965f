"""What a model computed for a text, in the form from which all figures are drawn."""

import dataclasses
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipelines.support.errors import UserError

GATES = ("forget_gate", "input_gate", "output_gate", "update_gate", "reset_gate")
_NAME = re.compile(
    r"(?P<layer>(?P<part>layer|encoder|decoder)_\d+)(?P<direction>_forward|_backward)?"
    rf"_(?P<quantity>hidden|cell|candidate|{'|'.join(GATES)}|(?:self_)?attention)"
)
ATTENTION = ("attention", "self_attention")


@dataclasses.dataclass(frozen=True)
class Attention:
    """Attention weights of a layer.

    Attributes:
        weights: float [heads, queries, keys].
        queries, keys: the tokens.
        is_cross: whether the keys are another text than the queries.
    """

    weights: np.ndarray
    queries: list[str]
    keys: list[str]
    is_cross: bool


@dataclasses.dataclass(frozen=True)
class Trace:
    """What a model computed for one text.

    Attributes:
        model: name and version of the export, such as "char-lm/1".
        tokens: of the text that is shown: "layer" and "encoder" name the source; "decoder" what each step writes.
        recurrent: layer, such as "layer_1" or "layer_1_backward" -> quantity, such as "hidden" -> float [time, units].
        attention: layer, such as "decoder_1", or "decoder_1 (self)" -> its weights.
        outputs: the other outputs of the signature, such as "log_probabilities", without padding.
        cut: whether the text is longer than what was read.
    """

    model: str
    tokens: Mapping[str, list[str]]
    recurrent: Mapping[str, Mapping[str, np.ndarray]]
    attention: Mapping[str, Attention]
    outputs: Mapping[str, np.ndarray]
    cut: bool

    def tokens_of(self, layer: str) -> list[str]:
        """Returns the tokens at the positions of a layer."""
        return self.tokens[layer.split("_")[0]]

    def layers(self, quantity: str | tuple[str, ...] = "hidden") -> list[str]:
        """Returns the recurrent layers that have a quantity, or one of several."""
        wanted = (quantity,) if isinstance(quantity, str) else quantity
        return [layer for layer, values in self.recurrent.items() if any(name in values for name in wanted)]


class Edit(NamedTuple):
    """An intervention, see networks/interventions.py."""

    layer: str
    kind: str
    unit: int
    step: int
    key: int
    value: float


def traces(model: str, outputs: Mapping[str, np.ndarray]) -> list[Trace]:
    """Returns the trace of each text from the outputs of the signature `trace`.

    Args:
        model: name and version of the export.
        outputs: name -> array [batch, ...], strings as bytes or str.
    """
    return [_trace_of_row(model, outputs, row) for row in range(len(outputs["cut"]))]


def _trace_of_row(model, outputs, row) -> Trace:
    has_target = "target_tokens" in outputs
    if has_target:
        lengths = {"encoder": int(outputs["source_lengths"][row]), "decoder": int(outputs["target_lengths"][row])}
        names = {"encoder": "source_tokens", "decoder": "target_tokens"}
    else:
        lengths, names = {"layer": int(outputs["lengths"][row])}, {"layer": "tokens"}
    tokens = {part: _strings(outputs[name][row][: lengths[part]]) for part, name in names.items()}
    recurrent, attention, others = {}, {}, {}
    for name, values in outputs.items():
        match = _NAME.fullmatch(name)
        if not match:
            others[name] = values[row]
            continue
        part, quantity = match["part"], match["quantity"]
        if quantity in ATTENTION:
            layer, each = _attention(match["layer"], part, quantity, values[row], tokens, has_target)
            attention[layer] = each
        else:
            layer = match["layer"] + (match["direction"] or "")
            recurrent.setdefault(layer, {})[quantity] = np.asarray(values[row][: lengths[part]])
    length = lengths["decoder" if has_target else "layer"]
    by_token = ("log_probabilities", "next_tokens", "next_probabilities", "features", "tags", "scores")
    for name in by_token:
        if name in others and np.ndim(others[name]) and not (name == "features" and np.ndim(others[name]) == 1):
            others[name] = others[name][:length]
    return Trace(
        model,
        tokens,
        dict(sorted(recurrent.items(), key=lambda item: _order(item[0]))),
        dict(sorted(attention.items(), key=lambda item: _order(item[0]))),
        others,
        bool(others.pop("cut")),
    )


def _attention(layer, part, quantity, weights, tokens, has_target) -> tuple[str, Attention]:
    is_cross = has_target and part == "decoder" and quantity == "attention"
    if not has_target or part == "encoder":
        queries = keys = tokens[part]
    elif is_cross:
        queries, keys = tokens["decoder"], tokens["encoder"]
    else:  # a decoder reads its own tokens one step after it has written them
        queries = keys = ["<start>", *tokens["decoder"][:-1]]
    name = f"{layer} (self)" if has_target and part == "decoder" and not is_cross else layer
    return name, Attention(np.asarray(weights)[:, : len(queries), : len(keys)], queries, keys, is_cross)


def _order(layer: str) -> tuple:
    part, number, *rest = re.split(r"[_ ]", layer)
    return ("layer", "encoder", "decoder").index(part), int(number), rest


def _strings(values) -> list[str]:
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values]


def require_gates(trace: Trace) -> None:
    """Checks that a model has gates.

    Raises:
        UserError: it has none.
    """
    if not trace.layers(GATES):
        kind = "attention, not gates: use `inspect attention`" if trace.attention else "no gates: a simple RNN has none"
        raise UserError(f"{trace.model} has {kind}")
