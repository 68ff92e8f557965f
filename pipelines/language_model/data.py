"""The data of a language model: one long text. Imports no TensorFlow, so that what it refuses is refused at once."""

from pipelines.data import texts
from pipelines.data.texts import TextSplits
from pipelines.language_model.config import LanguageModelConfig


def load(config: LanguageModelConfig) -> TextSplits:
    """Finds the text and splits off its end for validation.

    Raises:
        UserError: a text cannot be read, or is too short to split.
    """
    return texts.split_text(config.data, config.valid, config.valid_fraction)
