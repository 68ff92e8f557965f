"""The command `inspect`: looks inside trained models, and draws what it sees."""

import dataclasses
import functools
import operator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from pipelines.command_line import SAVED_MODELS, SavedModelsFlag, join_help_lines, print_json
from pipelines.config import PATH
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, shown, write_text

if TYPE_CHECKING:
    from pipelines.inspect.figure import Figure
    from pipelines.inspect.models import Model

_MAX_UNITS = 4096


@dataclasses.dataclass(frozen=True, kw_only=True)
class View:
    """What all inspections share. The first line of the docstring of each is its line in the list."""

    NAME: ClassVar[str] = ""

    output: Annotated[Path | None, PATH] = None
    """File to write: .html, a page that works without a network, or .png, a picture. By default inspect-WHAT.html in
    the current folder, which the next call replaces."""
    json: bool = False
    """Print the numbers as one JSON object and write no page."""

    def __call__(self) -> None:
        """Writes the page or the picture."""
        check_output(self.output, suffixes=(".html", ".png"))
        self.check()
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        figures, notes = self.look()
        if self.json:
            print_json({each.name: {"title": each.title, "data": each.columns()} for each in figures})
            return
        path = self.output or Path(f"inspect-{self.NAME}.html")
        write(path, self.title(), figures, notes)
        for note in notes:
            print(note)
        print(f"{'picture' if path.suffix == '.png' else 'page'}: {shown(path)}")

    def check(self) -> None:
        """Checks the flags, before TensorFlow is imported.

        Raises:
            UserError: a flag has a wrong value.
        """

    def title(self) -> str:
        """Returns the title of the page."""
        return self.NAME.capitalize()

    def look(self) -> "tuple[list[Figure], list[str]]":
        """Returns the figures, and sentences to print and to write above them."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextView(View):
    """An inspection of what exported models compute for a text."""

    text: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="TEXT")]]
    """The text to look at, in quotes."""
    models: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODEL ...")] = ()
    """Exported models, NAME or NAME/VERSION, one after the other on the page. By default the only one there is."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""

    def title(self) -> str:
        """Returns the title of the page."""
        return f"{self.NAME.capitalize()}: {self.text}"

    def look(self) -> "tuple[list[Figure], list[str]]":
        """Returns the figures of all models."""
        from pipelines.inspect import models

        found = models.find(self.saved_models, self.models)
        figures, notes = [], []
        for number, model in enumerate(found, start=1):
            trace = model.trace([self.text])[0]
            if trace.cut:
                notes.append(f"{model.title} reads only a part of the text, the one that is shown")
            for figure in self.draw(model, trace):
                name = figure.name if len(found) == 1 else f"{figure.name}-{number}"
                figures.append(dataclasses.replace(figure, name=name))
            notes += self.notes(model, trace)
        return figures, notes

    def draw(self, model: "Model", trace) -> "list[Figure]":
        """Returns the figures of one model."""
        raise NotImplementedError

    def notes(self, model: "Model", trace) -> list[str]:
        """Returns what is to say about one model."""
        return []


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gates(TextView):
    """The gates of an LSTM or a GRU through a text, its state, and what may come next."""

    NAME: ClassVar[str] = "gates"

    top: int = 24
    """Number of single units to show: those whose gate varies most."""
    unit: int | None = None
    """Show this unit alone. Units count from 0."""

    def check(self) -> None:
        """Checks the numbers."""
        if not 1 <= self.top <= _MAX_UNITS:
            raise UserError(f"--top {self.top}: it must be from 1 to {_MAX_UNITS}")

    def draw(self, model, trace):
        """Returns the figures of one model."""
        from pipelines.inspect import gates
        from pipelines.inspect.trace import require_gates

        require_gates(trace)
        units = min(values["hidden"].shape[1] for values in trace.recurrent.values())
        if self.unit is not None and not 0 <= self.unit < units:
            raise UserError(f"--unit {self.unit}: the layers of {trace.model} have the units 0 to {units - 1}")
        activation = model.card.get("config", {}).get("activation", "tanh")
        return gates.figures(trace, self.top, self.unit, activation)


@dataclasses.dataclass(frozen=True, kw_only=True)
class States(TextView):
    """The path of the hidden state and of the cell through a text, in the plane of their largest variance."""

    NAME: ClassVar[str] = "states"

    data: Annotated[Path | None, PATH] = None
    """Text file whose lines give the plane, such as the validation text. By default the text itself does."""
    surface: Annotated[str | None, tyro.conf.arg(metavar="TOKEN")] = None
    """Language models: draw the probability that this token comes next over the plane."""

    def check(self) -> None:
        """Checks that the file exists."""
        if self.data is not None and not self.data.is_file():
            raise UserError(f"--data {self.data}: no such file")

    def draw(self, model, trace):
        """Returns the figure of one model."""
        from pipelines.inspect import states
        from pipelines.inspect.reference import read_lines

        lines = read_lines(self.data) if self.data else []
        references = [each for line in lines for each in model.trace([line])]
        surface = model.probability_of(self.surface) if self.surface else None
        return states.figures(trace, references, surface, self.surface)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attention(TextView):
    """Where each attention head of each layer looks, and what it mostly looks at."""

    NAME: ClassVar[str] = "attention"

    def draw(self, model, trace):
        """Returns the figures of one model."""
        from pipelines.inspect import attention

        return attention.figures(trace)

    def notes(self, model, trace) -> list[str]:
        """Returns a line for each head."""
        from pipelines.inspect import attention

        return [f"{model.title}: {line}" for line in attention.overview_text(trace)]


VIEWS = {view.NAME: view for view in (Gates, States, Attention)}
"""WHAT -> class."""

NAMES = {name: view(**({"text": ""} if issubclass(view, TextView) else {})) for name, view in VIEWS.items()}
"""WHAT -> an instance, for `mistyped`."""

_View = functools.reduce(
    operator.or_, (Annotated[join_help_lines(view), tyro.conf.subcommand(name)] for name, view in VIEWS.items())
)


@dataclasses.dataclass(frozen=True)
class Inspect:
    """Look inside exported models: gates, states, attention, what was learned, what it costs.

    Each inspection writes one HTML page that works without a network, or a picture.
    """

    what: _View

    def __call__(self) -> None:
        """Runs the inspection."""
        self.what()


def write(path: Path, title: str, figures: "list[Figure]", notes: list[str]) -> None:
    """Writes a page (.html) or a picture (.png)."""
    from pipelines.inspect import page
    from pipelines.inspect.figure import stacked
    from pipelines.support.files import written_beside

    if path.suffix == ".png":
        picture = stacked([each.png() for each in figures])
        with written_beside(path, "wb") as file:
            file.write(picture)
    else:
        write_text(path, page.render(title, figures, notes))
