"""report.md of a translator, and its pictures: what a run came to, for somebody who did not watch it."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pipelines.configs.nmt import WITH_ATTENTION
from pipelines.files import shown, write_text
from pipelines.reporting import (
    BLUE, GREY, SAMPLE_WARNING, curves, data_name, duration, model_flags, note_lines, record_lines, save,
)  # fmt: skip

_EXAMPLES = 8


def summary(result: dict) -> str:
    """The few lines that a terminal shows at the end of a run."""
    lines = [f"{result['pipeline']} {result['pair'] or ''}, {result['config']['model']}, {data_name(result)}"]
    for name, scores in result["scores"].items():
        lines.append(
            f"  {name:<12}{scores['rows']:>7,} pairs   BLEU {scores['bleu']:.2f}   chrF {scores['chrf']:.2f}   TER {scores['ter']:.2f}"
        )
    if result["sample"]:
        lines.append(f"  {SAMPLE_WARNING}")
    lines.append(f"  {'report':<12}{shown(Path(result['report']))}")
    lines.append(f"  {'model':<12}{shown(Path(result['export']))}")
    lines.append(f"  {'try it':<12}{_try_command(result)}")
    return "\n".join(lines)


def write(folder: Path, result: dict, valid, translations, servable) -> None:
    """Writes `folder`/report.md, curves.png and lengths.png; attention.png for a model that has attention.

    Args:
        result: as run.py makes it.
        valid: the validation pairs.
        translations: theirs.
        servable: the Translator.
    """
    save(curves(result, {"loss": "loss, nats per piece", "bleu": "BLEU, greedy"}), folder / "curves.png")
    save(lengths(result["scores"]), folder / "lengths.png")
    looks = result["config"]["model"] in WITH_ATTENTION
    if looks:
        import tensorflow as tf

        words = np.array([len(source.split()) for source in valid.source])
        chosen = int(np.argmin(np.abs(words - 10)))  # a sentence of about ten words: long enough to show, short enough to read
        save(attention(aligned(servable.align, tf.constant([valid.source[chosen]]))), folder / "attention.png")
    write_text(folder / "report.md", "\n".join(_lines(result, valid, translations, looks)) + "\n")


def aligned(align, text) -> dict:
    """What the signature `align` says of one text: source_tokens, target_tokens (lists of str), weights [heads, Tt, Ts]."""
    outputs = {name: value.numpy() for name, value in align(text=text).items()}
    source, target = ([token.decode() for token in outputs[f"{side}_tokens"][0] if token] for side in ("source", "target"))
    return {"source_tokens": source, "target_tokens": target, "weights": outputs["weights"][0, :, : len(target), : len(source)]}


def attention(found: dict, each_head: bool = False) -> Figure:
    """A matrix for the mean of the heads, or one for each: a row for each target token, a column for each source token."""
    source, target = found["source_tokens"], found["target_tokens"]
    panels = list(found["weights"]) if each_head else [found["weights"].mean(axis=0)]
    width, height = 1.6 + 0.34 * len(source), 1.4 + 0.3 * len(target)
    figure = Figure(figsize=(width * len(panels), height), layout="constrained")
    for i, (axes, weights) in enumerate(zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True)):
        axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(source)), [_shown(token) for token in source], rotation=60, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(target)), [_shown(token) for token in target])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_color(GREY)
        if len(panels) > 1:
            axes.set_xlabel(f"head {i + 1}")
    return figure


def lengths(scores: dict) -> Figure:
    """BLEU by the length of the source, as in Bahdanau et al. 2015, figure 2."""
    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    rows: dict[str, list[str]] = {}
    for (name, of), color in zip(scores.items(), (BLUE, GREY), strict=False):
        parts = of["bleu_by_length"]
        axes.plot([part["words"] for part in parts], [part["bleu"] for part in parts], "o-", color=color, label=name)
        for part in parts:
            rows.setdefault(part["words"], []).append(f"{part['rows']:,}")
    axes.set_xticks(range(len(rows)), [f"{words}\n{', '.join(counts)}" for words, counts in rows.items()])
    axes.set(title="BLEU by the length of the source", xlabel="words of the source; below, how many pairs", ylabel="BLEU")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _shown(token: str) -> str:
    return token.replace("\u2581", "\u00b7")


def _lines(result: dict, valid, translations, looks: bool) -> list[str]:
    scores, config = result["scores"], result["config"]
    lines = [
        f"# Translation: {config['model']}, {result['pair'] or 'source to target'}, {data_name(result)}",
        "",
        f"On {scores['validation']['rows']:,} sentences that it did not train on, this model's translations score "
        f"**BLEU {scores['validation']['bleu']:.2f}** (100 would be the references, word for word; two people hardly reach 50).",
        "",
    ]
    if result["sample"]:
        lines += [f"**{SAMPLE_WARNING}**", ""]
    lines += ["## Scores", "", f"| | {' | '.join(scores)} |", f"|---|{'---:|' * len(scores)}"]
    for label, key in (("BLEU", "bleu"), ("chrF", "chrf"), ("TER (lower is better)", "ter")):
        lines.append(f"| {label} | {' | '.join(f'{of[key]:.2f}' for of in scores.values())} |")
    lines.append(f"| pairs | {' | '.join(format(of['rows'], ',') for of in scores.values())} |")
    first = scores["validation"]
    lines += ["", f"By sacrebleu: `{first['bleu_signature']}`, `{first['chrf_signature']}`, `{first['ter_signature']}`."]
    lines += ["", "![BLEU by the length of the source](lengths.png)", "", "## What it writes", ""]
    lines += ["| source | translation | reference |", "|---|---|---|"]
    for i in np.linspace(0, len(valid) - 1, min(_EXAMPLES, len(valid))).astype(int):
        cells = (valid.source[i], translations[i], valid.target[i])
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    if looks:
        lines += ["", "Where it looks while it writes one of them (a row for each piece written, dark where it looked):", ""]
        lines.append("![Attention](attention.png)")
    lines += [
        "",
        "## Learning",
        "",
        f"{len(result['epochs'])} epochs in {duration(result['training_seconds'])}. The weights of epoch {result['best_epoch']} were kept, "
        f"the best by validation {'BLEU' if config['select'] == 'bleu' else 'loss'}"
        f"{' (a moving average of the weights)' if config['average'] else ''}.",
        "",
        "![Loss and BLEU by epoch](curves.png)",
        "",
        "## Data",
        "",
        f"- {', '.join(f'{name} {rows:,} pairs' for name, rows in result['rows'].items())}.",
        *note_lines(result),
        "",
        "## Use",
        "",
        f"The model is in `{shown(Path(result['export']))}`: a SavedModel that takes strings, for TF Serving or "
        "`tf.saved_model.load`.",
        "",
        "```",
        _try_command(result),
        f"python main.py predict nmt --input FILE --output FILE{model_flags(result)}",
        f"python main.py evaluate nmt --data FILE --target FILE{model_flags(result)}",
        "```",
        "",
    ]
    return lines + record_lines(result)


def _try_command(result: dict) -> str:
    return f'python main.py predict nmt "A man is riding a bike."{model_flags(result)}'
