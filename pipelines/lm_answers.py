"""Answers of an exported language model: `evaluate` and `predict` of the command line."""

import numpy as np

from pipelines import predicting
from pipelines.data import sources, texts
from pipelines.errors import UserError
from pipelines.models import Exported

_MOST_TOKENS = 10_000  # that the export draws for one request


def evaluate(exported: Exported, data: str | None) -> dict:
    """Measures an exported model on a text, read in one stream from start to end.

    Args:
        data: a text file, or the name of a corpus; None is the sample, for a model that was trained on one.

    Returns:
        `char_lm.measures` with "model" and "data".

    Raises:
        UserError: not readable, or empty.
    """
    card = exported.card()
    if data is None and not card["sample"]:
        raise UserError(f"{exported.title} was trained on a text of its own: give one to measure it on with --data")
    loaded = predicting.load(exported)
    import tensorflow as tf

    from pipelines import char_lm, streams, text

    characters, ids = 0, []
    for chunk in streams.chunks(texts.pieces(data)):
        characters += len(chunk)
        ids.append(loaded.signatures["encode"](text=tf.constant([chunk]))["ids"].numpy()[0])
    if not characters:
        raise UserError(f"{data} is empty")
    ids = np.concatenate(ids)
    losses = loaded.signatures["token_losses"](ids=tf.constant(ids[None]))["losses"].numpy()
    measures = char_lm.measures(losses, characters, int((ids == text.UNKNOWN).sum()))
    return {"model": exported.title, "data": sources.name(data)} | measures


def table(measures: dict) -> str:
    """The measures as text for a terminal."""
    lines = [f"{measures['model']} on {measures['data']}: {measures['tokens']:,} tokens, {measures['characters']:,} characters", ""]
    values = {
        "loss, nats per token": f"{measures['loss']:.4f}",
        "perplexity": f"{measures['perplexity']:.3f}",
        "bits per character": f"{measures['bits_per_character']:.4f}",
    }
    lines += [f"  {name:<24}{value}" for name, value in values.items()]
    if measures["unknown_tokens"]:
        lines.append(f"  {measures['unknown_tokens']:,} tokens are not in the vocabulary, and count as the unknown one")
    return "\n".join(lines)


def continue_texts(exported: Exported, prompts: list[str], **knobs) -> list[dict]:
    """One dict per prompt: "prompt", "text", "log_probability", "tokens", "note" where something is odd.

    Args:
        knobs: max_length, temperature, top_k, top_p, seed and stop; those that are None take the card's defaults.

    Raises:
        UserError: a knob that cannot be.
    """
    from pipelines.text import UNKNOWN

    knobs = knobs_of(exported.card()["generation_defaults"], knobs)
    loaded = predicting.load(exported)
    import tensorflow as tf

    generate = loaded.signatures["generate"]
    dtypes = {spec.name: spec.dtype for spec in tf.nest.flatten(generate.structured_input_signature)}
    text = tf.constant([prompt.encode("utf-8", "surrogatepass") for prompt in prompts])
    inputs = {name: tf.fill([len(prompts)], tf.constant(value, dtypes[name])) for name, value in knobs.items()}
    outputs = {name: value.numpy() for name, value in generate(text=text, **inputs).items()}
    ids = loaded.signatures["encode"](text=text)["ids"].numpy()
    results = []
    for i, prompt in enumerate(prompts):
        result = {"prompt": prompt, "text": outputs["text"][i].decode()}
        result |= {"log_probability": round(float(outputs["log_probability"][i]), 4), "tokens": int(outputs["tokens"][i])}
        unknown = int((ids[i] == UNKNOWN).sum())
        results.append(result | ({"note": f"{unknown} of the prompt's tokens were never seen in training"} if unknown else {}))
    return results


def knobs_of(defaults: dict, given: dict) -> dict:
    """What to ask `generate` with: the given knobs, and the defaults for those that are None.

    Raises:
        UserError: a knob that cannot be.
    """
    from pipelines.configs.base import require

    knobs = defaults | {"stop": ""} | {name: value for name, value in given.items() if value is not None}
    require(0 <= knobs["max_length"] <= _MOST_TOKENS, "max_length", knobs["max_length"], f"from 0 to {_MOST_TOKENS:,}")
    require(knobs["temperature"] >= 0, "temperature", knobs["temperature"], "0, for the likeliest text, or more")
    require(knobs["top_k"] >= 0, "top_k", knobs["top_k"], "0, for all tokens, or more")
    require(0 < knobs["top_p"] <= 1, "top_p", knobs["top_p"], "above 0 and at most 1")
    require(0 <= knobs["seed"] < 2**31, "seed", knobs["seed"], "from 0 to 2147483647")
    return knobs
