"""What `doctor` says about labelled texts: lines for the terminal, and findings. Imports no TensorFlow."""

import collections
import shlex
from collections.abc import Callable

from pipelines.data import labels, near_names
from pipelines.data.text_flaws import Flaws
from pipelines.labelled import examine
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.runs import inventory
from pipelines.support import machine
from pipelines.support.findings import Examined, Finding, examples, fact_lines, is_worth, percent
from pipelines.support.installation import called_name
from pipelines.support.numbers import counted, minutes

_MAX_LISTED, _MAX_EXAMPLES, _MAX_TEXT = 12, 3, 80
_MIN_SCRIPT = 0.001  # fraction of the letters
_MIN_REPEATED, _MIN_CONTRADICTING, _MIN_LEAKED = 0.05, 0.005, 0.005  # of the texts
_MIN_ALIKE = 0.9  # of the pairs that are there in both orders
_MIN_SHARE = 0.99  # of the most frequent label
_POSITIVE = ("positive", "pos", "yes", "true")  # labels that say so themselves
_MORE_FREQUENT = 2  # times the other one of two labels
_MIN_LETTERS = 5  # of misspelled labels: "ham" is not "spam"
_FEW_TO_VALIDATE = 100


def examined(config: LabelledConfig, needs: Callable[[LabelledSplits], dict | None] = lambda splits: None) -> Examined:
    """Reads the labelled texts and describes them.

    Args:
        needs: as of `examine.examine`.

    Raises:
        UserError: the data cannot be read at all.
    """
    flaws = Flaws("text", config.encoding, markup=False)  # the models remove markup
    facts = examine.examine(config, config.polarity, needs, flaws)
    of_labels = [*_of_labels(facts), *_of_positive(config, facts)]
    found = [*_left_out(facts), *of_labels, *_of_texts(facts), *flaws.findings(), *_of_training(facts)]
    return Examined(facts, _lines(facts), found)


def _lines(facts: dict) -> list[str]:
    columns, rows = facts["columns"], facts["rows"]
    values = {}
    if columns:
        grouped = f", groups in {columns['group']!r}" if columns["group"] else ""
        values["columns"] = f"text in {columns['text']!r}, label in {columns['label']!r}{grouped}"
        others = [column for column in columns["all"] if column not in (*columns["read"], columns["label"])]
        values["not used"] = _joined([column for column in others if column != columns["group"]]) or "-"
    values["texts"] = (
        ", ".join(f"{n:,} {split}" for split, n in rows.items()) if len(rows) > 1 else f"{rows['train']:,}"
    )
    values["left out"] = _joined([f"{reason} {n:,}" for reason, n in facts["left_out"].items()]) or "none"
    values["labels"] = _joined([f"{label}: {n:,}" for label, n in facts["labels"].items()])
    values["scripts"] = _joined(
        [f"{script} {100 * part:.1f} %" for script, part in facts["scripts"].items() if part >= _MIN_SCRIPT]
    )
    for unit in ("characters", "words"):
        values[unit] = ", ".join(f"{name} {length:,}" for name, length in facts[unit].items())
    values["duplicates"] = f"{counted(facts['repeated'], 'text')} also in an earlier row"
    values["contradictions"] = f"{counted(facts['contradicting'], 'text')} with several labels"
    lines = fact_lines(values)
    for each in facts["contradictions"][:_MAX_EXAMPLES]:
        lines.append(f"  {'':<16}{_with_labels(each)}: {' '.join(each['text'].split())[:_MAX_TEXT]}")
    lines += [f"  {'leaks':<16}{counted(n, 'text')} of {split} also in training" for split, n in facts["leaks"].items()]
    return [*lines, "", *_training_lines(facts)]


def _training_lines(facts: dict) -> list[str]:
    if "refusal" in facts:
        return ["training", "", f"  would be refused: {facts['refusal']}"]
    training = facts["training"]
    kept_together = "rows with the same url stay together" if training["groups"] else "equal texts stay together"
    learned = "intervals of numbers" if training["intervals"] else "labels"
    lines = [
        "training",
        "",
        f"  would learn {len(training['classes'])} {learned} from {counted(training['train'], 'text')} and validate on "
        f"{training['validation']:,} ({kept_together})",
    ]
    if training["always_most_frequent"] is not None:
        share = f"{100 * training['always_most_frequent']:.1f} %"
        lines.append(f"  always predicting the most frequent label would be right on {share} of the validation texts")
    if training["expected"] is not None:
        time = minutes(training["expected"]["seconds"]) or "a minute"
        memory = f"{training['expected']['memory'] / 1e9:.1f} GB of memory"
        lines.append(f"  would take about {time} on two processors, and {memory}")
    return [*lines, *(f"  {note}: {n:,}" for note, n in training["notes"].items())]


def _left_out(facts: dict) -> list[Finding]:
    found = []
    for reason, count in facts["left_out"].items():
        if is_worth(count, facts["rows"]["train"] + count):
            remedy = "--quote none, if quotes are no more than quotes" if "quote" in reason else ""
            remedy = "--separator, if another character divides the cells" if "cells" in reason else remedy
            found.append(Finding("left-out", f"{counted(count, 'row')} left out: {reason}", remedy))
    return found


