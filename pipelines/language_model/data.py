"""The data of a language model: one long text, or documents. Imports no TensorFlow, to refuse data at once."""

from pipelines.data import documents, texts
from pipelines.data.texts import TextSplits
from pipelines.language_model.config import LanguageModelConfig


def load(config: LanguageModelConfig) -> TextSplits:
    """Finds the text or the documents, and splits off the end for validation.

    Raises:
        UserError: a text cannot be read, or is too short to split.
    """
    if config.documents:
        return documents.split_documents(config.data, config.valid, config.documents, config.valid_fraction)
    return texts.split_text(config.data, config.valid, config.valid_fraction)
