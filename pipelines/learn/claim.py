"""`learn claim`: a sentence of the material on settings, tested by a grid of small trainings. Imports nothing heavy."""

import dataclasses
import shlex
import statistics
import textwrap
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from pipelines.command_line import RUNS, RunsFlag, print_json
from pipelines.learn.claims import CLAIMS, TIME, Claim
from pipelines.runs import repeat
from pipelines.support.errors import UserError
from pipelines.support.files import shown
from pipelines.support.installation import default_folder, shell_command
from pipelines.task import TASKS
from pipelines.tune.command import TuneCommand, command_of

_WIDTH, _INDENT = 100, "   "
_MANY_EPOCHS = 1000  # with --minutes, the time ends a training


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClaimTest:
    """Test what the material says of settings by small trainings; without a number, list the claims."""

    examples: ClassVar = ("", "7", "13 --data tiny-shakespeare --seeds 5")

    number: tyro.conf.Positional[Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]] = None
    """Number of the claim in the list."""
    data: Annotated[str | None, tyro.conf.arg(metavar="NAME|FILE", help_behavior_hint="")] = None
    """Data of the claim's task, as in `train`. By default its embedded sample, which says little about real text."""
    seeds: int = 3
    """Train each point with N seeds. More can be added later."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="M", help_behavior_hint="")] = None
    """Compare after equal time: each training ends after M minutes. By default all points make equally many updates."""
    json: bool = False
    """Print one JSON object."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""

    def __call__(self) -> None:
        """Prints the list, or trains what is missing and prints the numbers and the verdict."""
        if self.number is None:
            self._print_list()
            return
        if self.number not in CLAIMS:
            raise UserError(f"claim {self.number}: there are the claims 1 to {max(CLAIMS)}; `learn claim` lists them")
        claim = CLAIMS[self.number]
        if not claim.grid:
            raise UserError(f"claim {self.number} compares no settings; its commands are: {'; '.join(claim.commands)}")
        if self.minutes is not None and any(each.measure == TIME for each in claim.predictions):
            raise UserError(f"--minutes: claim {self.number} is on the {TIME}, which are compared with equal updates")
        made = tune_command(claim, self.data, self.seeds, self.minutes, self.runs)
        result, _ = made.compare()
        described = describe(self.number, claim, made, result)
        if self.json:
            print_json(described)
        else:
            print("\n".join(_lines(described)))

    def _print_list(self) -> None:
        if self.json:
            print_json({number: dataclasses.asdict(claim) for number, claim in CLAIMS.items()})
            return
        for number, claim in CLAIMS.items():
            print(f"{number:>2}  {claim.question}")
            compared = " and ".join(claim.grid) if claim.grid else "; ".join(claim.commands)
            for line in (f"{claim.where}: {claim.says}", f"{claim.task}: {compared}" if claim.grid else compared):
                print(textwrap.fill(line, _WIDTH, initial_indent="    ", subsequent_indent="    "))
        print(f"\nTest one with `{shell_command()} learn claim 7`: small trainings with three seeds, and a verdict.")


def tune_command(claim: Claim, data: str | None, seeds: int, minutes: float | None, runs: Path) -> TuneCommand:
    """Returns the command `tune` that trains the points of a claim.

    Args:
        data: None is the embedded sample.
        minutes: of each training; None makes equally many updates.
    """
    entry = TASKS[claim.task]
    settings: dict[str, Any] = {**entry.defaults, "preset": "quick", **claim.settings, "data": data}
    if minutes is not None:
        settings |= {"minutes": minutes, "epochs": _MANY_EPOCHS}
    config = dataclasses.replace(entry.config_class()(), **settings)
    return command_of(entry)(
        task=claim.task,
        config=config,
        grid=(claim.grid,),
        equal_parameters=claim.equal_parameters,
        seeds=seeds,
        runs=runs,
    )


