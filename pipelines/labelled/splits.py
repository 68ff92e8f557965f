"""Labelled texts, split into training, validation and test, with ids of their classes."""

import dataclasses
import functools

import numpy as np

from pipelines.data import fields, label_sets, labelled_texts, labels
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.splits import seen_in, stratified_validation_rows
from pipelines.data.tables import GROUP_NAME
from pipelines.labelled import duplicates, number_labels, rare_labels, ratings
from pipelines.labelled.config import BEST_F1, LabelledConfig
from pipelines.labelled.labelled_splits import Labelled, LabelledData, LabelledSplits
from pipelines.runs import continuing
from pipelines.support import console, machine, paths
from pipelines.support.errors import UserError
from pipelines.support.numbers import listed

# Before the reasons why a row cannot be used.
LEFT_OUT = ("left out, ", "left out of --valid, ", "left out of validation, unknown", "labels left out of validation")
MIN_ROWS = 20
FEW_ROWS_OF_A_CLASS = 10
_BYTES_PER_PROBABILITY = 64  # of all copies: logits of two models, calibrated in double precision, and measures


def read_and_split(config: LabelledConfig, polarity: bool) -> LabelledSplits:
    """Reads the labelled texts and splits off validation: by film where films are known, else by text.

    Args:
        config: fields of the data and of validation.
        polarity: whether different spellings of negative and positive are the same labels.

    Raises:
        UserError: the data cannot be read, has fewer than two classes, or is too small to split; or --positive or
            --threshold does not fit its classes.
    """
    data = read(config, polarity)
    if data.valid:
        return _with_memory(make_splits(data, data.rows, data.valid), data.name)
    groups, ids = data.rows.groups_or_texts(), class_ids(data)
    held_out = stratified_validation_rows(groups, ids, config.valid_fraction)
    return _with_memory(make_splits(data, data.rows.take(~held_out), data.rows.take(held_out)), data.name)


def _with_memory(splits: LabelledSplits, name: str) -> LabelledSplits:
    """Returns the splits.

    Raises:
        UserError: the probabilities of the validation texts need more memory than is free.
    """
    needed, free = _BYTES_PER_PROBABILITY * len(splits.valid) * len(splits.classes), machine.free_memory()
    if free is not None and needed > free:
        raise UserError(
            f"{name}: the probabilities of {len(splits.classes):,} labels for {len(splits.valid):,} validation texts "
            f"need {needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB are free: leave out rare labels, "
            "or give fewer validation texts with --valid"
        )
    return splits


def read(config: LabelledConfig, polarity: bool) -> LabelledData:
    """Reads the labelled texts.

    Raises:
        UserError: the data cannot be read, or has fewer than MIN_ROWS rows or two classes.
    """
    parts = labelled_texts.read(config.data, config.table_options())
    rows, name = parts["train"], paths.shown(config.data)
    valid = None
    if config.valid:
        options = dataclasses.replace(config.table_options(), weight_column=None, fields=rows.fields)
        valid = labelled_texts.read(config.valid, options)["train"]
    if config.label_type == "number":
        rows, valid = _with_numbers(rows, valid, name)
    rare = rare_labels.find(rows.labels, config, polarity)
    rows = rare_labels.without(rows, rare, config, polarity)
    test = rare_labels.without(parts["test"], rare, config, polarity) if "test" in parts else None
    if rows.fields and not config.READS_COLUMNS:
        raise UserError(
            "--text-column and --feature-column: one column with text is read: name one --text-column alone"
        )
    if rows.weights is not None:
        rows.weights /= rows.weights.mean()  # the regularisation is then that of texts that weigh 1
    classes, known = classes_of(config, rows.labels, name, polarity), ()
    if config.start_weights:
        known = tuple(continuing.result_of(config)["classes"])
        classes = _joined_classes(config, polarity, classes, known, name)
    require_rows(len(rows), name)
    notes = {f"{LEFT_OUT[0]}{reason}": count for reason, count in rows.dropped.items()}
    notes |= without_group_note(labelled_texts.num_without_group(rows))
    if valid is not None:
        valid = rare_labels.without(valid, rare, config, polarity)
        notes |= {f"{LEFT_OUT[1]}{reason}": count for reason, count in valid.dropped.items()}
    one_label = label_sets.joined if label_sets.are_sets(rows.labels) else labels.normalize_labels
    found = duplicates.find(rows.texts, one_label(rows.labels, polarity))
    for each in found["contradictions"]:
        (each["text"],) = fields.readable(rows.fields, [each["text"]])
    return LabelledData(name, rows, valid, test, classes, polarity, notes, found, known)


