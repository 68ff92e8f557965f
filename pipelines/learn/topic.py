"""What all topics of the command `learn` share."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from pipelines.command_line import print_json
from pipelines.settings.fields import PATH
from pipelines.support.files import check_output, shown, write_text

if TYPE_CHECKING:
    from pipelines.learn.steps import Lesson


@dataclasses.dataclass(frozen=True, kw_only=True)
class Topic:
    """What all topics share. The first line of a topic's docstring is its line in the list."""

    SUFFIXES: ClassVar = (".html", ".ipynb")

    json: bool = False
    """Print the steps and their numbers, not rounded, as one JSON object."""

    def __call__(self) -> None:
        """Prints the steps, or writes them where the topic has an `output`."""
        self.check()
        output = getattr(self, "output", None)
        check_output(output, suffixes=self.SUFFIXES)
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        from pipelines.learn.format import format_lesson
        from pipelines.learn.steps import as_json

        lesson = self.lesson()
        if output is not None:
            from pipelines.learn import notebook, page
            from pipelines.learn.figures import svg

            renderers = {
                ".html": ("page", page.render),
                ".ipynb": ("notebook", notebook.render),
                ".svg": ("picture", svg.render),
            }
            kind, render = renderers[output.suffix]
            write_text(output, render(lesson))
            print(f"{kind}: {shown(output)}")
        elif self.json:
            print_json(as_json(lesson))
        else:
            print("\n".join(format_lesson(lesson)))

    def check(self) -> None:
        """Checks the flags, before TensorFlow is imported.

        Raises:
            UserError: a flag has a wrong value.
        """

    def lesson(self) -> "Lesson":
        """Returns the steps of the topic."""
        raise NotImplementedError


OutputFlag = Annotated[
    Path | None,
    PATH,
    tyro.conf.arg(
        help="File to write instead of printing: .html, a page with the figures that works without a network, or "
        ".ipynb, a notebook."
    ),
]
