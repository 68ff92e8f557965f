"""Answers of an exported translator: `evaluate` and `predict` of the command line."""

import contextlib
import sys
from pathlib import Path

from pipelines import console, predicting
from pipelines.configs.base import require
from pipelines.configs.nmt import WITH_ATTENTION
from pipelines.data import pairs, sample_pairs, sources
from pipelines.errors import UserError
from pipelines.files import written_beside
from pipelines.models import Exported

_MOST_BEAMS, _MOST_TOKENS = 16, 1000  # as the export has them
_FRESH = 500  # pairs of a fresh sample
_LINES = 2000  # of a file that are translated at a time


def evaluate(
    exported: Exported, data: str | None, target: str | None, pair: str | None, split: str | None, output: Path | None
) -> dict:
    """Measures an exported model on `data`; where that has parts and no split is named, on its test set, or else on its validation set.

    Args:
        data, target, pair, split: see data/pairs.py; without data it is a fresh embedded sample, for a model that was trained on
            one, and without a pair the model's.
        output: a file for the translations, which must not exist.

    Returns:
        `translation_scores.measures` with "model", "data", "split", "trained_on" (whether these are the pairs that it learned from) and
        "left_out" (reason -> pairs).

    Raises:
        UserError: not readable.
    """
    _check_output(output)
    card = exported.card()
    if data is None:
        if not card["sample"]:
            raise UserError(f"{exported.title} was trained on real pairs: give some to measure it on with --data")
        if split:
            raise UserError(f"--split {split}: the sample has no parts")
        part, trained_on = pairs.Pairs(*sample_pairs.generate(_FRESH, seed=2)), False
    else:
        found = pairs.read(data, target, pair or card["pair"], split)
        name = next(name for name in ("test", "valid", "train") if name in found)
        part = found[name]
        trained_on = not split and name == "train" and sources.fingerprint("nmt", data) == card["data"]["fingerprint"]
        split = split or (name if len(found) > 1 else None)
    loaded = predicting.load(exported)
    from pipelines import translation_scores

    translations = predicting.answers(loaded)(part.source)["translation"]
    if output is not None:
        with written_beside(output) as file:
            file.writelines(f"{line}\n" for line in translations)
    about = {"model": exported.title, "data": sources.name(data), "split": split, "trained_on": trained_on, "left_out": part.dropped}
    return about | translation_scores.measures(part.source, translations, part.target)


def table(measures: dict) -> str:
    """The measures as text for a terminal."""
    where = f"{measures['data']} {measures['split'] or ''}".strip()
    lines = [f"{measures['model']} on {where}: {measures['rows']:,} pairs", ""]
    for name, label in (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER")):
        lines.append(f"  {label:<8}{measures[name]:>7.2f}   {measures[f'{name}_signature']}")
    lines += ["", f"  {'words of the source':<22}{'pairs':>8}{'BLEU':>9}"]
    for part in measures["bleu_by_length"]:
        lines.append(f"  {part['words']:<22}{part['rows']:>8,}{part['bleu']:>9.2f}")
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in measures["left_out"].items()]
    if measures["trained_on"]:
        lines += ["", "  The model learned from these pairs: this says nothing about others."]
    return "\n".join(lines)


def translate_texts(exported: Exported, texts: list[str], knobs: dict, best: int = 1) -> list[dict]:
    """One dict per text: "text", "translation", "score", with best > 1 "translations", "note" where something is odd.

    Args:
        knobs: beam_width, length_penalty and max_length; those that are None take the model's.
        best: translations of each text that are wanted.

    Raises:
        UserError: a knob that cannot be.
    """
    knobs = knobs_of(exported.card()["config"], knobs, best)
    loaded = predicting.load(exported)
    return told(texts, _translator(loaded, knobs)(texts), best)


def told(texts: list[str], outputs: dict, best: int) -> list[dict]:
    """The outputs of `translate`, or with best 1 of `serving_default`, as one dict per text; see `translate_texts`."""
    notes = _notes(texts, outputs)
    results = []
    for i, text in enumerate(texts):
        result = {"text": text, "translation": outputs["translation"][i], "score": round(float(outputs["score"][i]), 4)}
        if best > 1:
            both = zip(outputs["translations"][i], outputs["scores"][i], strict=True)
            kept = [{"translation": t, "score": round(float(s), 4)} for t, s in both if s > -1e8]
            result["translations"] = kept[:best]
        if notes[i]:
            result["note"] = notes[i]
        results.append(result)
    return results


