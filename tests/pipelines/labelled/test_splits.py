import numpy as np
import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.data.fields import BETWEEN
from pipelines.labelled.describe import describe, describe_splits
from pipelines.labelled.splits import read_and_split
from pipelines.support import machine
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from tests.pipelines.small_runs import write_run


def split(tmp_path, rows, valid=None, polarity=True, **values):
    (tmp_path / "a.csv").write_text("text,label,url\n" + "".join(f"{t},{label},{url}\n" for t, label, url in rows))
    if valid:
        (tmp_path / "v.csv").write_text("text,label\n" + "".join(f"{t},{label}\n" for t, label in valid))
        values["valid"] = str(tmp_path / "v.csv")
    return read_and_split(ClassificationConfig(data=str(tmp_path / "a.csv"), **values), polarity)


def test_films_stay_together_and_no_validation_text_is_in_training(tmp_path):
    rows = [(f"review {i}", "pos" if i % 2 else "neg", f"film {i % 20}") for i in range(200)]
    rows += [("the same words", "pos", f"film {i}") for i in range(20)]
    splits = split(tmp_path, rows)
    assert splits.classes == ("negative", "positive")
    assert not {t.lower() for t in splits.train.texts} & {t.lower() for t in splits.valid.texts}
    assert splits.notes["left out of training, the same text is in validation"] == 18
    assert len(splits.train) + len(splits.valid) == 220 - 18
    rows, note = describe(splits).splitlines()
    assert rows == f"{len(splits.train)} texts to train on, {len(splits.valid)} to validate on"
    assert note == "note: texts that repeat an earlier one: 19"


