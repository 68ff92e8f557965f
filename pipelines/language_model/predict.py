"""`predict`: texts continued by an exported language model, or by a server that has it."""

from collections.abc import Iterator

from pipelines.command_line import ServedModelFlags
from pipelines.decoding.options import CACHE, SAMPLING, SEARCH, defaults, filled, with_defaults
from pipelines.export.exported import Exported
from pipelines.language_model.cache_options import cache_options, exported_cache_options, require_cache
from pipelines.predicting import streamed

_SEARCH_DEFAULTS = {"max_length": 20}
_MIN_LOG_PROBABILITY = -1e8  # rows with fewer continuations are filled up with lower ones


def continue_texts(exported: Exported, prompts: list[str], given: dict, loaded=None) -> list[dict]:
    """Continues the prompts with an exported model.

    Args:
        given: option of `SAMPLING` and `CACHE` -> value; None takes the default of the model's card.
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per prompt: "prompt", "text", "log_probability", "tokens", and "note" where tokens of the prompt are
        unknown.

    Raises:
        UserError: an option is out of its range.
    """
    options = with_defaults(SAMPLING, given, exported.card()["generation_defaults"])
    cache = exported_cache_options(exported, given)
    loaded = loaded or exported.load()  # kept as long as its signatures are used
    signatures = loaded.signatures
    if cache:
        require_cache(exported, signatures)
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor
    from pipelines.text.tokenizers import UNKNOWN

    text = tf.constant([prompt.encode("utf-8", "surrogatepass") for prompt in prompts])
    with capture_stderr_descriptor():  # the first call may print lines about oneDNN
        if cache:
            inputs = filled((*SAMPLING, *CACHE), options | cache, text)
            generated = signatures["generate_with_cache"](text=text, **inputs)
        else:
            generated = signatures["generate"](text=text, **filled(SAMPLING, options, text))
        ids = signatures["encode"](text=text)["ids"].numpy()  # [batch, time]
    outputs = {name: value.numpy() for name, value in generated.items()}
    results = _results(prompts, outputs | {"text": [text.decode() for text in outputs["text"]]})
    for result, unknown_tokens in zip(results, (ids == UNKNOWN).sum(axis=1).tolist(), strict=True):
        if unknown_tokens:
            result["note"] = f"{unknown_tokens} of the prompt's tokens were never seen in training"
    return results


def continue_texts_on_server(server: ServedModelFlags, model: str, prompts: list[str], given: dict) -> list[dict]:
    """Continues the prompts with a model on a server; as `continue_texts`, without notes and with the usual defaults.

    Raises:
        UserError: an option is out of its range, or the server does not answer.
    """
    options = with_defaults(SAMPLING, given, defaults(SAMPLING))
    cache = cache_options(given)
    options |= cache or {}
    inputs = {"text": prompts} | {name: [value] * len(prompts) for name, value in options.items()}
    return _results(prompts, server.ask(model, inputs, "generate_with_cache" if cache else "generate"))


def streams(exported: Exported, prompts: list[str], given: dict) -> list[Iterator[str]]:
    """Returns the pieces of the continuation of each prompt; see `continue_texts`.

    Raises:
        UserError: an option is out of its range, or the export cannot generate token by token.
    """
    options = with_defaults(SAMPLING, given, exported.card()["generation_defaults"])
    loaded = exported.load()
    streamed.require_pieces(exported, loaded)
    return [streamed.pieces(loaded, prompt, SAMPLING, options) for prompt in prompts]


def streams_on_server(server: ServedModelFlags, model: str, prompts: list[str], given: dict) -> list[Iterator[str]]:
    """As `streams`, with a model on a server and the usual defaults.

    Raises:
        UserError: an option is out of its range, or, from the iterators, the server does not answer.
    """
    options = with_defaults(SAMPLING, given, defaults(SAMPLING))
    return [server.stream(model, prompt, options) for prompt in prompts]


def search_texts(exported: Exported, prompts: list[str], given: dict, loaded=None) -> list[dict]:
    """Finds the most likely continuations of the prompts by beam search.

    Args:
        given: option of `SEARCH` -> value; None takes its default.
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per prompt: "prompt", and "continuations": dicts of "text" and "log_probability", the best first.

    Raises:
        UserError: an option is out of its range.
    """
    options = with_defaults(SEARCH, given, _SEARCH_DEFAULTS)
    loaded = loaded or exported.load()
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor

    text = tf.constant([prompt.encode("utf-8", "surrogatepass") for prompt in prompts])
    with capture_stderr_descriptor():
        found = loaded.signatures["search"](text=text, **filled(SEARCH, options, text))
    outputs = {name: value.numpy() for name, value in found.items()}
    texts = [[text.decode() for text in row] for row in outputs["text"]]
    return _continuations(prompts, outputs | {"text": texts}, options["beam_width"])


def search_texts_on_server(server: ServedModelFlags, model: str, prompts: list[str], given: dict) -> list[dict]:
    """As `search_texts`, with a model on a server.

    Raises:
        UserError: an option is out of its range, or the server does not answer.
    """
    options = with_defaults(SEARCH, given, _SEARCH_DEFAULTS)
    inputs = {"text": prompts} | {name: [value] * len(prompts) for name, value in options.items()}
    return _continuations(prompts, server.ask(model, inputs, "search"), options["beam_width"])


def _continuations(prompts: list[str], outputs: dict, count: int) -> list[dict]:
    return [
        {
            "prompt": prompt,
            "continuations": [
                {"text": text, "log_probability": round(float(log_probability), 4)}
                for text, log_probability in list(zip(texts, log_probabilities, strict=True))[:count]
                if log_probability > _MIN_LOG_PROBABILITY
            ],
        }
        for prompt, texts, log_probabilities in zip(prompts, outputs["text"], outputs["log_probability"], strict=True)
    ]


def _results(prompts: list[str], outputs: dict) -> list[dict]:
    """Returns one dict per prompt, from output -> values."""
    columns = zip(prompts, outputs["text"], outputs["log_probability"], outputs["tokens"], strict=True)
    return [
        {"prompt": prompt, "text": text, "log_probability": round(float(log_probability), 4), "tokens": int(tokens)}
        for prompt, text, log_probability, tokens in columns
    ]
