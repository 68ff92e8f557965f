"""What comes next: the most likely next tokens, and which of them each option of sampling leaves."""

import numpy as np

from pipelines.command_line import ServedModelFlags
from pipelines.decoding.options import SAMPLING, SHAPING, defaults, with_defaults
from pipelines.export.exported import Exported
from pipelines.settings.fields import flag
from pipelines.text.special_tokens import SPECIAL_TOKENS, UNKNOWN, never_generated

_BAR_WIDTH = 24  # characters
_SHOWN = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}


def next_tokens(exported: Exported, prompts: list[str], count: int, given: dict, loaded=None) -> list[dict]:
    """Finds the most likely next tokens after each prompt.

    Args:
        count: number of tokens.
        given: option -> value; None takes the default of the model's card.
        loaded: `exported`, if it is loaded already.

    Returns:
        The dicts of `rank_tokens`, each with "prompt", and with "note" where tokens of the prompt are unknown.

    Raises:
        UserError: an option is out of its range.
    """
    card = exported.card()
    options = with_defaults(SAMPLING, given, card["generation_defaults"])
    never = never_generated(card.get("config", {}).get("documents"))
    loaded = loaded or exported.load()  # kept as long as its signatures are used
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor

    def call(signature, **inputs):
        return {name: value.numpy() for name, value in loaded.signatures[signature](**inputs).items()}

    text = tf.constant([prompt.encode("utf-8", "surrogatepass") for prompt in prompts])
    with capture_stderr_descriptor():  # the first call may print lines about oneDNN
        logits = call("start", text=text)["logits"]
        ids = call("encode", text=text)["ids"]
        names = [name.decode() for name in call("decode", ids=tf.range(logits.shape[1])[:, None])["text"]]
    results = _results(prompts, logits, names, count, options, never)
    for result, unknown_tokens in zip(results, (ids == UNKNOWN).sum(axis=1).tolist(), strict=True):
        if unknown_tokens:
            result["note"] = f"{unknown_tokens} of the prompt's tokens were never seen in training"
    return results


def next_tokens_on_server(
    server: ServedModelFlags, model: str, prompts: list[str], count: int, given: dict
) -> list[dict]:
    """As `next_tokens`, with a model on a server, the usual defaults of the options, and without notes.

    Raises:
        UserError: an option is out of its range, or the server does not answer.
    """
    options = with_defaults(SAMPLING, given, defaults(SAMPLING))
    logits = np.array(server.ask(model, {"text": prompts}, "start")["logits"])
    names = server.ask(model, {"ids": [[i] for i in range(logits.shape[1])]}, "decode")["text"]
    return _results(prompts, logits, names, count, options, never_generated(has_end_tokens(server, model)))


def has_end_tokens(server: ServedModelFlags, model: str) -> bool:
    """Whether the model on a server knows the ends of documents: an empty text then has one token."""
    return server.ask(model, {"text": [""]}, "score")["tokens"][0] == 1


def _results(prompts, logits, names, count, options, never) -> list[dict]:
    names = [*SPECIAL_TOKENS, *names[len(SPECIAL_TOKENS) :]]
    return [
        {"prompt": prompt, **rank_tokens(row, names, count, options, never)}
        for prompt, row in zip(prompts, logits, strict=True)
    ]