def _joined_classes(
    config: LabelledConfig, polarity: bool, found: tuple[str, ...], known: tuple[str, ...], source: str
) -> tuple[str, ...]:
    """Returns the classes of the model to continue from, and then the new ones of the data; see `joined_classes`.

    Raises:
        UserError: the model cannot have new ones, or --positive or --threshold does not fit.
    """
    new = [name for name in found if name not in known]
    reason = {config.label_type == "ordinal": "has its labels in order", polarity: "has these labels alone"}
    if new and True in reason:
        raise UserError(
            f"{source}: the label {new[0]!r} is none of the model to continue from ({', '.join(known)}), which "
            f"{reason[True]}: train a new model, without --from"
        )
    if config.positive is not None and known[-1] != config.positive:
        raise UserError(f"--positive {config.positive}: the model to continue from has {known[-1]}: leave out the flag")
    classes = continuing.joined_classes(config, found, "labels")
    _require_two(config, classes, f"with the labels of {source} the model")
    return classes


def _with_numbers(
    rows: LabelledTexts, valid: LabelledTexts | None, name: str
) -> tuple[LabelledTexts, LabelledTexts | None]:
    """Returns the texts with intervals of numbers as labels; those of validation are near to the training's."""
    rows, numbers = number_labels.parsed(rows, name)
    means = number_labels.intervals(numbers, name)
    rows = number_labels.labelled(rows, numbers, means)
    return rows, valid and number_labels.labelled(*number_labels.parsed(valid, "--valid"), means)


def fold_splits(data: LabelledData, fold_of: np.ndarray, fold: int) -> LabelledSplits:
    """Returns the rows of one fold as validation, and all others as training.

    Args:
        fold_of: number of each row's fold, int [n].

    Raises:
        UserError: a class has no training text.
    """
    held_out = fold_of == fold
    return make_splits(dataclasses.replace(data, test=None), data.rows.take(~held_out), data.rows.take(held_out))


def class_ids(data: LabelledData) -> np.ndarray:
    """Returns the id of the class of each row, int [n].

    With several labels per text, it is that of the rarest label of the text; without a label, the number of classes.
    """
    if data.multi_label:
        return label_sets.rarest(label_sets.indicators(data.rows.labels, data.classes)[0])
    return labels.class_ids(data.rows.labels, data.classes, data.polarity)


def make_splits(data: LabelledData, train: LabelledTexts, valid: LabelledTexts) -> LabelledSplits:
    """Returns the parts with class ids. Training texts that are also in validation are left out.

    Raises:
        UserError: a class has no training text, or validation is empty.
    """
    notes = dict(data.notes)
    repeated = seen_in(train.without_order(), valid.without_order())
    if repeated.any():
        notes["left out of training, the same text is in validation"] = int(repeated.sum())
        train = train.take(~repeated)
    classes = data.classes
    if data.multi_label:
        new = classes[len(data.known) :]
        classes = (*data.known, *_without_untrained(new, train.labels, valid.labels, notes))
    with_ids = functools.partial(with_class_ids, classes=classes, polarity=data.polarity, notes=notes)
    splits = LabelledSplits(
        train=with_ids(train, split="training"),
        valid=with_ids(valid, split="validation"),
        test=with_ids(data.test, split="test") if data.test else None,
        classes=classes,
        notes=notes,
        duplicates=data.duplicates,
        remarks=_remarks(data, int(repeated.sum())),
        fields=data.rows.fields,
    )
    _require_all_classes(splits, data)
    return splits


