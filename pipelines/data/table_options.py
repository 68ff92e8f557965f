"""How to read a table: what the flags state. Imports nothing heavy, because configs use it."""

import dataclasses

from pipelines.support.errors import UserError

_ESCAPED = {"\\t": "\t", "tab": "\t"}


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """How to read a table.

    Attributes:
        text_column, label_column: names of columns; None finds them by their usual names.
        encoding: of a file of text; None is UTF-8, or what its byte order mark states.
        separator: the character between the cells of a CSV or TSV file; None finds it.
        header: whether the first row has the names of the columns. Without it they are 1, 2, 3, ...
        group_column: column whose rows of one value belong together, where the table has it.
        trained_text_column, trained_label_column: columns of the table that a model was trained on; used before columns
            with usual names, if the table has them.
    """

    text_column: str | None = None
    label_column: str | None = None
    encoding: str | None = None
    separator: str | None = None
    header: bool = True
    group_column: str = "url"
    trained_text_column: str | None = None
    trained_label_column: str | None = None

    def after_training(self, config: dict) -> "TableOptions":
        """Returns the options for a table that a trained model reads.

        Args:
            config: of the model's training.
        """
        text, label = config.get("text_column"), config.get("label_column")
        return dataclasses.replace(self, trained_text_column=text, trained_label_column=label)


DEFAULTS = TableOptions()


def make(text_column=None, label_column=None, encoding=None, separator=None, no_header=False) -> TableOptions:
    r"""Returns the options that the flags of the same names state. The separator may be given as \t or tab.

    Raises:
        UserError: the encoding is unknown, or the separator is not one character.
    """
    try:
        "".encode(encoding or "utf-8")
    except LookupError as error:
        raise UserError(
            f"--encoding {encoding} is unknown: give a name such as utf-8, utf-16, cp1252 or gb18030"
        ) from error
    separator = _ESCAPED.get(separator, separator)
    if separator is not None and len(separator) != 1:
        raise UserError(f"--separator {separator!r}: it must be one character, or tab")
    return TableOptions(text_column, label_column, encoding, separator, header=not no_header)