def _of_labels(facts: dict) -> list[Finding]:
    counts, found = facts["labels"], []
    if equal := labels.near_equal(counts):
        text = f"labels that differ only in case or blanks: {_joined(equal)}"
        found.append(Finding("near-equal-labels", text, "--fold-labels"))
    if missing := labels.like_missing(counts):
        text = f"labels that look like a missing value: {_joined(missing)}"
        found.append(Finding("missing-labels", text, f"--missing-labels={','.join(missing)}, which leaves them out"))
    for rare, frequent in near_names.find(counts, _MIN_LETTERS):
        if labels.fold(rare) != labels.fold(frequent):
            text = f"the label {rare!r} ({counted(counts[rare], 'text')}) is nearly {frequent!r} ({counts[frequent]:,})"
            found.append(Finding("misspelled-label", text))
    label = max(counts, key=lambda name: counts[name])
    if len(counts) > 1 and counts[label] >= _MIN_SHARE * sum(counts.values()):
        share = percent(counts[label], sum(counts.values()))
        text = f"{share} of the labels are {label!r}: a model may learn nothing else"
        found.append(Finding("one-label", text, "--class-weights, of `train`"))
    return found


def _of_positive(config: LabelledConfig, facts: dict) -> list[Finding]:
    """Of two labels, precision and thresholds are those of the last one in the order of the alphabet."""
    classes = facts.get("training", {}).get("classes", ())
    if len(classes) != 2 or config.polarity or config.positive is not None or config.label_columns:
        return []
    rare, positive = classes
    if labels.are_numbers(classes) or labels.fold(positive) in _POSITIVE:
        return []
    if facts["labels"].get(positive, 0) < _MORE_FREQUENT * facts["labels"].get(rare, 0):
        return []
    text = f"thresholds, precision and recall are those of {positive!r}, the more frequent label"
    return [Finding("positive", text, f"--positive {shlex.quote(rare)}, if {rare!r} is what you look for")]


def _of_texts(facts: dict) -> list[Finding]:
    count, found = facts["rows"]["train"], []
    if is_worth(facts["contradicting"], count, _MIN_CONTRADICTING):
        text = f"{counted(facts['contradicting'], 'text')} with several labels"
        shown = examples((_with_labels(each), each["text"]) for each in facts["contradictions"])
        found.append(Finding("contradicting", text, "`train classification --folds 5` lists likely errors", shown))
    if is_worth(facts["repeated"], count, _MIN_REPEATED):
        text = f"{counted(facts['repeated'], 'text')}, {percent(facts['repeated'], count)} of them, are there already"
        found.append(Finding("repeated", text))
    swapped, alike = facts["in_both_orders"], facts["in_both_orders_alike"]
    if is_worth(swapped, count) and alike >= _MIN_ALIKE * swapped:
        text = f"{counted(swapped, 'pair')} of texts are there in both orders, {percent(alike, swapped)} with one label"
        found.append(Finding("both-orders", text, "--symmetric, if the order of the two counts for nothing"))
    for split, leaked in facts["leaks"].items():
        if is_worth(leaked, facts["rows"].get(split, 0), _MIN_LEAKED):
            text = f"{counted(leaked, 'text')} of {split} are also in training"
            found.append(Finding("leak", text + (", which leaves them out" if split == "--valid" else "")))
    if is_worth(facts["zero_width_characters"], count):
        text = f"{counted(facts['zero_width_characters'], 'text')} with invisible characters (zero-width spaces)"
        found.append(Finding("invisible-characters", f"{text}, which the models leave out"))
    return found


def _of_training(facts: dict) -> list[Finding]:
    training, found = facts.get("training"), []
    if not training:
        return []
    if training["rare"]:
        text = f"few training texts have the label {_joined(training['rare'])}: its scores will say little"
        found.append(Finding("rare-labels", text))
    folded = collections.Counter(map(labels.fold, facts["labels"]))
    if missing := [name for name in training["not_in_validation"] if folded[labels.fold(name)] < 2]:  # else near_equal
        text = f"no validation text has the label {_joined(missing)}"
        found.append(Finding("not-in-validation", text, "--valid, with texts of these labels"))
    free = machine.free_memory()
    if free and training["expected"] and training["expected"]["memory"] > free:
        text = f"{inventory.size(free)} of memory are free, which is less than the training takes"
        found.append(Finding("memory", text, f"`{called_name()} prepare` makes data that takes less"))
    if training["validation"] < _FEW_TO_VALIDATE:
        text = f"{training['validation']} validation texts are few"
        found.append(Finding("few-to-validate", text, "--valid-fraction or --valid gives more"))
    return found


def _with_labels(contradiction: dict) -> str:
    return ", ".join(f"{label} {rows:,}" for label, rows in contradiction["labels"].items())


def _joined(items: list[str]) -> str:
    rest = f" and {len(items) - _MAX_LISTED} more" if len(items) > _MAX_LISTED else ""
    return ", ".join(items[:_MAX_LISTED]) + rest
