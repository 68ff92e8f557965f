"""report.md of a language model, and its picture: what a run came to, for somebody who did not watch it."""

from pathlib import Path

from pipelines.files import shown, write_text
from pipelines.reporting import SAMPLE_WARNING, curves, data_name, duration, model_flags, record_lines, save


def summary(result: dict) -> str:
    """The few lines that a terminal shows at the end of a run."""
    scores = result["scores"]["validation"]
    lines = [
        f"{result['pipeline']}, {result['config']['model']}, {data_name(result)}",
        f"  {'validation':<12}{scores['tokens']:>9,} tokens   loss {scores['loss']:.4f} nats   perplexity {scores['perplexity']:.2f}   "
        f"{scores['bits_per_character']:.3f} bits per character",
    ]
    if result["sample"]:
        lines.append(f"  {SAMPLE_WARNING}")
    lines.append(f"  {'report':<12}{shown(Path(result['report']))}")
    lines.append(f"  {'model':<12}{shown(Path(result['export']))}")
    lines.append(f"  {'try it':<12}{_try_command(result)}")
    return "\n".join(lines)


def write(folder: Path, result: dict, samples: list[dict]) -> None:
    """Writes `folder`/report.md and curves.png.

    Args:
        result: as run.py makes it.
        samples: dicts of prompt and text, what the model wrote behind it.
    """
    save(curves(result, {"loss": "loss, nats per token"}), folder / "curves.png")
    write_text(folder / "report.md", "\n".join(_lines(result, samples)) + "\n")


def _lines(result: dict, samples: list[dict]) -> list[str]:
    scores, config = result["scores"]["validation"], result["config"]
    lines = [
        f"# Language model: {config['model']} on {data_name(result)}",
        "",
        f"On {scores['tokens']:,} tokens ({scores['characters']:,} characters) that it did not train on, this model's perplexity "
        f"is **{scores['perplexity']:.2f}**: it is as unsure of the next token as if it chose among so many equally likely ones.",
        "",
    ]
    if result["sample"]:
        lines += [f"**{SAMPLE_WARNING}**", ""]
    lines += [
        "## Scores",
        "",
        "| | validation |",
        "|---|---:|",
        f"| loss, nats per token | {scores['loss']:.4f} |",
        f"| perplexity | {scores['perplexity']:.3f} |",
        f"| bits per character | {scores['bits_per_character']:.4f} |",
        "",
        "The text was read in one stream from start to end: these figures do not depend on a batch size.",
    ]
    if scores["unknown_tokens"]:
        lines.append(f"{scores['unknown_tokens']:,} of its tokens are not in the vocabulary, and count as the unknown one.")
    lines += ["", "## What it writes", ""]
    for sample in samples:
        begun = "From nothing:" if not sample["prompt"] else "Going on from the first characters of the validation text:"
        lines += [begun, "", "```text", *(sample["prompt"] + sample["text"]).splitlines(), "```", ""]
    lines += [
        "## Learning",
        "",
        f"{len(result['epochs'])} epochs in {duration(result['training_seconds'])}. The weights of epoch {result['best_epoch']}, the one "
        "with the lowest validation loss, were kept.",
        "",
        "![Loss by epoch](curves.png)",
        "",
        "## Data",
        "",
        f"- Training: {result['rows']['train']:,} tokens, {result['characters']['train']:,} characters.",
        f"- Validation: {result['rows']['valid']:,} tokens, {result['characters']['valid']:,} characters.",
        "",
        "## Use",
        "",
        f"The model is in `{shown(Path(result['export']))}`: a SavedModel that takes strings, for TF Serving or "
        "`tf.saved_model.load`.",
        "",
        "```",
        _try_command(result),
        f"python main.py evaluate {result['pipeline']} --data FILE{model_flags(result)}",
        "```",
        "",
    ]
    return lines + record_lines(result)


def _try_command(result: dict) -> str:
    return f'python main.py predict {result["pipeline"]} "The "{model_flags(result)}'
