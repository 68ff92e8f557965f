import numpy as np
import pytest

from pipelines.labelled import baseline
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits

WORDS, CHARACTERS, BOTH = baseline.FEATURES


def labelled(texts, labels, num_generated=0):
    return Labelled(np.array(texts, dtype=object), np.array(labels, np.int32), num_generated)


def splits_of(train, valid, test=None):
    return LabelledSplits(train, valid, test, ("a", "b"), {})


@pytest.fixture(scope="module")
def phones():
    """The stem of one word gives the class; its ending varies."""
    texts = [f"{('sturdy', 'noisy')[i % 2]}{'xyz'[i % 3]} number {i}" for i in range(60)]
    return splits_of(labelled(texts[:40], [i % 2 for i in range(40)]), labelled(texts[40:], [i % 2 for i in range(20)]))


def compared(splits, model_predicts, class_weights=False):
    scores = {name: {} for name in model_predicts}
    baseline.add_baselines(scores, splits, model_predicts, class_weights)
    return scores


def test_all_baselines_learn_and_are_compared_with_the_model(phones):
    words, characters, both = compared(phones, {"validation": 1 - phones.valid.labels})["validation"]["baselines"]
    assert (words["features"], characters["features"], both["features"]) == (WORDS, CHARACTERS, BOTH)
    assert words["accuracy"] == characters["accuracy"] == both["accuracy"] == 1.0 and words["difference"] == -1.0
    low, high = characters["difference_interval"]
    assert -1.0 <= low < high < -0.7
    low, high = words["accuracy_interval"]
    assert 0.8 < low < 0.9 and high == 1.0


def test_a_model_that_loses_beyond_chance_is_warned_of(phones):
    def lines(model_predicts):
        scores = compared(phones, {"validation": model_predicts})
        return baseline.summary_lines(scores["validation"])[3:], "\n".join(baseline.report_lines(scores))

    warnings, text = lines(1 - phones.valid.labels)
    assert len(warnings) == 1 and warnings[0].startswith("  warning     below its baseline, beyond chance: " + WORDS)
    assert "**On validation, this model is below its baseline, beyond chance: " in text
    one_mistake = np.concatenate([1 - phones.valid.labels[:1], phones.valid.labels[1:]])
    for model_predicts in (phones.valid.labels, one_mistake):
        warnings, text = lines(model_predicts)
        assert warnings == [] and "beyond chance" not in text


def test_characters_know_words_that_training_does_not_have():
    train = labelled(["sturdily made", "noisily made"] * 10, [0, 1] * 10)
    test = labelled(["sturdy", "noisy"] * 3, [0, 1] * 3)
    scores = compared(splits_of(train, train, test), {"validation": train.labels, "test": np.zeros(6, int)})
    words, characters, _ = scores["test"]["baselines"]
    assert words["accuracy"] == 0.5 and characters["accuracy"] == 1.0 and characters["difference"] == -0.5
    assert [each["difference"] for each in scores["validation"]["baselines"]] == [0.0] * 3


def test_invisible_characters_change_no_baseline(phones):
    valid = labelled([text[:2] + "\u00ad" + text[2:] for text in phones.valid.texts], phones.valid.labels)
    found = compared(splits_of(phones.train, valid), {"validation": valid.labels})["validation"]["baselines"]
    assert [each["accuracy"] for each in found] == [1.0] * 3


def test_generated_texts_do_not_train_the_baseline(phones):
    opposite = [*phones.train.texts.tolist(), *phones.train.texts.tolist() * 3]
    labels = [*phones.train.labels, *(1 - phones.train.labels).tolist() * 3]
    train = labelled(opposite, labels, num_generated=120)
    words, *_ = compared(splits_of(train, phones.valid), {"validation": phones.valid.labels})["validation"]["baselines"]
    assert words["accuracy"] == 1.0


def test_class_weights_are_those_of_the_model():
    train = labelled(["so so"] * 9 + ["so so"], [0] * 9 + [1])
    predicted = [baseline.fit_and_predict(WORDS, train, [train.texts], weights)[0][0] for weights in (False, True)]
    assert (predicted[0] == 0).all()
    rare = labelled(["plain so"] * 9 + ["so"], [0] * 9 + [1])
    assert baseline.fit_and_predict(WORDS, rare, [np.array(["so"], object)], True)[0][0].tolist() == [1]


@pytest.mark.long
def test_a_baseline_that_would_take_minutes_is_left_out(phones):
    train = labelled(["some words " * 300_000, "other words " * 200_000], [0, 1])
    for_words, for_characters, for_both = compared(splits_of(train, phones.valid), {"validation": phones.valid.labels})[
        "validation"
    ]["baselines"]
    assert "accuracy" in for_words
    assert for_characters["left_out"] == "the training texts have more than 5 million characters"
    assert "accuracy" in for_both


def test_many_classes_with_much_text_are_left_out():
    train = labelled(["some words " * 40] * 1000, range(1000))
    predicted, reason = baseline.fit_and_predict(WORDS, train, [train.texts], False)
    assert (predicted, reason) == ([], "1,000 classes and 0.4 million characters are too many")


def test_texts_without_words_have_no_baseline_of_words():
    train = labelled(["!", "?"] * 3, [0, 1] * 3)
    scores = compared(splits_of(train, train), {"validation": train.labels})
    words, characters, _ = scores["validation"]["baselines"]
    assert words["left_out"] == "the training texts have no words" and characters["accuracy"] == 1.0
    text = "\n".join(baseline.report_lines(scores))
    assert f"The baseline of {WORDS} is left out: the training texts have no words." in text
    assert f"| {CHARACTERS} | validation | 100.0 % (61.0 to 100.0) | +0.0 (" in text
    first, second, _ = baseline.summary_lines(scores["validation"])
    assert "left out" in first and f"{CHARACTERS}; this model +0.0 (" in second


def test_several_labels_per_text_are_compared_by_micro_f1():
    texts = [f"{('red', 'green')[i % 2]} {('round', 'square')[i // 2 % 2]} thing" for i in range(40)]
    labels = [[i % 2, i // 2 % 2, 1] for i in range(40)]  # every text has the last label
    train = labelled(texts, labels)
    splits = LabelledSplits(train, train, None, ("green", "square", "thing"), {})
    assert splits.multi_label
    model = train.labels.copy()
    model[:, 0] = 0
    scores = compared(splits, {"validation": model})
    words, characters, both = scores["validation"]["baselines"]
    assert words["micro_f1"] == characters["micro_f1"] == both["micro_f1"] == 1.0
    f1 = 2 * 60 / (60 + 80)
    assert words["difference"] == pytest.approx(f1 - 1)
    low, high = words["difference_interval"]
    assert low < f1 - 1 < high < 0
    text = "\n".join(baseline.report_lines(scores))
    assert f"| {WORDS} | validation | 1.000 (1.000 to 1.000) | -14.3 (" in text and "| micro-F1 |" in text
    assert "baseline    micro-F1 1.000" in baseline.summary_lines(scores["validation"])[0]


def test_without_baselines_nothing_is_reported():
    assert baseline.summary_lines({"accuracy": 1.0}) == baseline.report_lines({"validation": {}}) == []