def _remarks(data: LabelledData, num_repeated: int) -> tuple[str, ...]:
    """Returns lines for the terminal: what the user should look at in the data."""
    if data.multi_label:
        counts = label_sets.indicators(data.rows.labels, data.classes)[0].sum(axis=0)
    else:
        counts = np.bincount(class_ids(data), minlength=len(data.classes))
    rows = dict(zip(data.classes, counts.tolist(), strict=True))
    few = [
        f"{label!r} {count}"
        for label, count in rows.items()
        if count < FEW_ROWS_OF_A_CLASS and (count or label not in data.known)
    ]
    lines = [duplicates.remark(data.duplicates)]
    lines += [
        f"{note}: {count:,}" for note, count in without_group_note(labelled_texts.num_without_group(data.rows)).items()
    ]
    if data.valid and num_repeated:
        lines.append(f"texts of {data.name} that are also in --valid, and left out of training: {num_repeated:,}")
    lines += labels.doubtful(data.classes)
    if few and data.rows.numbers is None:
        lines.append(
            f"few texts have the label {listed(few)}: too few to learn and to measure; add some, or leave these "
            f"labels out with --min-label-count {FEW_ROWS_OF_A_CLASS}"
        )
    return tuple(line for line in lines if line)


def without_group_note(count: int) -> dict[str, int]:
    """Returns the note on `count` rows whose cell in the column of groups is empty; none for 0."""
    return (
        {f"no value in the column {GROUP_NAME!r}, so each of these texts is a group of its own": count} if count else {}
    )


def require_rows(count: int, name: str) -> None:
    """Raises a UserError if the data `name` has fewer than MIN_ROWS rows."""
    if count < MIN_ROWS:
        raise UserError(
            f"{name}: only {count} rows have a text and a label; at least {MIN_ROWS} are needed to train and to "
            "validate: add rows"
        )


def classes_of(
    config: LabelledConfig, found: np.ndarray, source: str, polarity: bool, rows: int | None = None
) -> tuple[str, ...]:
    """Returns the classes of the training data in the order of their ids; --positive is the last one of two.

    Args:
        found: the labels of all rows, or each label once.
        rows: number of rows for messages; None: that of `found`.

    Raises:
        UserError: there are fewer than two classes, or --positive or --threshold does not fit them.
    """
    options = config.table_options()
    if config.multi_label:
        return label_sets.classes_of(found, source, options.labels_separator, options.label_columns)
    if config.label_type == "number":
        return labels.in_order(set(found))
    classes = labels.classes_of(found, source, polarity, rows)
    if polarity and labels.are_numbers(classes):
        console.say(
            f"note: the labels {listed(classes)} stay numbers: only 0 and 1, 0 and 4, and -1, 0 and 1 are read as "
            "negative, neutral and positive"
        )
    if config.label_type == "ordinal":
        ratings.require_ordered(classes, source)
    _require_two(config, classes, source)
    if config.positive is None:
        return classes
    if config.positive not in classes:
        raise UserError(f"--positive {config.positive}: the labels of {source} are {' and '.join(classes)}")
    return tuple(sorted(classes, key=lambda name: name == config.positive))


def _require_two(config: LabelledConfig, classes: tuple[str, ...], source: str) -> None:
    """Raises a UserError if --positive or --threshold is for two classes, and there are others."""
    if config.positive is not None and len(classes) != 2:
        raise UserError(f"--positive is for two classes: {source} has {len(classes)}")
    if config.threshold == BEST_F1 and len(classes) != 2 and not config.multi_label:
        raise UserError(
            f"--threshold {BEST_F1} is for two classes or several labels per text: {source} has {len(classes)}; a "
            "probability or precision=X leaves out the labels of texts below it"
        )


