import numpy as np

from pipelines.labelled import duplicates

TEXTS = np.array(["A good  film", "a GOOD film", "bad", "Bad", "bad", "fine"], dtype=object)
LABELS = np.array(["pos", "pos", "neg", "neg", "pos", "pos"], dtype=object)


def test_equal_texts_are_counted_and_contradictions_are_listed():
    assert duplicates.find(TEXTS, LABELS) == {
        "repeated": 3,
        "contradicting": 1,
        "contradictions": [{"text": "bad", "labels": {"neg": 2, "pos": 1}}],
    }
    assert duplicates.find(TEXTS[[0, 2, 5]], LABELS[[0, 2, 5]])["repeated"] == 0


def test_the_remark_names_contradictions_only_where_there_are_some():
    found = duplicates.find(TEXTS, LABELS)
    assert duplicates.remark(found) == (
        "texts that repeat an earlier one: 3; texts with different labels: 1 (the report lists them: correct or remove "
        "them)"
    )
    assert duplicates.remark(duplicates.find(TEXTS[:2], LABELS[:2])) == "texts that repeat an earlier one: 1"
    assert duplicates.remark(duplicates.find(TEXTS[:1], LABELS[:1])) is None


def test_the_report_lists_at_most_twenty_contradictions():
    texts = np.array([f"text {i // 2}" for i in range(60)], dtype=object)
    found = duplicates.find(texts, np.array(["a", "b"] * 30, dtype=object))
    lines = duplicates.report_lines(found)
    assert lines[1] == "- Texts that occur with different labels: 30."
    assert lines[2] == "  - *a* 1, *b* 1: “text 0”" and len(lines) == 2 + 20 + 1 and lines[-1] == "  - ..."
    assert duplicates.report_lines(None) == []
