"""The report of an encoder's pretraining: report.md, its picture, and the summary on the terminal."""

from pathlib import Path

from pipelines.support import charts, reports
from pipelines.support.files import shown
from pipelines.support.installation import shell_command
from pipelines.support.run_result import RunResult

_OBJECTIVES = {
    "causal": "to predict the next token from the previous ones",
    "bidirectional": "to predict masked tokens from those on both sides",
}


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    scores, config = result.scores["validation"], result.config
    line = (
        f"  {'validation':<12}{scores['tokens']:>9,} tokens   loss {scores['loss']:.4f} nats   "
        f"perplexity {scores['perplexity']:.2f}"
    )
    title = f"encoder, {config['direction']} {config['model']}, {reports.data_name(result)}"
    return reports.summary(result, title, [line], _transfer_command(result), product="encoder")


def write_report(result: RunResult, details: dict, folder: Path) -> None:
    """Writes the report and curves.png to `folder`."""
    charts.save(reports.curves(result, {"loss": "loss, nats per token"}), folder / "curves.png")
    reports.write(folder, _lines(result))


def _lines(result: RunResult) -> list[str]:
    scores, config = result.scores["validation"], result.config
    sentence = (
        f"The encoder learned {_OBJECTIVES[config['direction']]}. On {scores['tokens']:,} tokens that were not in the "
        f"training texts, the loss is {scores['loss']:.4f} nats, a perplexity of **{scores['perplexity']:.2f}**."
    )
    description = (
        "a SavedModel with TF Hub's interface. It takes strings and returns `pooled_output`, `sequence_output`, "
        "`encoder_outputs` and `mask`. It can be fine-tuned: `hub.load` and `HubEncoder` take its folder"
    )
    title = f"Encoder: {config['direction']} {config['model']} on {reports.data_name(result)}"
    return [
        *reports.header_lines(result, title, sentence),
        *reports.learning_lines(result, "the lowest validation loss", "Loss by epoch"),
        "## Data",
        "",
        f"- Training: {result.rows['train']:,} {result.unit}; validation: {result.rows['valid']:,}.",
        *reports.note_lines(result),
        "",
        *reports.use_lines(result, [_transfer_command(result)], description),
        *reports.record_lines(result),
    ]


def _transfer_command(result: RunResult) -> str:
    return f"{shell_command()} train transfer --encoder {shown(Path(result.export))} --data FILE"