def test_two_texts_in_both_orders_stay_together(tmp_path):
    pairs = [(f"the left one {i}", f"a right one {i * 7}", ("yes", "no")[i % 2]) for i in range(200)]
    swapped = [(b, a, label) for a, b, label in pairs]

    def sides(texts):
        return {frozenset(text.split(BETWEEN)[:2]) for text in texts}

    def split_pairs(name, rows, **options):
        (tmp_path / name).write_text("a,b,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
        config = ClassificationConfig(data=str(tmp_path / name), pair_columns="a,b", **options).resolve()
        return read_and_split(config, polarity=False)

    twice = split_pairs("twice.csv", [*pairs, *swapped])
    assert not sides(twice.train.texts) & sides(twice.valid.texts)
    assert len(twice.train) + len(twice.valid) == 400
    split_pairs("few.csv", swapped[:50])
    given = split_pairs("once.csv", pairs, valid=str(tmp_path / "few.csv"))
    assert (len(given.train), len(given.valid)) == (150, 50)
    assert given.notes["left out of training, the same text is in validation"] == 50


def test_more_probabilities_than_memory_are_refused_with_the_size(tmp_path, monkeypatch):
    rows = [(f"review {i}", f"label {i % 200}", i) for i in range(4000)]
    monkeypatch.setattr(machine, "free_memory", lambda: 2**20)
    with pytest.raises(UserError, match=r"200 labels for \d+ validation texts need 0.0 GiB .* leave out rare labels"):
        split(tmp_path, rows)
    monkeypatch.setattr(machine, "free_memory", lambda: None)  # unknown
    assert len(split(tmp_path, rows).classes) == 200


def test_a_validation_set_of_ones_own(tmp_path):
    rows = [(f"review {i}", i % 2, "x") for i in range(20)]
    splits = split(tmp_path, rows, valid=[("other", "positive"), ("Review 3", "negative"), ("odd", "meh")])
    assert splits.valid.texts.tolist() == ["other", "Review 3"]
    assert splits.valid.labels.tolist() == [1, 0]
    assert splits.notes == {
        "left out of training, the same text is in validation": 1,
        "left out of validation, unknown label: meh": 1,
    }


def test_without_polarity_another_spelling_is_another_label(tmp_path):
    rows = [(f"review {i}", i % 2, "x") for i in range(20)]
    splits = split(tmp_path, rows, valid=[("other", "1"), ("odd", "positive")], polarity=False)
    assert splits.classes == ("0", "1")
    assert splits.valid.texts.tolist() == ["other"]


def test_a_class_without_training_text_is_an_error(tmp_path):
    rows = [(f"review {i}", "pos" if i else "neg", "one film" if i % 2 else "another film") for i in range(20)]
    rows += [("Review 0", "pos", "another film")]
    with pytest.raises(UserError, match="all texts with the label 'neg' are also in --valid.*give other texts"):
        split(tmp_path, rows, polarity=False, valid=[("REVIEW 0", "neg"), ("other", "pos")])


def test_too_few_rows_are_refused(tmp_path):
    rows = [(f"review {i}", "pos" if i % 2 else "neg", "x") for i in range(19)]
    with pytest.raises(UserError, match="only 19 rows have a text and a label; at least 20 are needed .*: add rows"):
        split(tmp_path, rows)


def test_a_rare_class_is_named_and_is_in_validation_if_it_has_two_texts(tmp_path):
    rows = [(f"review {i}", "pos" if i % 2 else "neg", f"film {i}") for i in range(200)]
    rows += [("odd", "twice", "film a"), ("even", "twice", "film b"), ("strange", "once", "film c")]
    splits = split(tmp_path, rows, polarity=False)
    num_valid = np.bincount(splits.valid.labels, minlength=4)
    assert dict(zip(splits.classes, num_valid > 0, strict=True)) == {
        "neg": True,
        "once": False,
        "pos": True,
        "twice": True,
    }
    assert splits.remarks == (
        "few texts have the label 'once' 1, 'twice' 2: too few to learn and to measure; add some, or leave these "
        "labels out with --min-label-count 10",
    )


def test_validation_texts_with_other_labels_are_refused(tmp_path):
    rows = [(f"review {i}", i % 2, "x") for i in range(20)]
    with pytest.raises(UserError, match=r"--valid: none of its labels is one of the training's \(0, 1\): spell them"):
        split(tmp_path, rows, valid=[("other", "yes"), ("another", "no")], polarity=False)


def test_texts_of_training_in_the_users_own_validation_are_named(tmp_path):
    rows = [(f"review {i}", i % 2, "x") for i in range(20)]
    splits = split(tmp_path, rows, valid=[("Review 3", "1"), ("other", "0")], polarity=False)
    assert splits.remarks == (f"texts of {tmp_path}/a.csv that are also in --valid, and left out of training: 1",)


def split_sets(tmp_path, rows, **values):
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    config = ClassificationConfig(data=str(tmp_path / "a.csv"), labels_separator="|", **values)
    return read_and_split(config, False)


def test_texts_with_several_labels_or_none(tmp_path):
    rows = [(f"review {i}", ("a|b", "b", "")[i % 3]) for i in range(90)]
    splits = split_sets(tmp_path, rows)
    assert splits.multi_label and splits.classes == ("a", "b")
    assert len(splits.train) + len(splits.valid) == 90  # texts without labels are not left out
    assert {tuple(row) for row in splits.train.labels.tolist()} == {(1, 1), (0, 1), (0, 0)}
    counts = splits.train.labels.sum(axis=0).tolist()
    assert describe_splits(ClassificationConfig(), splits)["class_rows"] == dict(zip("ab", counts, strict=True))


def test_a_label_that_no_training_text_has_is_left_out(tmp_path):
    (tmp_path / "v.csv").write_text("text,label\nother,a|odd\nanother,b|rare\n")
    rows = [(f"review {i}", ("a|b", "b")[i % 2]) for i in range(20)] + [("Another", "rare|a")]
    splits = split_sets(tmp_path, rows, valid=str(tmp_path / "v.csv"))
    assert splits.classes == ("a", "b")
    assert splits.valid.labels.tolist() == [[1, 0], [0, 1]]
    assert splits.notes["left out of the labels, no training text has 'rare'; validation texts that have it"] == 1
    assert splits.notes["labels left out of validation, unknown: odd, rare"] == 2


def test_the_positive_class_is_the_last_one(tmp_path):
    rows = [(f"review {i}", ("fraud", "usual")[i % 2], f"film {i}") for i in range(40)]
    assert split(tmp_path, rows, polarity=False).classes == ("fraud", "usual")
    assert split(tmp_path, rows, polarity=False, positive="fraud").classes == ("usual", "fraud")


@pytest.mark.parametrize(
    ("num_classes", "values", "message"),
    [
        (2, {"positive": "c"}, "--positive c: the labels of .*a.csv are class 0 and class 1"),
        (3, {"positive": "class 0"}, "--positive is for two classes: .*a.csv has 3"),
        (
            3,
            {"threshold": "best-f1"},
            "--threshold best-f1 is for two classes or several labels per text: .*a.csv has 3",
        ),
    ],
)
def test_flags_for_two_classes_are_refused_where_they_do_not_fit(tmp_path, num_classes, values, message):
    rows = [(f"review {i}", f"class {i % num_classes}", f"film {i}") for i in range(40)]
    with pytest.raises(UserError, match=message):
        split(tmp_path, rows, polarity=False, **values)


@pytest.mark.parametrize("kept", [0, 10])
def test_rows_with_an_empty_group_are_groups_of_their_own(tmp_path, kept):
    rows = [(f"review {i}", i % 2, "" if i >= kept else f"film {i}") for i in range(200)]
    splits, plain = split(tmp_path, rows), split(tmp_path, [(*row[:2], f"film {i}") for i, row in enumerate(rows)])
    assert len(splits.valid) == len(plain.valid) == 20
    (note,) = [(name, count) for name, count in splits.notes.items() if "'url'" in name]
    assert note == ("no value in the column 'url', so each of these texts is a group of its own", 200 - kept)
    assert f"note: {note[0]}: {200 - kept}" in describe(splits)


def test_a_group_column_of_one_value_is_named_with_the_remedy(tmp_path):
    rows = [(f"review {i}", i % 2, "one") for i in range(40)]
    with pytest.raises(UserError, match="the same value in a column `url`.*--valid, or rename the column"):
        split(tmp_path, rows)


def test_near_equal_and_missing_labels_are_named_and_mended_by_the_flags(tmp_path):
    names = ("Refund", "REFUND", "other", "n/a")
    rows = [(f"review {i}", names[i % 4], f"film {i}") for i in range(200)]
    said = describe(split(tmp_path, rows, polarity=False))
    assert "REFUND/Refund; --fold-labels" in said and "n/a; --missing-labels" in said
    splits = split(tmp_path, rows, polarity=False, fold_labels=True, missing_labels="N/A")
    assert splits.classes == ("other", "refund") and splits.notes["left out, no label"] == 50
    assert "--fold-labels" not in describe(splits) and "--missing-labels" not in describe(splits)


def test_a_label_of_its_own_for_every_text_is_another_column(tmp_path):
    rows = [(f"review {i}", f"name {i}", f"film {i}") for i in range(60)]
    with pytest.raises(UserError, match="every text has a label of its own: .*--label-column"):
        split(tmp_path, rows, polarity=False)


@pytest.mark.parametrize(("names", "noted"), [(("0", "1", "2"), True), (("0", "1"), False), (("neg", "pos"), False)])
def test_labels_that_sentiment_does_not_know_are_said(tmp_path, names, noted, capsys):
    rows = [(f"review {i}", names[i % len(names)], f"film {i}") for i in range(60)]
    splits = split(tmp_path, rows)
    said = capsys.readouterr().err
    assert ("the labels 0, 1, 2 stay numbers" in said) == noted
    assert splits.classes == (names if noted else ("negative", "positive"))


@pytest.fixture
def start(tmp_path):
    """Makes a run with labels; returns its `start_weights`."""

    def make(*classes):
        folder = write_run(tmp_path / "runs", "first")
        write_record(folder / "result.json", read_record(folder / "result.json", "") | {"classes": list(classes)})
        return str(folder / "checkpoints" / "best.npz")

    return make


def test_a_training_that_continues_keeps_the_labels_of_the_model_and_adds_new_ones(tmp_path, start, capsys):
    rows = [(f"review {i}", "abc"[i % 3], i) for i in range(90)]
    valid = [("own", "a"), ("gone", "z"), ("odd", "y")]
    splits = split(tmp_path, rows, valid, polarity=False, start_weights=start("z", "b"))
    assert splits.classes == ("z", "b", "a", "c") and splits.valid.labels.tolist() == [2, 0]
    assert splits.train.rows_of_classes(4) == [0, 30, 30, 30]
    said = capsys.readouterr().err
    assert said == "new labels: a, c\nnote: the model keeps its labels that these texts do not have: z\n"
    assert not any("few texts" in remark for remark in splits.remarks)


def test_several_labels_of_a_model_stay_where_no_text_has_them(tmp_path, start):
    rows = [(f"review {i}", "a|b" if i % 2 else "c", i) for i in range(60)]
    options = {"polarity": False, "labels_separator": "|", "start_weights": start("b", "z")}
    splits = split(tmp_path, rows, **options)
    assert splits.classes == ("b", "z", "a", "c") and splits.train.labels.shape[1] == 4
    assert splits.train.labels[:, 1].sum() == 0
    old = splits.valid.with_classes(6)
    assert old.labels.shape == (len(splits.valid), 6) and not old.labels[:, 4:].any()


@pytest.mark.parametrize(
    ("known", "values", "message"),
    [
        ("12", {"label_type": "ordinal"}, "the label '3' is none of the model to continue from .* its labels in order"),
        ("xy", {}, "none of its labels"),
        ("12", {"threshold": "best-f1"}, "--threshold best-f1 is for two classes .* the model has 3"),
        ("23", {"positive": "2"}, "--positive 2: the model to continue from has 3: leave out the flag"),
    ],
)
def test_labels_that_a_model_cannot_continue_with_are_refused(tmp_path, start, known, values, message):
    rows = [(f"review {i}", "123"[i % 3] if "label_type" in values else "23"[i % 2], i) for i in range(60)]
    with pytest.raises(UserError, match=message):
        split(tmp_path, rows, polarity=False, start_weights=start(*known), **values)


def test_the_labels_of_sentiment_do_not_grow(tmp_path, start):
    rows = [(f"review {i}", ("neg", "pos", "neu")[i % 3], i) for i in range(60)]
    options = {"polarity": True, "start_weights": start("negative", "positive")}
    with pytest.raises(UserError, match="the label 'neutral' is none of the model .* has these labels alone"):
        split(tmp_path, rows, **options)
