"""What `doctor` says about a text, or about documents. Imports no TensorFlow."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.data import documents, table_options, text_findings
from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.data import check_folders, load
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.findings import Examined, fact_lines
from pipelines.support.numbers import counted
from pipelines.support.paths import Data

_NOUNS = {None: text_findings.LINE, "line": "document", "file": "file", "row": "row"}


def examine(config: LanguageModelConfig) -> Examined:
    """Reads the text, or the documents, and describes them.

    Raises:
        UserError: the data cannot be read at all.
    """
    check_folders(config)
    noun = _NOUNS[config.documents]
    valid = (lambda: _texts(config, config.valid)) if config.valid else None
    in_lines = config.documents in (None, "line")
    read = text_findings.find(_texts(config, config.data), noun, config.encoding, in_lines, valid=valid)
    facts = {"texts": read.texts, "characters": read.characters, "letters": round(read.letters, 3)}
    values = {
        "text": f"{counted(read.texts, noun)} with {read.characters:,} characters",
        "letters": f"{100 * read.letters:.0f} % of the characters",
    }
    try:
        splits = load(config)
        facts["training"] = {"train": splits.train.characters, "validation": splits.valid.characters}
        values["training"] = f"would learn from {splits.train.characters:,} characters and validate on "
        values["training"] += f"{splits.valid.characters:,}"
    except UserError as error:
        facts["refusal"] = str(error)
        values["training"] = f"would be refused: {error}"
    table = [] if config.documents else text_findings.is_a_table(config.data)
    return Examined(facts, fact_lines(values), [*table, *read.findings])


def _texts(config: LanguageModelConfig, data: Data) -> Iterator[tuple[str, str]]:
    """Yields (place, text) of the lines of a text that are not blank, or of the documents."""
    if config.documents is None:
        yield from text_findings.lines_of(data, config.encoding)
        return
    options = table_options.make(config.text_column, encoding=config.encoding)
    for number, text in enumerate(documents.read(data, config.documents, options), 1):
        yield f"{Path(paths.shown(data)).name}, {_NOUNS[config.documents]} {number}", text
