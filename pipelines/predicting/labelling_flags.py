"""The flags of `predict` that choose which rows a person should label next, and write predictions for a tool."""

import dataclasses
from collections.abc import Collection
from typing import Annotated, Any, Literal

import tyro

from pipelines.settings.fields import require
from pipelines.support.errors import UserError

Tool = Literal["doccano", "spacy", "entities"]
_SUFFIXES: dict[Tool, tuple[str, ...]] = {  # of the files that are written for a tool; the first one is the default
    "doccano": (".jsonl",),
    "spacy": (".jsonl",),
    "entities": (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabellingFlags:
    """Which rows of --input are written, and for what."""

    sort: Literal["uncertainty"] | None = None
    """Classifiers and taggers, with --input: the rows with the least certain predictions first, each text once. Empty
    texts, and rows without a prediction, are left out. Without --limit, all rows are kept in memory."""
    limit: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """With --input: write N rows: with --sort the first N in its order, else the first N of the input."""
    tool: Annotated[Tool | None, tyro.conf.arg(name="for")] = None
    """With --input: write JSONL to correct in a tool for labelling. doccano, for classifiers and taggers: the text, the
    predicted labels or spans, and the other columns. spacy, for taggers: the text and the spans. entities, for taggers:
    a table with a row for each entity."""

    def given(self) -> dict[str, Any]:
        """Returns flag -> whether the user gave it."""
        values = {"--sort": self.sort, "--limit": self.limit, "--for": self.tool}
        return {name: value is not None for name, value in values.items()}

    def check(self, labels: bool, tools: Collection[str], ray: str | None) -> None:
        """Checks that the flags fit to a command.

        Args:
            labels: whether it gives labels; see `PredictCommand.labels`.
            tools: see `PredictCommand.tools`.
            ray: its --ray.

        Raises:
            UserError: they do not.
        """
        for given in (self.sort and f"--sort {self.sort}", self.tool and f"--for {self.tool}"):
            if given and not labels:
                raise UserError(f"{given} is for classifiers and taggers: leave it out")
        if self.tool and self.tool not in tools:
            raise UserError(f"--for {self.tool} is for taggers: leave it out, or give --for {' or '.join(tools)}")
        require(self.limit is None or self.limit >= 1, "limit", self.limit, "at least 1")
        for name, is_given in (("--sort", self.sort is not None), ("--limit", self.limit is not None)):
            if is_given and ray:
                raise UserError(f"{name} needs all rows in one process: leave out --ray")

    def suffixes(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the suffixes that --output may have, given those that it has without the flags."""
        return _SUFFIXES[self.tool] if self.tool else usual
