"""What `doctor` finds in data: sentences, each with what mends it, and examples."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from pipelines.support.examples import excerpt

MAX_EXAMPLES = 3
_MAX_CHARACTERS = 90  # of an example
_WORTH = 0.001  # fraction of the rows: fewer are in every large corpus, and change no model


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something in the data that a user should look at.

    Attributes:
        name: short, and the same in later versions, for programs.
        text: a sentence without a full stop.
        remedy: the flag or the command that mends it; "" where only the data can be mended.
        examples: at most MAX_EXAMPLES, where they are and what is there.
    """

    name: str
    text: str
    remedy: str = ""
    examples: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Examined:
    """What `doctor` says about data.

    Attributes:
        facts: what the data is like, for the JSON object.
        lines: the same for the terminal.
        findings: what a user should look at.
    """

    facts: dict[str, Any]
    lines: list[str]
    findings: list[Finding]

    def to_json(self) -> dict[str, Any]:
        """Returns the facts and the findings."""
        return self.facts | {"findings": [dataclasses.asdict(finding) for finding in self.findings]}


def is_worth(count: int, of: int, share: float = _WORTH) -> bool:
    """Whether `count` of `of` rows are enough to be named."""
    return count > 0 and count >= share * of


def examples(places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Returns examples from (where, what is there)."""
    return tuple(f"{where}: {excerpt(text, _MAX_CHARACTERS)}" for (where, text), _ in zip(places, range(MAX_EXAMPLES)))


def percent(count: int, of: int) -> str:
    """Returns a fraction such as `2.5 %`."""
    return f"{100 * count / of:.3g} %"


def fact_lines(values: dict[str, str]) -> list[str]:
    """Returns the lines of title -> value, with the values below each other."""
    return [f"  {title:<16}{value}" for title, value in values.items()]


def finding_lines(found: list[Finding]) -> list[str]:
    """Returns the lines of the findings for the terminal."""
    if not found:
        return ["findings", "", "  none"]
    lines = ["findings"]
    for finding in found:
        lines += ["", f"  {finding.text}"]
        lines += [f"    {example}" for example in finding.examples]
        lines += [f"    mended by: {finding.remedy}"] if finding.remedy else []
    return lines
