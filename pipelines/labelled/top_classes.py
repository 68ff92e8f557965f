"""The most probable classes of a text by their names, as the signature `serving_default` of a classifier has them."""

from collections.abc import Iterable, Sequence

NUM_TOP = 5  # classes in `top_labels`, and in what `predict` prints


def by_probability(names: Sequence[str], probabilities: Iterable[float], k: int | None = None) -> dict[str, float]:
    """Returns the k most probable classes of a text, name -> probability, the most probable one first; None: all.

    Of equal probabilities, the first class comes first, as in `top_labels`.
    """
    pairs = sorted(zip(names, probabilities, strict=True), key=lambda pair: -pair[1])  # sorting is stable
    return {name: round(float(probability), 6) for name, probability in pairs[:k]}


def runners_up(result: dict) -> str:
    """Returns the most probable classes but the label, for a line on the terminal.

    It is "" where they say nothing new: of numbers, of two classes, and of several labels for a text.

    Args:
        result: of a text, from `predict_texts`; of a server, "probabilities" has the most probable classes alone.
    """
    probabilities = result.get("probabilities", {})
    if "label" not in result or len(probabilities) < 3:
        return ""
    top = list(probabilities.items())[:NUM_TOP]
    return ", ".join(f"{name} {probability:.3f}" for name, probability in top if name != result["label"])