def _without_untrained(
    classes: tuple[str, ...], train: np.ndarray, valid: np.ndarray, notes: dict[str, int]
) -> tuple[str, ...]:
    """Returns the classes that a training text has. The others are noted with the number of their validation texts.

    Args:
        train, valid: object [n] of tuples of str.
    """
    trained = {name for row in train for name in row}
    for name in classes:
        if name not in trained:
            texts = sum(name in row for row in valid)
            notes[f"left out of the labels, no training text has {name!r}; validation texts that have it"] = texts
    return tuple(name for name in classes if name in trained)


def with_class_ids(
    rows: LabelledTexts, classes: tuple[str, ...], polarity: bool, notes: dict[str, int], split: str
) -> Labelled:
    """Returns the texts with class ids. Rows whose label is none of `classes` are left out and counted in `notes`.

    With several labels per text, only the label is left out.
    """
    if label_sets.are_sets(rows.labels):
        found, unknown = label_sets.indicators(rows.labels, classes)
        if unknown:
            notes[f"labels left out of {split}, unknown: {listed(sorted(unknown))}"] = unknown.total()
        return Labelled(rows.texts, found, weights=rows.weights)
    ids = labels.class_ids(rows.labels, classes, polarity)
    notes |= unknown_label_notes(rows.labels, ids, split)
    known = ids >= 0
    weights, numbers = (None if each is None else each[known] for each in (rows.weights, rows.numbers))
    return Labelled(rows.texts[known], ids[known], weights=weights, numbers=numbers)


def unknown_label_notes(labels: np.ndarray, ids: np.ndarray, split: str) -> dict[str, int]:
    """Returns the note on the rows of a split whose label is none of the classes, which names these labels.

    Args:
        labels: object array [n] of str.
        ids: int [n], -1 for an unknown label.
        split: "validation" or "test".
    """
    unknown = labels[ids < 0]
    return {f"left out of {split}, unknown label: {listed(sorted(set(unknown)))}": len(unknown)} if len(unknown) else {}


def with_generated(train: Labelled, generated: Labelled) -> Labelled:
    """Returns the training texts, followed by texts that were generated for training."""
    texts = np.concatenate([train.texts, generated.texts])
    ids = np.concatenate([train.labels, generated.labels])
    weights = None if train.weights is None else np.concatenate([train.weights, np.ones(len(generated))])
    return Labelled(texts, ids, len(generated), weights)


def class_rows(splits: LabelledSplits) -> dict[str, int]:
    """Returns class -> number of training texts."""
    return dict(zip(splits.classes, splits.train.rows_of_classes(len(splits.classes)), strict=True))


def _require_all_classes(splits: LabelledSplits, data: LabelledData) -> None:
    """Raises a UserError if a class that is not known has no training text, or validation is empty."""
    missing = [name for name, rows in class_rows(splits).items() if not rows and name not in data.known]
    if missing and data.valid:
        raise UserError(
            f"{data.name}: all texts with the label {missing[0]!r} are also in --valid, so none is left to train on: "
            "give other texts with --valid"
        )
    if data.valid and not len(splits.valid):
        raise UserError(
            f"--valid: none of its labels is one of the training's ({', '.join(data.classes)}): spell them alike"
        )
    if len(splits.classes) < 2:
        raise UserError(f"{data.name}: the split left fewer than two labels in training: add rows, or give --valid")
    is_split = not missing and len(splits.valid) > 0
    if not is_split and len(data.classes) == len(set(data.rows.texts)):
        raise UserError(
            f"{data.name}: every text has a label of its own: is the label a number or a name to predict? A classifier "
            "chooses among few labels: name another column with --label-column"
        )
    if not is_split:
        lost = f"class {missing[0]!r} in training" if missing else "text in validation"
        raise UserError(f"{data.name}: the split left no {lost}: add rows, or give a validation set with --valid")
