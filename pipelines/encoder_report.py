"""report.md of an encoder, and its picture."""

from pathlib import Path

from pipelines.files import shown, write_text
from pipelines.reporting import SAMPLE_WARNING, curves, data_name, duration, note_lines, record_lines, save


def summary(result: dict) -> str:
    """The few lines that a terminal shows at the end of a run."""
    scores = result["scores"]["validation"]
    lines = [
        f"encoder, {result['config']['direction']} {result['config']['model']}, {data_name(result)}",
        f"  {'validation':<12}{scores['tokens']:>9,} tokens   loss {scores['loss']:.4f} nats   perplexity {scores['perplexity']:.2f}",
    ]
    if result["sample"]:
        lines.append(f"  {SAMPLE_WARNING}")
    lines.append(f"  {'report':<12}{shown(Path(result['report']))}")
    lines.append(f"  {'encoder':<12}{shown(Path(result['export']))}")
    lines.append(f"  {'try it':<12}{_try_command(result)}")
    return "\n".join(lines)


def write(folder: Path, result: dict) -> None:
    save(curves(result, {"loss": "loss, nats per token"}), folder / "curves.png")
    write_text(folder / "report.md", "\n".join(_lines(result)) + "\n")


def _lines(result: dict) -> list[str]:
    scores, config = result["scores"]["validation"], result["config"]
    task = "the next token from those before it" if config["direction"] == "causal" else "hidden tokens from those around them"
    lines = [
        f"# Encoder: {config['direction']} {config['model']} on {data_name(result)}",
        "",
        f"It learned to tell {task}. On {scores['tokens']:,} tokens that it did not train on its loss is {scores['loss']:.4f} nats, a perplexity "
        f"of **{scores['perplexity']:.2f}**.",
        "",
    ]
    if result["sample"]:
        lines += [f"**{SAMPLE_WARNING}**", ""]
    lines += [
        "## Learning", "", f"{len(result['epochs'])} epochs in {duration(result['training_seconds'])}. The weights of epoch {result['best_epoch']}, "
        "the one with the lowest validation loss, were kept.", "", "![Loss by epoch](curves.png)", "",
        "## Data", "", f"- Training: {result['rows']['train']:,} {result['unit']}; validation: {result['rows']['valid']:,}.", *note_lines(result), "",
    ]  # fmt: skip
    lines += [
        "## Use",
        "",
        f"The encoder is in `{shown(Path(result['export']))}`: a SavedModel with TF Hub's interface. It takes strings and gives `pooled_output`, "
        "`sequence_output`, `encoder_outputs` and `mask`, and learns on: `hub.load` and `HubEncoder` take its folder.",
        "",
        "```",
        _try_command(result),
        "```",
        "",
    ]
    return lines + record_lines(result)


def _try_command(result: dict) -> str:
    return f"python main.py train transfer --encoder {shown(Path(result['export']))} --data FILE"
