"""The options of the continuous cache (cache.py) on the command line and in requests."""

from pipelines.decoding.options import CACHE, with_defaults
from pipelines.export.exported import Exported
from pipelines.language_model.config import WITH_ORDER
from pipelines.settings import flag
from pipelines.support.errors import UserError


def cache_options(given: dict, scores: dict | None = None) -> dict | None:
    """Returns option -> value; None where no cache is wanted.

    Args:
        given: option -> value; None where it is not given.
        scores: of the validation text, from the model's card: theta and lambda that were best there are the defaults.

    Raises:
        UserError: an option is out of its range, or has no effect.
    """
    given = {option.name: given.get(option.name) for option in CACHE}
    if not given["cache_size"]:
        for name in ("cache_theta", "cache_lambda"):
            if given[name] is not None:
                raise UserError(f"{flag(name)} has no effect without --cache-size")
        with_defaults(CACHE, given, {})
        return None
    return with_defaults(CACHE, given, scores or {})


def exported_cache_options(exported: Exported, given: dict) -> dict | None:
    """As `cache_options`, with the defaults of an export.

    Raises:
        UserError: the export cannot use a cache.
    """
    card = exported.card()
    options = cache_options(given, card.get("scores", {}).get("validation"))
    if options is None:
        return None
    config = card.get("config", {})
    if config.get("tokenizer") == "character" or config.get("model") in ("transformer", *WITH_ORDER):
        raise UserError(
            f"--cache-size needs a recurrent language model of words or subwords: {exported.title} was trained with "
            f"--model {config['model']} --tokenizer {config['tokenizer']}"
        )
    return options


def require_cache(exported: Exported, signatures) -> None:
    """Raises a UserError if the loaded export has no signatures with a cache."""
    if "token_losses_with_cache" not in signatures:
        raise UserError(f"{exported.title} has no cache: an older version exported it; run its training command again")
