"""The report of a language model's training: report.md, its picture, and the summary on the terminal."""

import dataclasses
from pathlib import Path

import numpy as np

from pipelines.language_model.kneser_ney import Tables
from pipelines.support import baselines, charts, markdown, reports
from pipelines.support.installation import shell_command
from pipelines.support.run_result import RunResult


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    scores = result.scores["validation"]
    line = (
        f"  {'validation':<12}{scores['tokens']:>9,} tokens   loss {scores['loss']:.4f} nats   "
        f"perplexity {scores['perplexity']:.2f}   {scores['bits_per_character']:.3f} bits per character"
    )
    title = f"{result.task}, {result.config['model']}, {reports.data_name(result)}"
    lines = [line, *baselines.summary_lines(scores, _summary_of_baseline)]
    return reports.summary(result, title, lines, reports.predict_command(result))


def write_report(result: RunResult, details: dict, folder: Path) -> None:
    """Writes the report to `folder` and, of a model that was trained, curves.png.

    Args:
        details: "samples", dicts of prompt and generated text, and "ngrams", the tables of an n-gram model or None.
    """
    ngrams = details["ngrams"]
    if ngrams is None:
        rows = [
            row | {f"{split}perplexity": float(np.exp(row[f"{split}loss"])) for split in ("", "val_")}
            for row in result.epochs
        ]
        measures = {"loss": "loss, nats per token", "perplexity": "perplexity"}
        charts.save(reports.curves(dataclasses.replace(result, epochs=rows), measures), folder / "curves.png")
    reports.write(folder, _lines(result, details["samples"], ngrams))


def _lines(result: RunResult, samples: list[dict], ngrams: Tables | None) -> list[str]:
    scores = result.scores["validation"]
    sentence = (
        f"On {scores['tokens']:,} tokens ({scores['characters']:,} characters) that were not in the training text, the "
        f"perplexity is **{scores['perplexity']:.2f}**: the model is as uncertain about the next token as if it chose "
        "among this number of equally likely ones."
    )
    rows = [
        ("loss, nats per token", "{loss:.4f}"),
        ("perplexity", "{perplexity:.3f}"),
        ("bits per character", "{bits_per_character:.4f}"),
    ]
    lines = reports.header_lines(
        result, f"Language model: {result.config['model']} on {reports.data_name(result)}", sentence
    )
    lines += [
        *reports.score_table(result, rows),
        "",
        "The text was read in one stream from start to end: these figures do not depend on a batch size.",
    ]
    if scores["unknown_tokens"]:
        lines.append(f"{scores['unknown_tokens']:,} of its tokens are not in the vocabulary: they count as unknown.")
    if "cache_theta" in scores:
        lines += ["", _cache_sentence(scores)]
    lines += ["", *_baseline_lines(result), "## Generated text", ""]
    for sample in samples:
        origin = "After the first characters of the validation text:" if sample["prompt"] else "Without a prompt:"
        generated = (sample["prompt"] + sample["text"]).splitlines()
        lines += [origin, "", *markdown.fenced(generated, "text"), ""]
    if ngrams is None:
        lines += reports.learning_lines(result, "the lowest validation loss", "Loss and perplexity by epoch")
    else:
        lines += _ngram_lines(ngrams)
    lines += ["## Data", ""]
    for name, split in (("Training", "train"), ("Validation", "valid")):
        lines.append(f"- {name}: {result.rows[split]:,} tokens, {result.about['characters'][split]:,} characters.")
    evaluate = f"{shell_command()} evaluate {result.task} --data FILE{reports.model_flags(result)}"
    return [
        *lines,
        "",
        *reports.use_lines(result, [reports.predict_command(result), evaluate]),
        *reports.record_lines(result),
    ]


def _summary_of_baseline(baseline: dict) -> str:
    return f"perplexity {baseline['perplexity']:.2f}   {baseline['bits_per_character']:.3f} bits per character"


def _baseline_lines(result: RunResult) -> list[str]:
    """The section on the n-gram model of the same tokens; [] without it."""
    scores = result.scores["validation"]
    lines = []
    for each in scores.get("baselines", ()):
        lines += ["## Baseline", ""]
        if "left_out" in each:
            lines += [f"The {each['name']} is left out: {each['left_out']}.", ""]
            continue
        lines += ["| | loss, nats per token | perplexity | bits per character |", "|---|---:|---:|---:|"]
        for name, found in (("this model", scores), (each["name"], each)):
            measures = f"{found['loss']:.4f} | {found['perplexity']:.3f} | {found['bits_per_character']:.4f}"
            lines.append(f"| {name} | {measures} |")
        interval = each["difference_interval"]
        by = ""
        if interval:
            low, high = interval
            by = f" Its loss minus that of this model: {low:.3f} to {high:.3f} nats per token (95 % interval)."
        lines += [
            *baselines.report_lines(result.scores),
            "",
            f"`--model ngram` on the same tokens, which takes seconds: counts with modified Kneser-Ney smoothing.{by}",
            "",
        ]
    return lines


def _ngram_lines(ngrams: Tables) -> list[str]:
    """Returns the section on the tables of an n-gram model."""
    rows = enumerate(zip(ngrams.sizes, ngrams.discounts, strict=True), start=1)
    return [
        "## Counts",
        "",
        "Nothing is trained. Modified Kneser-Ney smoothing takes a discount from each n-gram that occurs once, twice, "
        "or more often, and gives it to the shorter n-grams.",
        "",
        "| tokens | different n-grams | discount of 1 | of 2 | of 3 and more |",
        "|---:|---:|---:|---:|---:|",
        *(
            f"| {tokens} | {size:,} | {' | '.join(f'{discount:.3f}' for discount in discounts)} |"
            for tokens, (size, discounts) in rows
        ),
        "",
    ]


def _cache_sentence(scores: dict) -> str:
    return (
        "`evaluate` and `predict` with `--cache-size N` remember the last N tokens. On the first validation tokens, "
        f"theta {scores['cache_theta']:g} and lambda {scores['cache_lambda']:g} were best: they are the defaults."
    )
