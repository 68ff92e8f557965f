"""The data of a language model: one long text, or documents. Imports no TensorFlow, to refuse data at once."""

from pipelines.data import documents, table_options, texts
from pipelines.data.id_files import ShardedText
from pipelines.data.texts import TextSplits
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError
from pipelines.support.files import with_home

MAX_VALID = 2_000_000  # characters of prepared data: they are scored after every epoch, in memory


def load(config: LanguageModelConfig) -> TextSplits:
    """Finds the text or the documents, and splits off the end for validation.

    Raises:
        UserError: a text cannot be read, or is too short to split; or prepared data is damaged.
    """
    data = config.prepared()
    if not data:
        return _split(config)
    data.check_files()
    characters = data.details["characters"]
    return TextSplits(
        ShardedText(data, characters["train"]),
        ShardedText(data, characters["valid"], data.details["beginning"]),
    )


def survey(config: LanguageModelConfig) -> TextSplits:
    """Finds the text or the documents, and splits off the end for validation: at most MAX_VALID characters.

    Raises:
        UserError: a text cannot be read, or is too short to split.
    """
    return _split(config, MAX_VALID)


def check_folders(config: LanguageModelConfig) -> None:
    """Raises a UserError if --data or --valid is a folder, and files are no documents."""
    for data in (config.data, config.valid):
        if config.documents != "file" and isinstance(data, str) and with_home(data).is_dir():
            raise UserError(
                f"{data} is a folder: add --documents file, and each .txt file in it is a text; or give "
                f"'{data.rstrip('/')}/*.txt', and all files are one long text"
            )


def _split(config: LanguageModelConfig, max_valid: int | None = None) -> TextSplits:
    check_folders(config)
    if config.documents:
        split = (config.data, config.valid, config.documents, config.valid_fraction, max_valid)
        return documents.split_documents(*split, table_options.make(config.text_column, encoding=config.encoding))
    return texts.split_text(config.data, config.valid, config.valid_fraction, max_valid, config.encoding)
