"""What the inspections share: the flags, the page or the picture."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from pipelines.command_line import SAVED_MODELS, SavedModelsFlag, print_json
from pipelines.settings.fields import PATH
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, shown, write_text

if TYPE_CHECKING:
    from pipelines.inspect.figure import Figure
    from pipelines.inspect.models import Model


_CUT = "reads only a part of the text, the one that is shown"


@dataclasses.dataclass(frozen=True, kw_only=True)
class View:
    """What all inspections share. The first line of the docstring of each is its line in the list."""

    NAME: ClassVar[str] = ""
    examples: ClassVar[tuple[str, ...]] = ("",)

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
class ModelsView(View):
    """An inspection of exported models."""

    examples: ClassVar[tuple[str, ...]] = ("--models char-lm",)

    models: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODEL ...")] = ()
    """Exported models, NAME or NAME/VERSION, one after the other on the page. By default the only one there is."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""

    def check(self) -> None:
        """Checks that the models exist, before TensorFlow is imported."""
        from pipelines.inspect.models import find_exports

        find_exports(self.saved_models, self.models)

    def found(self) -> "list[Model]":
        """Returns the models, loaded."""
        from pipelines.inspect import models

        return models.find(self.saved_models, self.models)

    def look(self) -> "tuple[list[Figure], list[str]]":
        """Returns the figures of all models; several models have numbers in the names of their figures."""
        found = self.found()
        figures, notes = [], []
        for number, model in enumerate(found, start=1):
            drawn, lines = self.look_at(model)
            suffix = "" if len(found) == 1 else f"-{number}"
            figures += [dataclasses.replace(figure, name=f"{figure.name}{suffix}") for figure in drawn]
            notes += lines
        return figures, notes

    def look_at(self, model: "Model") -> "tuple[list[Figure], list[str]]":
        """Returns the figures of one model, and sentences about it."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextView(ModelsView):
    """An inspection of what exported models compute for a text."""

    examples: ClassVar[tuple[str, ...]] = ('"The list of functions" --models char-lm',)

    text: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="TEXT")]]
    """The text to look at, in quotes."""

    def check(self) -> None:
        """Checks that the models exist, and that each of them reads one text."""
        super().check()
        from pipelines.inspect.models import find_exports

        for each in find_exports(self.saved_models, self.models):
            if each.card().get("columns"):
                raise UserError(
                    f"{each.title} reads several columns, and `inspect {self.NAME}` looks at one text: `predict "
                    "classification --explain` weights the words of each column"
                )

    def title(self) -> str:
        """Returns the title of the page."""
        return f"{self.NAME.capitalize()}: {self.text}"

    def look(self) -> "tuple[list[Figure], list[str]]":
        """Returns the figures of all models, and the sentences. Those about a text that is cut come first."""
        figures, notes = super().look()
        return figures, sorted(notes, key=lambda note: not note.endswith(_CUT))

    def look_at(self, model: "Model") -> "tuple[list[Figure], list[str]]":
        """Returns the figures of one model, and sentences about it."""
        trace = model.trace([self.text])[0]
        return self.draw(model, trace), [*cut_notes(model, trace), *self.notes(model, trace)]

    def draw(self, model: "Model", trace) -> "list[Figure]":
        """Returns the figures of the trace of one model."""
        raise NotImplementedError

    def notes(self, model: "Model", trace) -> list[str]:
        """Returns what is to say about one model."""
        return []


def cut_notes(model: "Model", trace) -> list[str]:
    """Returns one sentence if the model has read only a part of the text, else none."""
    return [f"{model.title} {_CUT}"] if trace.cut else []


def check_treebank(path: Path | None, sentences: int) -> None:
    """Checks the values of --treebank and --sentences.

    Raises:
        UserError: there is no such file, or less than one sentence is asked for.
    """
    if path is not None and not path.is_file():
        raise UserError(f"--treebank {path}: no such file")
    if sentences < 1:
        raise UserError(f"--sentences {sentences}: it must be at least 1")


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
