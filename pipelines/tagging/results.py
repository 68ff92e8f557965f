"""The inputs and outputs of a tagger's signatures as lists. Imports no TensorFlow: a client of a server needs none."""

from collections.abc import Sequence


def format_results(texts: Sequence[str], outputs: dict[str, list]) -> list[dict]:
    """Returns the outputs of the signature serving_default as one dict per text, without padding.

    Args:
        outputs: output -> one list per text, as a server answers.

    Returns:
        {"text", "tokens", "tags", "scores", "start", "end", "sentence"}, all but the text lists with a value per token.
    """
    results = []
    for i, text in enumerate(texts):
        num_tokens = outputs["num_tokens"][i]
        columns = {name: values[i][:num_tokens] for name, values in outputs.items() if name != "num_tokens"}
        columns["scores"] = [round(score, 6) for score in columns["scores"]]
        results.append({"text": text, **columns})
    return results


def padded(sentences: Sequence[Sequence], padding="") -> list[list]:
    """Returns the sentences with `padding` after their last token, so that all have the same length."""
    length = max(map(len, sentences))
    return [[*sentence, *[padding] * (length - len(sentence))] for sentence in sentences]
