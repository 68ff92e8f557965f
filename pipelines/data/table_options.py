"""How to read a table: what the flags state. Imports nothing heavy, because configs use it."""

import dataclasses

from pipelines.support.errors import UserError

DEFAULT_LABELS_SEPARATOR = "|"  # of labels that are written to one cell
_ESCAPED = {"\\t": "\t", "tab": "\t"}
_NO_QUOTE = "none"


def unescaped(separator: str | None) -> str | None:
    r"""Returns a separator that may be given as \t or tab."""
    return _ESCAPED.get(separator, separator)


def column_names(listed: str | None) -> tuple[str, ...]:
    """Returns the columns of --label-columns, such as "news,sport"; none for None."""
    return tuple(name.strip() for name in listed.split(",")) if listed else ()


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """How to read a table.

    Attributes:
        text_column, label_column: names of columns; None finds them by their usual names.
        encoding: of a file of text; None is UTF-8, or what its byte order mark states.
        separator: the character between the cells of a CSV or TSV file; None finds it.
        quote: the character around cells that have a separator or a line break; "": there is none; None finds it.
        header: whether the first row has the names of the columns. Without it they are 1, 2, 3, ...
        group_column: column whose rows of one value belong together, where the table has it.
        trained_text_column, trained_label_column: columns of the table that a model was trained on; used before columns
            with usual names, if the table has them.
        labels_separator: the string between the labels of a cell; None: a cell has one label.
        label_columns: columns of 0 and 1, one per label; empty: the labels are in one column.
        fold_labels: whether labels that differ only in case or blanks are the same.
        missing_labels: labels that stand for no label; their rows are left out.
        encoding_errors: what becomes of bytes that are not in the encoding, as for `open`.
        other_columns: whether to keep the columns that are neither text nor label.
        feature_columns: further columns that the model reads; see `data/fields.py`.
        pair_columns: two columns with texts that are compared; see `fields.of_pair`.
        is_symmetric: whether the order of the two counts for nothing.
        fields: all columns that a trained model reads, if there are several: objects of `fields.Field`.
        weight_column: column with the weights of the rows; None: there is none.
        output_separator, output_encoding: of tables that are written; None: as in the first file that is read.
        output_decimal: decimal mark of tables that are written; None: it follows from the separator.
    """

    text_column: str | None = None
    label_column: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quote: str | None = None
    header: bool = True
    group_column: str = "url"
    trained_text_column: str | None = None
    trained_label_column: str | None = None
    labels_separator: str | None = None
    label_columns: tuple[str, ...] = ()
    fold_labels: bool = False
    missing_labels: tuple[str, ...] = ()
    encoding_errors: str = "strict"
    other_columns: bool = False
    weight_column: str | None = None
    feature_columns: tuple[str, ...] = ()
    pair_columns: tuple[str, ...] = ()
    is_symmetric: bool = False
    fields: tuple = ()
    output_separator: str | None = None
    output_decimal: str | None = None
    output_encoding: str | None = None

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels."""
        return self.labels_separator is not None or bool(self.label_columns)

    def after_training(self, card: dict) -> "TableOptions":
        """Returns the options for a table that a trained model reads.

        Args:
            card: of the model.

        Raises:
            UserError: --text-column is given, and the model reads several columns.
        """
        from pipelines.data import fields

        config, known = card["config"], fields.from_card(card.get("columns"))
        if known and self.text_column:
            names = ", ".join(fields.columns_of(known))
            raise UserError(f"--text-column has no effect: the model reads the columns {names}: leave it out")
        text, label = config.get("text_column"), config.get("label_column")
        trained = dataclasses.replace(
            self,
            trained_text_column=None if known else text,
            fields=known,
            trained_label_column=label,
            fold_labels=config.get("fold_labels", False),
            missing_labels=column_names(config.get("missing_labels")),
        )
        if self.multi_label:
            return trained
        separator, columns = config.get("labels_separator"), column_names(config.get("label_columns"))
        return dataclasses.replace(trained, labels_separator=unescaped(separator), label_columns=columns)


DEFAULTS = TableOptions()


def make(
    text_column=None,
    label_column=None,
    encoding=None,
    separator=None,
    quote=None,
    no_header=False,
    labels_separator=None,
    label_columns=None,
    fold_labels=False,
    missing_labels=None,
    feature_column=None,
    pair_columns=None,
    symmetric=False,
) -> TableOptions:
    r"""Returns the options that the flags of the same names state. A separator may be given as \t or tab; the
    quote may be `none`.

    Raises:
        UserError: the encoding is unknown, a separator or the quote is no single character, --label-columns has no two
            columns, or two flags exclude each other.
    """
    _check_labels(label_column, labels_separator, label_columns)
    try:
        "".encode(encoding or "utf-8")
    except LookupError as error:
        raise UserError(
            f"--encoding {encoding} is unknown: give a name such as utf-8, utf-16, cp1252 or gb18030"
        ) from error
    if pair_columns is not None and len(set(column_names(pair_columns))) != 2:
        raise UserError(f"--pair-columns {pair_columns}: give two different columns, such as question,answer")
    separator = unescaped(separator)
    if separator is not None and (len(separator) != 1 or separator in "\r\n"):
        raise UserError(f"--separator {separator!r}: it must be one character, or tab")
    if quote is not None and quote != _NO_QUOTE and (len(quote) != 1 or quote in "\r\n"):
        raise UserError(f"--quote {quote!r}: it must be one character, or none")
    if quote is not None and quote == separator:
        raise UserError(f"--quote {quote!r} is also the separator: give another character, or none")
    return TableOptions(
        text_column,
        label_column,
        encoding,
        separator,
        "" if quote == _NO_QUOTE else quote,
        header=not no_header,
        labels_separator=unescaped(labels_separator),
        label_columns=column_names(label_columns),
        fold_labels=fold_labels,
        missing_labels=column_names(missing_labels),
        feature_columns=column_names(feature_column),
        pair_columns=column_names(pair_columns),
        is_symmetric=symmetric,
    )


def _check_labels(label_column: str | None, labels_separator: str | None, label_columns: str | None) -> None:
    """Raises a UserError if the flags on several labels per text cannot be used."""
    if labels_separator == "":
        raise UserError('--labels-separator is empty: give the characters between two labels of a cell, such as "|"')
    if label_columns is None:
        return
    for name, value in (("--label-column", label_column), ("--labels-separator", labels_separator)):
        if value is not None:
            raise UserError(f"--label-columns has one column of 0 and 1 per label: leave out {name}")
    names = column_names(label_columns)
    if len(names) < 2 or len(set(names)) < len(names) or not all(names):
        raise UserError(
            f"--label-columns {label_columns}: give at least two different columns with commas between them; for one "
            "column use --label-column"
        )