def rank_tokens(logits: np.ndarray, names: list[str], count: int, options: dict, never: tuple[int, ...]) -> dict:
    """Ranks the tokens by their probability, as sampling does (decoding/sampling.py).

        p = softmax(logits),    q = softmax(logits / temperature) without what is never generated

    top-k keeps the k most likely tokens; top-p of those the fewest whose q sum to top_p; min-p of those the ones with
    at least min_p times the q of the most likely token.

    Args:
        logits: float [vocabulary].
        names: text of each token.
        count: number of tokens to return.
        options: option -> value, of `SAMPLING`.
        never: ids of the tokens that are never generated.

    Returns:
        "tokens": dicts of "token", "probability" p, "sampled" the probability with which sampling draws it, and "cut":
            the first option that leaves it out, or None;
        "kept": option -> number of tokens that are left after it, for the options that leave out tokens;
        "options": the options that change the distribution; "special": the sum of p over what is never generated.
    """
    probabilities = _softmax(logits.astype(float))
    tempered = np.array(logits, float)
    tempered[list(never)] = -np.inf
    tempered = _softmax(tempered / (options["temperature"] or 1))
    order = np.argsort(-tempered, kind="stable")
    kept, cut = _keep(tempered[order], options)
    sampled = np.where(cut == "", tempered[order], 0.0)
    sampled /= sampled.sum()
    tokens = [
        {
            "token": names[i],
            "probability": round(float(probabilities[i]), 6),
            "sampled": round(float(sampled[rank]), 6),
            "cut": str(cut[rank]) or None,
        }
        for rank, i in enumerate(order[: min(count, len(order) - len(never))])
    ]
    return {
        "tokens": tokens,
        "kept": kept,
        "options": {name: options[name] for name in SHAPING},
        "special": round(float(probabilities[list(never)].sum()), 6),
    }


def format_next(result: dict) -> str:
    """Returns a table for a terminal: a line per token."""
    options, tokens = result["options"], result["tokens"]
    width = max(6, *(len(shown(each["token"])) for each in tokens))
    head = f"{'token':<{width}}  {'probability':<{_BAR_WIDTH + 10}}"
    lines = [f"  {head}sampled at temperature {options['temperature']:g}"]
    scale = max(each["probability"] for each in tokens) or 1.0
    for each in tokens:
        bar = "█" * round(_BAR_WIDTH * each["probability"] / scale)
        drawn = f"{each['sampled']:.4f}" if each["cut"] is None else f"cut by {_flag(each['cut'])}"
        lines.append(f"  {shown(each['token']):<{width}}  {each['probability']:.4f}  {bar:<{_BAR_WIDTH}}  {drawn}")
    rest = 1 - sum(each["probability"] for each in tokens) - result["special"]
    lines.append(f"  {'others':<{width}}  {max(rest, 0):.4f}")
    if result["special"] >= 0.00005:
        lines.append(f"  {'never':<{width}}  {result['special']:.4f}  unknown and special tokens: not generated")
    for name, left in result["kept"].items():
        value = "" if name == "greedy" else f" {options[name]:g}"
        lines.append(f"  {_flag(name)}{value} leaves {left:,} token{'s' * (left != 1)}")
    return "\n".join(lines)


def shown(token: str) -> str:
    """Returns a token as one line: spaces and line ends as visible characters. The unknown token has no text."""
    text = "".join(_SHOWN.get(c, c if c.isprintable() else "\N{REPLACEMENT CHARACTER}") for c in token)
    return text or "<unknown>"


def _keep(probabilities: np.ndarray, options: dict) -> tuple[dict[str, int], np.ndarray]:
    """Returns option -> number of tokens left after it, and for each token the option that leaves it out, or "".

    Args:
        probabilities: float [vocabulary], the highest first.
    """
    cut = np.full(len(probabilities), "", dtype=object)
    kept = {}

    def leave(name: str, keep: np.ndarray) -> None:
        cut[(cut == "") & ~keep] = name
        kept[name] = int((cut == "").sum())

    rank = np.arange(len(probabilities))
    leave("special", probabilities > 0)
    del kept["special"]
    if not options["temperature"]:
        leave("greedy", rank < 1)
        return kept, cut
    if options["top_k"]:
        leave("top_k", rank < options["top_k"])
    left = np.where(cut == "", probabilities, 0.0)
    left /= left.sum()
    if options["top_p"] < 1:
        leave("top_p", np.cumsum(left) - left < options["top_p"])
    if options["min_p"]:
        leave("min_p", left >= options["min_p"] * left[0])
    return kept, cut


def _flag(name: str) -> str:
    return "--temperature 0" if name == "greedy" else flag(name)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()
