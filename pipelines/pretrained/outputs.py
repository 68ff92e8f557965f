"""The vector of a text among the outputs of a pretrained module: one rule for frozen encoders and for trained ones."""

import keras

from layers import MaskedMeanPooling

_USUAL_OUTPUTS = ("pooled_output", "sequence_output", "default")


def text_features(handle: str, outputs, mask=None, key: str | None = None, remedy: str = ""):
    """Returns the features of texts, float [batch, features]; of vectors per token, their mean.

    Args:
        handle: what the user called the module, for messages.
        outputs: of the module: a tensor, or a dict, whose "mask" says which tokens count.
        mask: [batch, tokens], not 0 for the tokens that count, if the outputs have none.
        key: name of the output; None: a usual one.
        remedy: of an output that is not there, for messages.

    Raises:
        ValueError: no output has features, or not the one that is asked for.
    """
    if isinstance(outputs, dict):
        mask = outputs.get("mask", mask)
        outputs = outputs[_key(handle, outputs, key, remedy)]
    return mean(outputs, mask) if len(outputs.shape) == 3 else outputs


def mean(sequence, mask):
    """Returns the mean over the tokens that count: float [batch, tokens, features] -> [batch, features]."""
    return MaskedMeanPooling(name="mean")(sequence, mask=None if mask is None else keras.ops.not_equal(mask, 0))


def _key(handle: str, outputs: dict, key: str | None, remedy: str) -> str:
    usable = [name for name, output in sorted(outputs.items()) if _is_feature(output)]
    if not usable:
        raise ValueError(f"{handle} is no encoder: its outputs ({', '.join(sorted(outputs))}) are no features")
    found = key or next((name for name in _USUAL_OUTPUTS if name in usable), None)
    if found is None or found not in usable:
        problem = f"no output {found!r} with features" if found else "no output with a usual name"
        raise ValueError(f"{handle} has {problem}, only {', '.join(usable)}{remedy}")
    return found


def _is_feature(output) -> bool:
    """Whether an output is float [batch, features] or [batch, tokens, features]."""
    if not hasattr(output, "shape") or len(output.shape) not in (2, 3):
        return False
    return output.shape[-1] is not None and "float" in str(output.dtype)
