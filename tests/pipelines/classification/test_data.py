from pipelines.classification import data
from pipelines.classification.config import ClassificationConfig


def load_rows(tmp_path, rows, **values):
    (tmp_path / "a.csv").write_text("text,label,url\n" + "".join(f"{t},{label},{url}\n" for t, label, url in rows))
    return data.load(ClassificationConfig(data=str(tmp_path / "a.csv"), polarity=True, **values))


def phones(classes=("neg", "pos")):
    """Rows in which one class says "sturdy" and the other "noisy"."""
    sentences = "It is a very noisy telephone.", "It is a very sturdy telephone."
    return [(f"{sentences[i % 2]} Number {i}", classes[i % 2], f"url {i}") for i in range(60)]


def test_generated_sentences_are_added_only_to_training(tmp_path):
    without = load_rows(tmp_path, phones())
    splits = load_rows(tmp_path, phones(), num_negations=100)
    assert splits.train.num_generated == 100 and without.train.num_generated == 0
    assert splits.train.texts[:-100].tolist() == without.train.texts.tolist()
    assert splits.valid.texts.tolist() == without.valid.texts.tolist()
    assert splits.notes == {'added to training, generated sentences with and without "not"': 100}


def test_no_sentences_are_generated_for_classes_other_than_negative_and_positive(tmp_path):
    splits = load_rows(tmp_path, phones(classes=("hardware", "software")), num_negations=100)
    assert splits.train.num_generated == 0 and not splits.notes


def test_without_polarity_labels_stay_as_they_are_spelled(tmp_path):
    (tmp_path / "a.csv").write_text(
        "text,label\n" + "".join(f"text {i},{('Pos ', 'POS', 'neg')[i % 3]}\n" for i in range(60))
    )
    splits = data.load(ClassificationConfig(data=str(tmp_path / "a.csv")).resolve())
    assert splits.classes == ("POS", "Pos", "neg")
