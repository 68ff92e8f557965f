"""How likely given translations are: `predict nmt TEXT --reference TRANSLATION`."""

import math

from pipelines.command_line import ServedModelFlags
from pipelines.export.exported import Exported


def score_pairs(exported: Exported, texts: list[str], translations: list[str], loaded=None) -> list[dict]:
    """Scores a translation of each text.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per pair: "text"; "translation"; "log_probability" in nats, with the end token; "tokens"; "perplexity"
        per token; "surprisal": [[token, bits], ...], where the export gives them.
    """
    loaded = loaded or exported.load()  # kept as long as its signatures are used
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor

    def tensor(values):
        return tf.constant([value.encode("utf-8", "surrogatepass") for value in values])

    with capture_stderr_descriptor():  # the first call may print lines about oneDNN
        scored = loaded.signatures["score"](text=tensor(texts), translation=tensor(translations))
    outputs = {name: value.numpy() for name, value in scored.items()}
    if "target_tokens" in outputs:
        outputs["target_tokens"] = [[token.decode() for token in row] for row in outputs["target_tokens"]]
    return _results(texts, translations, outputs)


def score_pairs_on_server(
    server: ServedModelFlags, model: str, texts: list[str], translations: list[str]
) -> list[dict]:
    """As `score_pairs`, with a model on a server.

    Raises:
        UserError: the server does not answer.
    """
    return _results(texts, translations, server.ask(model, {"text": texts, "translation": translations}, "score"))


def format_scores(results: list[dict]) -> str:
    """Returns for each pair its tokens with their surprisal in bits, and a line of measures."""
    lines = []
    for result in results:
        tokens = " ".join(f"{token}({bits:.1f})" for token, bits in result.get("surprisal", []))
        lines.append(f"{result['text']} -> {tokens or result['translation']}")
        lines.append(
            f"  log-probability {result['log_probability']:.3f}   perplexity {result['perplexity']:.2f}   "
            f"{result['tokens']} tokens with the end token"
        )
    if len(results) > 1 and len({result["text"] for result in results}) == 1:
        best = max(results, key=lambda result: result["log_probability"])
        lines.append(f"the most probable: {best['translation']}")
    return "\n".join(lines)


def _results(texts: list[str], translations: list[str], outputs: dict) -> list[dict]:
    results = []
    for i, (text, translation) in enumerate(zip(texts, translations, strict=True)):
        total, count = float(outputs["log_probability"][i]), int(outputs["tokens"][i])
        result = {
            "text": text,
            "translation": translation,
            "log_probability": round(total, 4),
            "tokens": count,
            "perplexity": round(math.exp(min(-total / count, 700)), 4),
        }
        if "target_tokens" in outputs:  # exports of earlier versions do not have them
            pairs = zip(outputs["target_tokens"][i][:count], outputs["token_log_probabilities"][i][:count], strict=True)
            result["surprisal"] = [[token, round(-float(p) / math.log(2), 3) + 0.0] for token, p in pairs]
        results.append(result)
    return results
