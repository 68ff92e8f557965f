"""How to read files of tagged sentences: what the flags state. Imports nothing heavy, because configs use it."""

import dataclasses

from pipelines.data import table_options
from pipelines.settings.fields import flag
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True)
class TokenOptions:
    """How to read tokens with their tags, or texts with spans.

    Attributes:
        column: where the tag is. In CoNLL-U it is upos (the default), xpos, feats or a key of the column MISC; in other
            files the column's number from 1, or its name, by default the last one; in JSON the name of the field.
        token_column: the column with the token, of files that are not CoNLL-U: its number or name. None finds it.
        encoding: of a file of text; None is UTF-8, or what its byte order mark states.
        separator: the character between the columns of a line; None finds it.
        tag_names: names of the tags that the data has as numbers from 0.
        inherited: options that are those of the training: they are of no use for data of another format.
    """

    column: str | None = None
    token_column: str | None = None
    encoding: str | None = None
    separator: str | None = None
    tag_names: str | None = None
    inherited: frozenset[str] = frozenset()

    @classmethod
    def of(cls, config) -> "TokenOptions":
        """Returns the options in the fields of a config, or of a command."""
        return cls(**{name: getattr(config, name) for name in FIELDS})

    def after_training(self, config: dict) -> "TokenOptions":
        """Returns the options for data that a trained model is measured on: what is open is as in the training.

        Args:
            config: of the training.
        """
        missing = {name: config[name] for name in FIELDS if getattr(self, name) is None and config.get(name)}
        return dataclasses.replace(self, **missing, inherited=frozenset(missing))

    def check(self) -> None:
        """Raises a UserError if the encoding is unknown, the separator is no character, or a name of a tag is empty."""
        table_options.make(encoding=self.encoding, separator=self.separator)
        self.names()

    def cell_separator(self) -> str | None:
        """Returns the character between the columns; None if it is not given."""
        return table_options.unescaped(self.separator)

    def names(self) -> list[str] | None:
        """Returns the names of the tags by their numbers; None if they are not given.

        Raises:
            UserError: a name is empty, or there twice.
        """
        if self.tag_names is None:
            return None
        names = [name.strip() for name in self.tag_names.split(",")]
        if not all(names) or len(set(names)) < len(names):
            raise UserError(
                f"--tag-names {self.tag_names}: give each tag one name, in the order of their numbers, with commas "
                "between them, such as O,B-PER,I-PER"
            )
        return names

    def reject(self, fields: tuple[str, ...], data: str) -> None:
        """Raises a UserError for the first of `fields` that is given, because `data` has no use for it."""
        for name in fields:
            if (value := getattr(self, name)) is not None and name not in self.inherited:
                raise UserError(f"{flag(name)} {value} has no effect: {data}")


FIELDS = tuple(field.name for field in dataclasses.fields(TokenOptions) if field.name != "inherited")
DEFAULTS = TokenOptions()
