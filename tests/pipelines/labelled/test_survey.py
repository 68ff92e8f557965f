"""The first pass over labelled texts: it agrees with reading all of them at once, and keeps a bounded part."""

import numpy as np
import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.data import sample_reviews
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.splits import comparable, stratified_validation_rows
from pipelines.labelled import survey as surveys
from pipelines.labelled.splits import classes_of, read_and_split
from pipelines.shards import first_pass
from pipelines.shards.held_out import HeldOut, hash_of
from pipelines.support.errors import UserError


def chunks_of(texts, labels, groups=None, size=37):
    for i in range(0, len(texts), size):
        rows = slice(i, i + size)
        yield LabelledTexts(texts[rows], labels[rows], None if groups is None else groups[rows], {})


def survey(texts, labels, groups=None, fraction=0.1, polarity=False, own=None):
    def classes(found, rows):
        return classes_of(ClassificationConfig(), found, "x", polarity, rows)

    return surveys.survey(chunks_of(texts, labels, groups), classes, polarity, fraction, 1, own)


def held_out(texts, labels, found, groups=None):
    return np.concatenate([mask for _, mask, _ in surveys.split(chunks_of(texts, labels, groups), found.held_out)])


def objects(values):
    return np.array(list(values), object)


@pytest.mark.parametrize("with_groups", [True, False])
@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.5])
def test_the_validation_texts_are_those_of_a_training_in_memory(with_groups, fraction):
    texts, labels, films, _ = sample_reviews.generate(1000)
    groups = films if with_groups else None
    expected = stratified_validation_rows(films if with_groups else texts, (labels == "positive").astype(int), fraction)
    found = survey(texts, labels, groups, fraction)
    assert held_out(texts, labels, found, groups).tolist() == expected.tolist()


def test_texts_with_an_empty_group_are_groups_of_their_own_as_in_memory():
    texts, labels, films, _ = sample_reviews.generate(1000)
    groups = np.where(np.arange(1000) % 2 == 0, films, "")
    expected = stratified_validation_rows(
        np.where(groups == "", texts, groups), (labels == "positive").astype(int), 0.1
    )
    found = survey(texts, labels, groups)
    assert held_out(texts, labels, found, groups).tolist() == expected.tolist()
    assert found.num_without_group == 500


def test_rare_classes_are_split_as_in_memory():
    labels = objects("rare" if i % 97 == 0 else "b" if i % 3 else "a" for i in range(1000))
    texts = objects(f"text {i}" for i in range(1000))
    ids = np.array([("a", "b", "rare").index(label) for label in labels])
    expected = stratified_validation_rows(texts, ids, 0.1)
    mask = held_out(texts, labels, survey(texts, labels))
    assert mask.tolist() == expected.tolist()
    assert 0 < (labels[mask] == "rare").sum() < (labels == "rare").sum()


def test_the_texts_of_training_are_those_of_a_training_in_memory(tmp_path):
    texts, labels, films, _ = sample_reviews.generate(300)
    texts[200:] = [text.upper() for text in texts[:100]]  # in training the same words as in validation
    path = tmp_path / "a.csv"
    rows = zip(texts, labels, strict=True)
    path.write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in rows))
    expected = read_and_split(ClassificationConfig(data=str(path)), polarity=False)
    found = survey(texts, labels)
    parts = list(surveys.split(chunks_of(texts, labels), found.held_out))
    train = np.concatenate([chunk.texts[~held & ~repeated] for chunk, held, repeated in parts])
    assert train.tolist() == expected.train.texts.tolist() == found.sample
    assert np.concatenate([c.texts[mask] for c, mask, _ in parts]).tolist() == expected.valid.texts.tolist()
    assert len(train) < 300 - len(expected.valid)


@pytest.mark.parametrize("limit", [10, 60])
def test_of_many_texts_the_groups_with_the_lowest_hashes_are_held_out(monkeypatch, limit):
    texts, labels, films, _ = sample_reviews.generate(3000)
    texts = objects(f"{text} {i}" for i, text in enumerate(texts))
    everything = survey(texts, labels, fraction=0.02)
    monkeypatch.setattr(first_pass, "_MAX_CANDIDATES", limit * 10)
    assert survey(texts, labels, fraction=0.02).held_out.groups.tolist() == everything.held_out.groups.tolist()


def test_the_number_of_validation_texts_is_limited(monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 50)
    texts = objects(f"text {i}" for i in range(5000))
    labels = objects("ab"[i % 2] for i in range(5000))
    assert held_out(texts, labels, survey(texts, labels)).sum() == 50


def test_the_sample_is_limited_and_random(monkeypatch):
    texts = objects(f"{i:010}" for i in range(5000))
    labels = objects("ab"[i % 2] for i in range(5000))
    monkeypatch.setattr(surveys, "_MAX_SAMPLE", 10_000)
    sample = survey(texts, labels).sample
    assert 200 < len(sample) <= 1000
    assert abs(np.mean([int(text) for text in sample]) - 2500) < 400
    assert sample == survey(texts, labels).sample
    assert not set(sample) & set(texts[held_out(texts, labels, survey(texts, labels))])


def test_ones_own_validation_texts_hold_out_nothing_else():
    texts, labels, _, _ = sample_reviews.generate(200)
    own = LabelledTexts(texts[:3], labels[:3], None, {})
    found = survey(texts, labels, own=HeldOut.of_texts(own.texts))
    (chunk, *_) = surveys.split(chunks_of(texts, labels, size=200), found.held_out)
    assert not chunk[1].any()
    equal = {comparable(text) for text in own.texts}
    assert chunk[2].tolist() == [comparable(text) in equal for text in texts]


def test_each_spelling_of_a_label_has_its_class():
    texts = objects(f"text {i}" for i in range(40))
    labels = objects(["1", "0", "-1", " 1 "][i % 4] for i in range(40))
    found = survey(texts, labels, polarity=True)
    assert found.classes == ("negative", "neutral", "positive")
    assert found.class_of == {"1": 2, "0": 1, "-1": 0, " 1 ": 2}


def test_one_label_and_too_many_labels_are_refused(monkeypatch):
    texts = objects(f"text {i}" for i in range(40))
    with pytest.raises(UserError, match="all 40 rows have the label 'a'"):
        survey(texts, objects("a" for _ in texts))
    monkeypatch.setattr(surveys, "_MAX_LABELS", 30)
    with pytest.raises(UserError, match="more than 30 different labels: name the right column with --label-column"):
        survey(texts, texts)


def test_the_lowest_hashes_are_in_the_order_of_reading():
    texts = objects(f"text {i}" for i in range(500))
    chosen, dropped = surveys.lowest(chunks_of(texts, texts), 20)
    expected = sorted(texts, key=hash_of)[:20]
    assert chosen.texts.tolist() == [text for text in texts if text in expected] == chosen.labels.tolist()
    assert dropped == {"more than 20 texts to score on": 480}
    assert surveys.lowest(chunks_of(texts, texts), 500)[1] == {}
