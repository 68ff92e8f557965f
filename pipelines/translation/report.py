"""The report of a translator and its pictures, and the summary on the terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from pipelines.data.pairs import Pairs
from pipelines.support import baselines, charts, markdown, predictions, reports
from pipelines.support.charts import BLUE, CELLS, GREY
from pipelines.support.installation import shell_command
from pipelines.support.run_result import RunResult
from pipelines.translation.config import WITH_ATTENTION

_NUM_EXAMPLES = 8
_DRAWN_WORDS = 10  # words of the sentence whose attention is drawn: enough to see something, few enough to read
_SCORES = (
    ("BLEU", "{bleu:.2f}"),
    ("chrF", "{chrf:.2f}"),
    ("TER (lower is better)", "{ter:.2f}"),
    ("ROUGE-1, F1", "{rouge1:.2f}"),
    ("ROUGE-2, F1", "{rouge2:.2f}"),
    ("ROUGE-L, F1", "{rougeL:.2f}"),
    ("equal to the reference, %", "{exact_match:.2f}"),
    ("empty translations", "{empty:,}"),
    ("pairs", "{rows:,}"),
)


class Alignment(NamedTuple):
    """The attention weights of one translation."""

    source_tokens: list[str]
    target_tokens: list[str]
    weights: np.ndarray  # float [heads, Tt, Ts]


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    name = " ".join([result.task, *filter(None, [result.about.get("pair")])])
    title = f"{name}, {result.config['model']}, {reports.data_name(result)}"
    lines = [
        line
        for split, scores in result.scores.items()
        for line in (
            f"  {split:<12}{scores['rows']:>7,} pairs   BLEU {_bleu(scores)}   chrF {scores['chrf']:.2f}   "
            f"TER {scores['ter']:.2f}",
            *baselines.summary_lines(scores, lambda each: f"BLEU {each['bleu']:.2f}"),
        )
    ]
    return reports.summary(result, title, lines, reports.predict_command(result))


def _bleu(scores: dict) -> str:
    """BLEU with its 95 % interval, where there is one."""
    limits = scores.get("bleu_interval")
    return f"{scores['bleu']:.2f}" + (f" ({limits[0]:.1f} to {limits[1]:.1f})" if limits else "")


def write_report(result: RunResult, details: dict, folder: Path) -> None:
    """Writes the report to `folder`, with predictions.csv, curves.png, lengths.png and, with attention, attention.png.

    Args:
        details: "valid", the validation pairs, their "translations", and the "servable".
    """
    valid = details["valid"]
    curves = {"loss": "loss, nats per token", "bleu": "BLEU, greedy"}
    charts.save(reports.curves(result, curves), folder / "curves.png")
    charts.save(draw_lengths(result.scores), folder / "lengths.png")
    predictions.write(folder, valid.source, valid.target, details["translations"])
    if result.config["model"] in WITH_ATTENTION:
        import tensorflow as tf

        words = np.array([len(source.split()) for source in valid.source])
        row = int(np.argmin(np.abs(words - _DRAWN_WORDS)))
        picture = draw_attention(read_alignment(details["servable"].align, tf.constant([valid.source[row]])))
        charts.save(picture, folder / "attention.png")
    reports.write(folder, _lines(result, valid, details["translations"]))


def read_alignment(align: Callable, text) -> Alignment:
    """Returns what the signature `align` returns for one text.

    Args:
        text: string [1].
    """
    outputs = {name: value.numpy() for name, value in align(text=text).items()}
    source, target = (
        [token.decode() for token in outputs[f"{side}_tokens"][0] if token] for side in ("source", "target")
    )
    return Alignment(source, target, outputs["weights"][0, :, : len(target), : len(source)])


def draw_attention(alignment: Alignment) -> Figure:
    """Draws the mean attention weights of the heads: a row per target token, a column per source token."""
    source, target = alignment.source_tokens, alignment.target_tokens
    figure = Figure(figsize=(1.6 + 0.34 * len(source), 1.4 + 0.3 * len(target)), layout="constrained")
    axes = figure.subplots()
    axes.pcolormesh(alignment.weights.mean(axis=0), cmap=CELLS, vmin=0, vmax=1)
    names = [[_printable(token) for token in tokens] for tokens in (source, target)]
    axes.set_xticks(np.arange(len(source)) + 0.5, names[0], rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(np.arange(len(target)) + 0.5, names[1])
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_color(GREY)
    return figure


def draw_lengths(scores: dict[str, dict]) -> Figure:
    """Draws BLEU by the length of the source, as in Bahdanau et al. 2015, figure 2.

    Args:
        scores: split -> `metrics.measures`.
    """
    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    counts: dict[str, list[str]] = {}
    for (split, measures), color in zip(scores.items(), (BLUE, GREY), strict=False):
        buckets = measures["bleu_by_length"]
        words, values = [bucket["words"] for bucket in buckets], [bucket["bleu"] for bucket in buckets]
        axes.plot(words, values, "o-", color=color, label=split)
        for bucket in buckets:
            counts.setdefault(bucket["words"], []).append(f"{bucket['rows']:,}")
    axes.set_xticks(range(len(counts)), [f"{words}\n{', '.join(rows)}" for words, rows in counts.items()])
    axes.set(
        title="BLEU by the length of the source",
        xlabel="words of the source; below: number of pairs",
        ylabel="BLEU",
    )
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _printable(token: str) -> str:
    """The token with a middle dot for SentencePiece's space, which many fonts do not have."""
    return token.replace("\u2581", "\u00b7")


