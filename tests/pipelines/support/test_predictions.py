import numpy as np

from pipelines.support import predictions


def test_predictions_are_read_as_they_were_written(tmp_path):
    labels, predicted = ["NA", "01", "a,b"], ["01", "01", "a,b"]
    predictions.write(tmp_path, ["one", "two", "\udc80"], labels, predicted, np.array([0.5, 0.75, 1]))
    rows = predictions.read(tmp_path).set_index("text_sha256")
    for text, label, name in zip(["one", "two", "\udc80"], labels, predicted, strict=True):
        row = rows.loc[predictions.text_checksum(text)]
        assert (row["label"], row["predicted"]) == (label, name)


def test_the_order_of_the_texts_does_not_matter_and_the_texts_are_not_kept(tmp_path):
    for name, texts in (("a", ["secret one", "two"]), ("b", ["two", "secret one"])):
        (tmp_path / name).mkdir()
        predictions.write(tmp_path / name, texts, ["x", "x"], ["x", "x"], [1, 1])
    assert predictions.read(tmp_path / "a").equals(predictions.read(tmp_path / "b"))
    assert "secret" not in (tmp_path / "a" / predictions.FILE).read_text()


def test_a_run_without_the_file_has_no_predictions(tmp_path):
    assert predictions.read(tmp_path) is None
