"""The report of transfer: that of labelled texts, with a table of the stages."""

from pathlib import Path
from typing import NamedTuple

from pipelines.labelled import report
from pipelines.settings.config import from_dict
from pipelines.support.reports import duration, percent
from pipelines.support.run_result import RunResult
from pipelines.transfer.config import TransferConfig


class StageResult(NamedTuple):
    """The result of one stage.

    Attributes:
        name: of the stage.
        epochs: number of epochs that were trained.
        trainable_weights: number of weights that were trained.
        accuracy, loss: of the stage's best epoch, on validation.
        seconds: duration.
    """

    name: str
    epochs: int
    trainable_weights: int
    accuracy: float
    loss: float
    seconds: float


def stage_results(result: RunResult) -> list[StageResult]:
    """Returns the result of each stage that started."""
    config = from_dict(TransferConfig, result.config)
    rows_of: dict[str, list[dict]] = {}
    for row, seconds in zip(result.epochs, result.epoch_seconds, strict=True):
        rows_of.setdefault(config.stage_at(row["epoch"] - 1).name, []).append(row | {"seconds": seconds})
    stages = []
    for name, rows in rows_of.items():
        best = min(rows, key=lambda row: row["val_loss"])
        seconds = round(sum(row["seconds"] for row in rows), 1)
        trainable_weights = rows[0]["trainable_weights"]
        stages.append(StageResult(name, len(rows), trainable_weights, best["val_accuracy"], best["val_loss"], seconds))
    return stages


def write_report(result: RunResult, details: dict, folder: Path) -> None:
    """Writes the report and its pictures; for `details` see `labelled.report.write`."""
    report.write(result, details, folder, sections=[*_attempt_lines(result), *_stage_lines(result)])


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    lines = [
        f"  {attempt['name']:<20}accuracy {percent(attempt['accuracy'])}   loss {attempt['loss']:.3f}   "
        f"{duration(attempt['seconds'])}{'   (chosen)' if attempt['chosen'] else ''}"
        for attempt in result.findings.get("attempts", [])
    ]
    lines += [
        f"  {stage.name:<12}{stage.trainable_weights:>11,} trainable weights   accuracy {percent(stage.accuracy)}   "
        f"{duration(stage.seconds)}"
        for stage in stage_results(result)
    ]
    return "\n".join([report.summarize(result), *lines])


def _attempt_lines(result: RunResult) -> list[str]:
    attempts = result.findings.get("attempts")
    if not attempts:
        return []
    lines = [
        "## Recipe",
        "",
        "The trainings that were tried. The one with the lowest loss on the validation texts was exported; that it was "
        "chosen on them makes its scores on them slightly too good.",
        "",
        "| training | trainable weights | accuracy | loss | time | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for attempt in attempts:
        lines.append(
            f"| {attempt['name']} | {attempt['trainable_weights']:,} | {percent(attempt['accuracy'])} | "
            f"{attempt['loss']:.3f} | {duration(attempt['seconds'])} | {'chosen' if attempt['chosen'] else ''} |"
        )
    return [*lines, ""]


def _stage_lines(result: RunResult) -> list[str]:
    lines = [
        "## Stages",
        "",
        "| stage | epochs | trainable weights | accuracy | loss | time |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for stage in stage_results(result):
        lines.append(
            f"| {stage.name} | {stage.epochs} | {stage.trainable_weights:,} | {percent(stage.accuracy)} | "
            f"{stage.loss:.3f} | {duration(stage.seconds)} |"
        )
    return [*lines, ""]