def _lines(result: RunResult, valid: Pairs, translations: list[str]) -> list[str]:
    validation, config = result.scores["validation"], result.config
    title = (
        f"Translation: {config['model']}, {result.about.get('pair') or 'source to target'}, {reports.data_name(result)}"
    )
    sentence = (
        f"The translations of {validation['rows']:,} sentences that were not in training score "
        f"**BLEU {_bleu(validation)}**; in parentheses, the 95 % interval. 100 means identical to the references; two "
        "people hardly reach 50."
    )
    flags = reports.model_flags(result)
    commands = [
        reports.predict_command(result),
        f"{shell_command()} predict {result.task} --input FILE --output FILE{flags}",
        f"{shell_command()} evaluate {result.task} --data FILE --target FILE{flags}",
    ]
    intervals = ", ".join(f"{_bleu(scores)} ({split})" for split, scores in result.scores.items())
    signatures = ", ".join(f"`{validation[f'{name}_signature']}`" for name in ("bleu", "chrf", "ter"))
    return [
        *reports.header_lines(result, title, sentence),
        *reports.score_table(result, _SCORES),
        "",
        f"sacrebleu's signatures: {signatures}. With its 95 % interval, BLEU is {intervals}.",
        "",
        "![BLEU by the length of the source](lengths.png)",
        "",
        *_baseline_lines(result),
        *_example_lines(result, valid, translations),
        *reports.learning_lines(result, _reason(config), "Loss and BLEU by epoch"),
        "## Data",
        "",
        f"- {', '.join(f'{split} {rows:,} pairs' for split, rows in result.rows.items())}.",
        *reports.note_lines(result),
        "",
        *reports.use_lines(result, commands),
        *reports.record_lines(result),
    ]


def _baseline_lines(result: RunResult) -> list[str]:
    """The section on the baselines; [] without them."""
    valid = result.scores["validation"]
    if not valid.get("baselines"):
        return []
    lines = [
        "## Baselines",
        "",
        "| baseline | split | BLEU | better by | chrF | TER |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for split, scores in result.scores.items():
        for each in scores["baselines"]:
            if "left_out" not in each:
                limits = each.get("difference_interval")
                by = f"{scores['bleu'] - each['bleu']:+.1f}"
                by += f" ({limits[0]:+.1f} to {limits[1]:+.1f})" if limits else ""
                measures = f"{each['bleu']:.2f} | {by} | {each['chrf']:.2f} | {each['ter']:.2f}"
                lines.append(f"| {each['name']} | {split} | {measures} |")
    left_out = [
        f"The {each['name']} is left out: {each['left_out']}." for each in valid["baselines"] if "left_out" in each
    ]
    return [
        *lines,
        *baselines.report_lines(result.scores),
        "",
        "The word table translates each word by itself, with the most probable word of IBM model 1 (Brown et al. "
        "1993). “Better by” is the BLEU of this model minus that of the baseline, with the 95 % interval of this "
        "difference.",
        *(["", *left_out] if left_out else []),
        "",
    ]


def _example_lines(result: RunResult, valid: Pairs, translations: list[str]) -> list[str]:
    lines = ["## Examples", "", "| source | translation | reference |", "|---|---|---|"]
    for i in np.linspace(0, len(valid) - 1, min(_NUM_EXAMPLES, len(valid))).astype(int):
        cells = (markdown.text(each, None) for each in (valid.source[i], translations[i], valid.target[i]))
        lines.append(f"| {' | '.join(cells)} |")
    if result.config["model"] in WITH_ATTENTION:
        lines += ["", "Attention weights of one translation (a row per target token; dark means a large weight):", ""]
        lines.append("![Attention](attention.png)")
    return [*lines, ""]


def _reason(config: dict) -> str:
    """Why the weights of the best epoch were kept."""
    average = "; they are a moving average" if config["ema_momentum"] else ""
    return f"the {'highest validation BLEU' if config['monitor'] == 'bleu' else 'lowest validation loss'}{average}"