def command_line(made: TuneCommand) -> str:
    """Returns the command line of `tune_command` with equally many updates, after the name of the program."""
    arguments = ["tune", made.task, *repeat.command_flags(made.config), "--grid", *made.grid[0]]
    arguments += ["--equal-parameters"] * made.equal_parameters + ["--seeds", str(made.seeds)]
    if Path(made.runs).resolve() != default_folder("runs").resolve():
        arguments += ["--runs", str(made.runs)]
    return shlex.join(arguments)


def describe(number: int, claim: Claim, made: TuneCommand, result: dict) -> dict[str, Any]:
    """Returns what is printed: the claim, a row for each point, what is predicted and measured, and the verdict.

    Args:
        result: of the grid.
    """
    from pipelines.learn import verdict

    points = result["points"]
    final, judged = verdict.judged_claim(claim, points)
    minutes = made.config.minutes
    measures = dict.fromkeys([result["measure"], "parameters", *([TIME] if minutes is None else [])])
    measures |= dict.fromkeys(each.measure for each in claim.predictions)
    rows = []
    for point in points:
        trainings = point["seeds"].values()
        row: dict[str, Any] = {"settings": point["settings"], "measured": {}}
        for measure in measures:
            found = [n for each in trainings if (n := verdict.number_of(each, measure)) is not None]
            deviation = statistics.stdev(found) if len(found) > 1 else None
            row["measured"][measure] = {"mean": statistics.fmean(found) if found else None, "deviation": deviation}
        rows.append(row | {"seconds": sum(each["training_seconds"] for each in trainings)})
    return {
        "claim": number,
        "question": claim.question,
        "says": f"{claim.where}: {claim.says}",
        "compared": "equal updates" if minutes is None else f"equal time, {minutes:g} minutes each",
        "command": command_line(made) if minutes is None else "",
        "sample": made.config.data is None,
        "points": rows,
        "predictions": [
            {"difference": verdict.difference(each, points), "claimed": verdict.claimed(each)}
            | {"measured": verdict.measured(found), **found._asdict()}
            for each, found in zip(claim.predictions, judged, strict=True)
        ],
        "verdict": final,
        "report": result["report"],
    }


def _lines(described: dict[str, Any]) -> list[str]:
    from pipelines.support import reports

    lines = [f"claim {described['claim']}: {described['question']}"]
    lines += textwrap.wrap(described["says"], _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    lines += [f"{_INDENT}{described['compared']}"]
    if described["command"]:
        command = f"$ {shell_command()} {described['command']}"
        options: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}
        indent = 2 * _INDENT
        lines += textwrap.wrap(command, _WIDTH, initial_indent=_INDENT, subsequent_indent=indent, **options)
    if described["sample"]:
        lines += [f"{_INDENT}{reports.SAMPLE_WARNING} --data names others."]
    lines += ["", *(_INDENT + line for line in _table(described["points"])), ""]
    stated = [
        f"{each['verdict']}: {each['difference']}: {each['measured']} (claimed: {each['claimed']})"
        for each in described["predictions"]
    ]
    if len(stated) > 1:
        for each in stated:
            lines += textwrap.wrap(each, _WIDTH, initial_indent=_INDENT, subsequent_indent=2 * _INDENT)
    # The prediction that decides is the first one with the verdict of all together.
    lines += ["verdict: " + next(each for each in stated if each.startswith(described["verdict"]))]
    lines += ["Intervals: 95 %, of the differences paired by seed, Student's t with n - 1 degrees of freedom."]
    return [*lines, f"report {shown(reports.page_of(Path(described['report'])))}"]


def _table(rows: list[dict]) -> list[str]:
    """Returns the aligned lines of the points: means, and standard deviations behind them."""
    from pipelines.tune import values

    cells = [["point", *rows[0]["measured"], "training"]]
    for row in rows:
        numbers = [_cell(measure, **found) for measure, found in row["measured"].items()]
        cells.append([values.shown(row["settings"]), *numbers, f"{row['seconds']:.0f} s"])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in cells
    ]


def _cell(measure: str, mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "-"
    if measure.startswith("parameters"):
        return f"{mean:,.0f}"
    return f"{mean:.4g}" + ("" if deviation is None else f" \N{PLUS-MINUS SIGN} {deviation:.2g}")