def translate_file(exported: Exported, source: str, target: Path | None, knobs: dict) -> dict:
    """Translates each line of a file; the translations stand line for line in `target`, which appears when all are there.

    Args:
        source: a text file; "-" is stdin.
        target: must not exist; None writes to stdout.

    Returns:
        How many lines there were, and how many of them were odd: reason -> lines.

    Raises:
        UserError: nothing to read, a target that exists, a knob that cannot be.
    """
    _check_output(target)
    knobs = knobs_of(exported.card()["config"], knobs, 1)
    if source != "-":
        path = Path(source)
        if not path.is_file():
            raise UserError(f"no such file: {source}")
        if not path.stat().st_size:
            raise UserError(f"{source} is empty")
    loaded = predicting.load(exported)
    translate = _translator(loaded, knobs)
    counts = {"lines": 0}
    with (
        contextlib.nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as file,
        written_beside(target) if target else contextlib.nullcontext(sys.stdout) as written,
        console.bar(None, "lines") as bar,
    ):
        while lines := [line for _, line in zip(range(_LINES), file, strict=False)]:
            try:
                texts = [line.decode("utf-8-sig").rstrip("\r\n") for line in lines]
            except UnicodeDecodeError as error:
                raise UserError(f"{source} is not UTF-8: convert it, for example with iconv -f latin1 -t utf-8") from error
            outputs = translate(texts)
            written.writelines(f"{translation}\n" for translation in outputs["translation"])
            counts["lines"] += len(texts)
            for note in filter(None, _notes(texts, outputs)):
                counts[note] = counts.get(note, 0) + 1
            bar.update(len(texts))
    return counts


def check_picture(exported: Exported, path: Path, knobs: dict, best: int) -> None:
    """
    Raises:
        UserError: the model has no attention, the picture cannot be written so, or would be of another translation than is shown.
    """
    config = exported.card()["config"]
    if config["model"] not in WITH_ATTENTION:
        raise UserError(f"{exported.title} has no attention: it is of --model {config['model']}")
    searched = knobs | {"best": best if best > config["beam_width"] else None}
    for name, value in searched.items():
        if value is not None:
            raise UserError(f"--attention draws the translation that the model finds as it was trained: leave out --{name.replace('_', '-')}")
    if path.suffix != ".png":
        raise UserError(f"--attention {path}: the name must end in .png")
    _check_output(path, "--attention")


def draw_attention(exported: Exported, text: str, path: Path, each_head: bool) -> None:
    """Writes a .png of where the model looked while it translated `text`; see `check_picture`."""
    loaded = predicting.load(exported)
    import tensorflow as tf

    from pipelines import nmt_report
    from pipelines.reporting import save

    found = nmt_report.aligned(loaded.signatures["align"], tf.constant([text.encode("utf-8", "surrogatepass")]))
    save(nmt_report.attention(found, each_head), path)


def _check_output(path: Path | None, flag: str = "--output") -> None:
    if path is None:
        return
    if path.exists():
        raise UserError(f"{path} exists already: remove it, or give another name with {flag}")
    if not path.resolve().parent.is_dir():
        raise UserError(f"{flag} {path}: there is no folder {path.parent}")


def knobs_of(config: dict, knobs: dict, best: int) -> dict:
    """What to ask `translate` with: the given knobs, and the config's for those that are None.

    Raises:
        UserError: a knob that cannot be.
    """
    defaults = {"beam_width": max(config["beam_width"], best), "length_penalty": config["length_penalty"], "max_length": _MOST_TOKENS}
    knobs = defaults | {name: value for name, value in knobs.items() if value is not None}
    require(1 <= knobs["beam_width"] <= _MOST_BEAMS, "beam_width", knobs["beam_width"], f"from 1, which is greedy, to {_MOST_BEAMS}")
    require(knobs["length_penalty"] >= 0, "length_penalty", knobs["length_penalty"], "at least 0")
    require(0 <= knobs["max_length"] <= _MOST_TOKENS, "max_length", knobs["max_length"], f"from 0 to {_MOST_TOKENS}")
    require(1 <= best <= knobs["beam_width"], "best", best, f"from 1 to the beam's width, {knobs['beam_width']}")
    return knobs


def _translator(loaded, knobs: dict):
    import tensorflow as tf

    from pipelines.answers import Answers

    dtypes = {"beam_width": tf.int32, "length_penalty": tf.float32, "max_length": tf.int32}

    def translate(text):
        inputs = {name: tf.fill(tf.shape(text), tf.constant(value, dtypes[name])) for name, value in knobs.items()}
        return loaded.signatures["translate"](text=text, **inputs)

    return Answers(translate)


def _notes(texts: list[str], outputs: dict) -> list[str | None]:
    """What is odd about each text: its answer is defined, and means little."""
    cut = outputs.get("cut", [False] * len(texts))  # `serving_default` does not say
    return ["empty" if not text.strip() else "longer than the model reads, cut" if c else None for text, c in zip(texts, cut, strict=True)]
