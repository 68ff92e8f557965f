"""`learn glossary`: what a term means, its equation, the code that computes it, and a command that shows it."""

import dataclasses
import textwrap
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import print_json
from pipelines.learn.sources import located
from pipelines.learn.terms import TERMS, Term
from pipelines.support.errors import UserError, suggestion
from pipelines.support.installation import shell_command

_WIDTH, _INDENT = 100, "   "


@dataclasses.dataclass(frozen=True, kw_only=True)
class Glossary:
    """Look up a term of the material: meaning, equation, code and a command; without a term, list all."""

    examples: ClassVar = ("", '"vanishing gradient"')

    term: tyro.conf.Positional[Annotated[str | None, tyro.conf.arg(metavar="TERM", help_behavior_hint="")]] = None
    """A term, or another name of it; upper and lower case are the same."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints the term, or the names of all."""
        if self.term is None:
            if self.json:
                print_json({name: term._asdict() for name, term in TERMS.items()})
            else:
                print("\n".join(textwrap.wrap(", ".join(sorted(TERMS, key=str.lower)), _WIDTH)))
            return
        name, term = find(self.term)
        if self.json:
            print_json({"term": name, **term._asdict()})
            return
        print(name if not term.also else f"{name} ({', '.join(term.also)})")
        print(textwrap.fill(term.meaning, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT))
        if term.equation:
            print(f"\n{_INDENT}{term.equation}")
        if term.code:
            print(f"\n{_INDENT}code     {located(term.code)}")
        print(f"{_INDENT}command  {shell_command()} {term.command}")


def find(given: str) -> tuple[str, Term]:
    """Returns the name of a term and the term.

    Args:
        given: the name or another one, in upper or lower case.

    Raises:
        UserError: there is none.
    """
    names = {each.lower(): name for name, term in TERMS.items() for each in (*term.also, name)}
    wanted = " ".join(given.lower().split())
    if wanted not in names:
        raise UserError(f"no term {given!r}{suggestion(wanted, list(names)) or ': `learn glossary` lists all'}")
    return names[wanted], TERMS[names[wanted]]
