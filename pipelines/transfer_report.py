"""The stages of a transfer, as a table."""

from pipelines import report
from pipelines.configs.base import from_dict
from pipelines.configs.transfer import TransferConfig
from pipelines.reporting import duration, percent


def stages(result: dict) -> list[dict]:
    """One dict per stage that was begun: "stage", "epochs", "learning" (weights), "accuracy" and "loss" of its best epoch, "seconds"."""
    config = from_dict(TransferConfig, result["config"])
    found: dict[str, list[dict]] = {}
    for row, seconds in zip(result["epochs"], result["epoch_seconds"], strict=True):
        found.setdefault(config.stage_at(row["epoch"] - 1).name, []).append(row | {"seconds": seconds})
    table = []
    for name, rows in found.items():
        best = min(rows, key=lambda row: row["val_loss"])
        table.append({
            "stage": name, "epochs": len(rows), "learning": rows[0]["weights that learn"], "accuracy": best["val_accuracy"],
            "loss": best["val_loss"], "seconds": round(sum(row["seconds"] for row in rows), 1),
        })  # fmt: skip
    return table


def stage_lines(result: dict) -> list[str]:
    lines = ["## Stages", "", "| what learns | epochs | weights that learn | accuracy | loss | time |", "|---|---:|---:|---:|---:|---:|"]
    for stage in stages(result):
        accuracy, time = percent(stage["accuracy"]), duration(stage["seconds"])
        lines.append(f"| {stage['stage']} | {stage['epochs']} | {stage['learning']:,} | {accuracy} | {stage['loss']:.3f} | {time} |")
    return [*lines, ""]


def summary(result: dict) -> str:
    """The few lines that a terminal shows at the end of a run."""
    lines = []
    for stage in stages(result):
        lines.append(
            f"  {stage['stage']:<12}{stage['learning']:>11,} weights learn   accuracy {percent(stage['accuracy'])}   {duration(stage['seconds'])}"
        )
    return "\n".join([report.summary(result), *lines])
