"""Why this label: the words that speak for and against it, as an exported model weighs them."""


from pipelines.errors import UserError
from pipelines.models import Exported

_STRONGEST = 5  # that the summary names on either side
_FOR, _AGAINST, _PLAIN = "\033[32m", "\033[31m", "\033[0m"
_BOLD = "\033[1m"


def explain_texts(exported: Exported, texts: list[str]) -> list[dict]:
    """One dict per text: those of `predicting.predict_texts`, and "weights": [[piece, weight], ...] in the text's order.

    A weight is what the label's log-odds lose when the piece is deleted: positive for what speaks for the label.

    Raises:
        UserError: the model has no such signature.
    """
    from pipelines import predicting

    loaded = predicting.load(exported)
    results = predicting.predict_texts(exported, texts, loaded)
    if "explain" not in loaded.signatures:
        raise UserError(f"{exported.title} was exported without explanations: train it again, or leave out --explain")
    import tensorflow as tf

    for result in results:
        text = tf.constant([result["text"].encode("utf-8", "surrogatepass")])
        outputs = loaded.signatures["explain"](text=text)
        pieces, weights = outputs["pieces"].numpy()[0], outputs["weights"].numpy()[0]
        result["weights"] = [[piece.decode(), round(float(w), 4)] for piece, w in zip(pieces, weights, strict=True)]
    return results


def marked(result: dict, color: bool) -> str:
    """The text with its strong words marked, and a line for each side that names the strongest."""
    weights = result["weights"]
    strong = 0.2 * max((abs(w) for _, w in weights), default=0.0)
    lines = []
    if color:
        shown = [f"{_BOLD}{_FOR if w > 0 else _AGAINST}{piece}{_PLAIN}" if abs(w) > strong else piece for piece, w in weights]
        lines.append(" ".join(shown))
    for side, sign in (("for", 1), ("against", -1)):
        strongest = sorted(((piece, w) for piece, w in weights if sign * w > 0), key=lambda item: -abs(item[1]))[:_STRONGEST]
        listed = ", ".join(f"{piece} {w:+.2f}" for piece, w in strongest) or "nothing"
        lines.append(f"{side:<8} {listed}")
    return "\n".join(f"    {line}" for line in lines)
