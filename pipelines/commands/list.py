"""The command `list`: the runs, searches and exports on this machine."""

import dataclasses

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, print_error, print_json
from pipelines.export.exported import Exported
from pipelines.runs import inventory
from pipelines.runs.inventory import Run
from pipelines.support import terminal
from pipelines.support.files import shown
from pipelines.support.run_result import PAGE
from pipelines.tune.inventory import KeptSearch, all_searches
from pipelines.tune.study import RECORD


@dataclasses.dataclass(frozen=True)
class List:
    """List the runs, the searches of `tune` and the exported models: task, data, score, size, age and state."""

    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints a table of each kind."""
        runs = [describe_run(run) for run in inventory.all_runs(self.runs)]
        searches = [describe_search(search) for search in all_searches(self.runs)]
        exports = [describe_export(exported) for exported in inventory.all_exports(self.saved_models)]
        if self.json:
            print_json({"runs": runs, "searches": searches, "exports": exports})
            return
        for title, rows, folder in (
            ("runs", runs, self.runs),
            ("searches", searches, self.runs),
            ("exports", exports, self.saved_models),
        ):
            if rows:
                where = f"; the report of each is NAME/{PAGE} there" if title == "runs" else ""
                print(terminal.fitted(f"{title} in {shown(folder)}{where}\n"))
                lines = [f"  {line}" for line in table([_for_people(row) for row in rows])]
                print(terminal.fitted("\n".join(lines)), end="\n\n")
            elif title != "searches":  # most people have none
                print_error(f"no {title} in {shown(folder)}")


def describe_run(run: Run) -> dict:
    """Returns what is listed of a run, for JSON."""
    result, config = run.result or {}, run.record.get("config", {})
    return {
        "name": run.title,
        "model": config.get("model"),
        "data": run.record.get("data", {}).get("name"),
        **_measure_and_score(inventory.main_score(result.get("scores", {}), run.task)),
        "bytes": inventory.size_of(run.path),
        "started": run.record.get("started"),
        "state": run.state,
        "export": result.get("model"),
        "report": str(page) if (page := run.path / PAGE).is_file() else None,
    }


def describe_search(search: KeptSearch) -> dict:
    """Returns what is listed of a search or a grid, for JSON."""
    record = search.record
    return {
        "name": search.title,
        "task": record.get("task"),
        "kind": record.get("kind"),
        "model": record.get("config", {}).get("model"),
        "data": record.get("data", {}).get("name"),
        "trials": search.trials,
        **_measure_and_score(search.best),
        "bytes": inventory.size_of(search.path),
        "written": int((search.path / RECORD).stat().st_mtime),
        "state": search.state,
    }


def describe_export(exported: Exported) -> dict:
    """Returns what is listed of an export, for JSON."""
    card = inventory.card_of(exported)
    return {
        "name": exported.title,
        "task": card.get("task"),
        "model": card.get("config", {}).get("model"),
        "data": card.get("data", {}).get("name"),
        **_measure_and_score(inventory.main_score(card.get("scores", {}), card.get("task"))),
        "bytes": inventory.size_of(exported.path),
        "written": int(exported.path.stat().st_mtime),
    }


def table(rows: list[dict[str, str]]) -> list[str]:
    """Returns the lines of a table for a terminal: the columns' names, then the rows.

    Args:
        rows: column -> cell, all with the same columns.
    """
    names = list(rows[0])
    widths = [max(len(name), *(len(row[name]) for row in rows)) for name in names]
    lines = [names, *(list(row.values()) for row in rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _measure_and_score(found: tuple[str, float] | None) -> dict:
    return {"measure": found and found[0], "score": found and found[1]}


def _for_people(described: dict) -> dict[str, str]:
    measure, score = described.pop("measure"), described.pop("score")
    when = described.pop("started", None) or described.pop("written", None)
    values = {name: str(value or "-") for name, value in described.items() if name not in ("bytes", "report")}
    last = {name: values.pop(name) for name in ("state", "export") if name in values}
    return {
        **values,
        "score": "-" if score is None else f"{measure} {score:.3f}",
        "size": inventory.size(described["bytes"]),
        "age": inventory.age(when),
        **last,
    }
