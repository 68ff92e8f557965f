import numpy as np
import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load
from pipelines.labelled import number_labels
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.transfer.config import TransferConfig


def table(tmp_path, cells, name="prices.csv"):
    rows = "".join(f"thing number {i},{cell}\n" for i, cell in enumerate(cells))
    (tmp_path / name).write_text(f"text,price\n{rows}")
    return str(tmp_path / name)


def config(data, **fields):
    return ClassificationConfig(data=data, label_column="price", label_type="number", **fields).resolve()


def test_a_few_different_numbers_are_an_interval_each():
    numbers = np.repeat([5.0, 1.0, 2.5], 10)
    np.testing.assert_array_equal(number_labels.intervals(numbers, "x"), [1, 2.5, 5])


@pytest.mark.parametrize("rows", [60, 3000])
def test_intervals_have_about_as_many_numbers_each(rows):
    numbers = np.random.default_rng(0).lognormal(size=rows)
    means = number_labels.intervals(numbers, "x")
    assert len(means) == {60: 2, 3000: number_labels.MAX_INTERVALS}[rows] and (np.diff(means) > 0).all()
    limits = np.quantile(numbers, np.arange(1, len(means)) / len(means))
    index = np.searchsorted(limits, numbers)
    counts = np.bincount(index)
    assert counts.max() - counts.min() <= 1
    np.testing.assert_allclose(means, [numbers[index == i].mean() for i in range(len(means))])
    assert np.average(means, weights=counts) == pytest.approx(numbers.mean())


def test_a_number_that_many_texts_have_is_one_interval():
    numbers = np.concatenate([np.zeros(900), np.random.default_rng(0).random(100) + 1])
    means = number_labels.intervals(numbers, "x")
    assert means[0] == 0 and (np.diff(means) > 0).all()


def test_the_texts_keep_their_numbers_and_have_the_nearest_class(tmp_path):
    random = np.random.default_rng(0)
    prices = np.round(random.lognormal(3, 1, 300), 2)
    splits = load(config(table(tmp_path, prices)))
    means = np.array([float(name) for name in splits.classes])
    assert len(splits.train) + len(splits.valid) == 300
    for part in (splits.train, splits.valid):
        np.testing.assert_array_equal(np.abs(part.numbers[:, None] - means).argmin(axis=1), part.labels)
    assert sorted([*splits.train.numbers, *splits.valid.numbers]) == sorted(prices)


def test_validation_texts_of_ones_own_have_the_intervals_of_the_training(tmp_path):
    valid = table(tmp_path, [1, 1000, 7], "valid.csv")
    splits = load(config(table(tmp_path, np.repeat([1, 5, 9], 20)), valid=valid))
    np.testing.assert_array_equal(splits.valid.numbers, [1, 1000, 7])
    assert [splits.classes[i] for i in splits.valid.labels] == ["1.0", "9.0", "5.0"]


def test_what_is_not_finite_is_left_out_and_counted(tmp_path):
    splits = load(config(table(tmp_path, [*range(40), "nan", "inf", "-Infinity", ""])))
    assert splits.notes["left out, the label is no finite number"] == 3 and splits.notes["left out, no label"] == 1


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([*range(40), "cheap"], "one is 'cheap': write it as a number"),
        ([*range(40), '"3,5"'], "one is '3,5'"),
        ([*range(40), "1_000"], None),
        ([3] * 40, "all are 3"),
        (["nan"] * 40, "there is none"),
    ],
)
def test_what_cannot_be_learned_is_one_line(tmp_path, cells, reason):
    if reason is None:
        assert load(config(table(tmp_path, cells))).notes["left out, the label is no finite number"] == 1
        return
    with pytest.raises(UserError, match=reason) as caught:
        load(config(table(tmp_path, cells)))
    assert "\n" not in str(caught.value)


def test_decimal_labels_are_offered_it(tmp_path):
    data = table(tmp_path, np.arange(40) / 7)
    with pytest.raises(UserError, match="--label-type number predicts the number"):
        load(ClassificationConfig(data=data, label_column="price").resolve())


@pytest.mark.parametrize(
    "fields",
    [{"threshold": "0.5"}, {"folds": 3}, {"class_weights": True}, {"labels_separator": "|"}, {"fold_labels": True}],
)
def test_what_is_for_classes_is_refused(tmp_path, fields):
    with pytest.raises(UserError, match="--label-type number has one number per text"):
        config(table(tmp_path, range(40)), **fields).check()


def test_the_line_is_that_of_least_squares():
    random = np.random.default_rng(0)
    found = random.normal(size=200)
    true = 3 + 2.5 * found + random.normal(size=200)
    slope, intercept = np.polyfit(found, true, 1)
    assert number_labels.line(found, true) == pytest.approx((intercept, slope))
    assert number_labels.line(found, -true) == (0, 1) and number_labels.line(found[:5], true[:5]) == (0, 1)
    assert number_labels.line(np.ones(200), true) == (0, 1)


def test_each_half_has_the_line_of_the_other():
    found, true = np.random.default_rng(0).normal(size=(2, 100))
    true = true + found
    before = number_labels.by_line_of_others(found, true, (-np.inf, np.inf))
    changed = true.copy()
    changed[::2] += 100  # changes the line of the other half alone
    after = number_labels.by_line_of_others(found, changed, (-np.inf, np.inf))
    np.testing.assert_array_equal(after[::2], before[::2])
    assert (np.abs(after[1::2] - before[1::2]) > 10).all()
    limited = number_labels.by_line_of_others(found, true, (-1, 0.5))
    np.testing.assert_array_equal(limited, before.clip(-1, 0.5))


def test_no_training_continues_from_numbers(tmp_path):
    assert "intervals of its training data" in config(table(tmp_path, range(40))).not_continued()


def test_tasks_without_numbers_refuse_them(tmp_path):
    data = table(tmp_path, range(40))
    with pytest.raises(UserError, match="--label-type.*use `train classification`"):
        TransferConfig(data=data, label_column="price", label_type="number", encoder="x").resolve().check()
    sentiment = ClassificationConfig(**TASKS["sentiment"].defaults, data=data, label_type="number")
    with pytest.raises(UserError, match="--label-type.*use `train classification`"):
        sentiment.resolve().check()
