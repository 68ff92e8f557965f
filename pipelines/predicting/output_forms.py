"""The separator and the encoding of CSV and TSV files that are written: those of the file that was read.

So a spreadsheet program opens the one as it opens the other.
"""

import codecs
import dataclasses
from pathlib import Path
from typing import NamedTuple

from pipelines.data import delimited, encodings
from pipelines.data.table_options import TableOptions, unescaped
from pipelines.data.text_chunks import Columns
from pipelines.support.errors import UserError

TABLES = (".csv", ".tsv")
# Encodings with a byte order mark -> (the same without it, the mark).
_MARKED = {
    "utf-8-sig": ("utf-8", codecs.BOM_UTF8),
    "utf-16": ("utf-16-le", codecs.BOM_UTF16_LE),
    "utf-32": ("utf-32-le", codecs.BOM_UTF32_LE),
}
_REPLACED = "\N{REPLACEMENT CHARACTER}"  # in the place of bytes that were no text


class Form(NamedTuple):
    """How a table is written.

    Attributes:
        separator: the character between its cells.
        encoding: a name of Python; with a byte order mark as in "utf-8-sig" and "utf-16".
        decimal: the decimal mark of numbers.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def encoded(self, text: str, is_start: bool) -> bytes:
        """Returns a part of a file as bytes.

        Args:
            is_start: whether it is the start of the file, which may have a byte order mark.

        Raises:
            UserError: the encoding does not have one of the characters.
        """
        name = codecs.lookup(self.encoding).name
        without_mark, mark = _MARKED.get(name, (name, b""))
        try:
            content = text.encode(without_mark)
        except UnicodeEncodeError:
            try:
                content = text.replace(_REPLACED, "?").encode(without_mark)
            except UnicodeEncodeError as error:
                raise UserError(
                    f"{self.encoding} has no character {error.object[error.start]!r}, which the predictions have: "
                    "--output-encoding utf-8-sig writes all characters, and spreadsheet programs read it"
                ) from error
        return mark + content if is_start else content


def form_of(first: Columns | None, options: TableOptions, suffix: str) -> Form:
    """Returns how to write a table: as the flags say, else as the first file, else with commas in UTF-8.

    A .tsv file has tabs, and a .csv file the separator of the first file if that is a .csv file. With semicolons, the
    decimal mark is a comma.

    Args:
        first: columns of the first file; None: it is unknown.
        options: how it is read, and the flags on what is written.
        suffix: of the file that is written, one of TABLES.
    """
    separator, encoding = {".tsv": "\t"}.get(suffix, ","), "utf-8"
    path = Path(first.path) if first else Path()
    if path.is_file() and encodings.suffix(path) in (*TABLES, ".txt", ".text", ""):  # no object in storage, no stdin
        file, encoding = encodings.open_text(path, options.encoding)
        file.close()
        if suffix == ".csv" and encodings.suffix(path) == suffix:
            separator = delimited.separator_of(path, dataclasses.replace(options, encoding_errors="surrogateescape"))
    separator = unescaped(options.output_separator) or separator
    # Spreadsheet programs separate cells by semicolons where the decimal mark is a comma, and read 0.5 as a text there.
    decimal = options.output_decimal or ("," if separator == ";" else ".")
    return Form(separator, options.output_encoding or encoding, decimal)
