"""The topic `figures` of the command `learn`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from pipelines.command_line import print_json
from pipelines.learn.figures.registry import FIGURES, figure
from pipelines.learn.topic import Topic
from pipelines.settings.fields import PATH
from pipelines.support.errors import UserError
from pipelines.support.installation import shell_command

if TYPE_CHECKING:
    from pipelines.learn.steps import Lesson


@dataclasses.dataclass(frozen=True, kw_only=True)
class FigureOf(Topic):
    """The figures of the books: cells, unrolled networks and shapes, drawn with their numbers."""

    SUFFIXES: ClassVar = (".html", ".ipynb", ".svg")
    examples: ClassVar = ("", "cell-lstm --output cell.html", 'unrolled --text "so long and thanks"')

    name: tyro.conf.Positional[Literal[("all", *FIGURES)]] = "all"  # type: ignore[valid-type]
    """The figure; without a name they are listed."""
    text: str | None = None
    """unrolled: the sentence, 2 to 12 words. By default "so long and"."""
    truncate: int | None = None
    """bptt: the number of steps that the gradient goes back, 1 to 5. By default all."""
    output: Annotated[Path | None, PATH] = None
    """File to write instead of printing: .html, a page that works without a network, .ipynb, a notebook, or .svg, the
    last drawing alone."""

    def __call__(self) -> None:
        """Prints the list, or prints or writes a figure."""
        if self.name != "all":
            super().__call__()
            return
        self.check()
        if self.output is not None:
            raise UserError("--output needs the name of a figure: `learn figures` lists them")
        if self.json:
            print_json({name: each._asdict() for name, each in FIGURES.items()})
            return
        width = max(map(len, FIGURES))
        for name, each in FIGURES.items():
            print(f"{name.ljust(width)}  {each.number}: {each.says}")
        print(f"\n`{shell_command()} learn figures NAME` prints the numbers of one; --output NAME.html draws it.")

    def check(self) -> None:
        """Checks the sentence and the number of steps."""
        for flag, value, name in (("text", self.text, "unrolled"), ("truncate", self.truncate, "bptt")):
            if value is not None and self.name != name:
                raise UserError(f"--{flag} has an effect only on the figure {name}")
        if self.text is not None and not 2 <= len(self.text.split()) <= 12:
            raise UserError(f"--text {self.text!r}: it needs 2 to 12 words")
        if self.truncate is not None and not 1 <= self.truncate <= 5:
            raise UserError(f"--truncate {self.truncate}: it must be from 1 to 5")

    def lesson(self) -> "Lesson":
        """Returns the steps of the drawing, and what the book says."""
        return figure(self.name, self.text or "so long and", self.truncate)
