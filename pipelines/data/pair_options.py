"""How to read files of pairs: what the flags state. Imports nothing heavy, because configs use it."""

import dataclasses
from typing import Any

from pipelines.data import table_options
from pipelines.data.table_options import TableOptions
from pipelines.settings import flag
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True)
class PairOptions:
    """How to read a table of pairs, or two files.

    Attributes:
        source_column, target_column: number from 1, or name in the first line; None finds it.
        encoding: of a file of text; None is UTF-8, or what its byte order mark states.
        separator: the character between the cells of a row; None finds it.
        quote: the character around cells that have a separator or a line break, or `none`; None finds it.
        no_header: whether the first line has a pair, and not the names of the columns; False finds it out.
    """

    source_column: str | None = None
    target_column: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quote: str | None = None
    no_header: bool = False

    @classmethod
    def of(cls, config) -> "PairOptions":
        """Returns the options in the fields of a config, or in the values of a dict."""
        values = config if isinstance(config, dict) else vars(config)
        return cls(**{name: values[name] for name in FIELDS if name in values})

    def check(self) -> None:
        """Raises a UserError if the encoding is unknown, or the separator or the quote is no single character."""
        self.table_options()

    def table_options(self, has_names: bool = False) -> TableOptions:
        """Returns how the rows of a table are read.

        Args:
            has_names: whether its format states the names of the columns. Else the first row is one of the rows.

        Raises:
            UserError: see `check`.
        """
        no_header = self.no_header or not has_names
        return table_options.make(
            encoding=self.encoding, separator=self.separator, quote=self.quote, no_header=no_header
        )

    def reject(self, fields: tuple[str, ...], data: str) -> None:
        """Raises a UserError for the first of `fields` that is given, because `data` has no use for it."""
        for name in fields:
            value: Any = getattr(self, name)
            if value not in (None, False):
                raise UserError(f"{flag(name)} has no effect: {data}")


FIELDS = tuple(field.name for field in dataclasses.fields(PairOptions))
TABLE_FIELDS = tuple(name for name in FIELDS if name != "encoding")
DEFAULTS = PairOptions()
