import numpy as np
import pandas as pd
import pytest

from pipelines.data.text_chunks import Chunk
from pipelines.predicting import least_sure
from pipelines.predicting.file_steps import Predicted


def uncertainty(outputs):
    return outputs["uncertainty"]


def chunks_of(texts, values, size=7, poisoned=(), num_skipped=0):
    """Yields rows as a model predicts them: outputs are an array, a list, and an array of two axes."""
    for start in range(0, len(texts), size):
        rows = np.arange(start, min(start + size, len(texts)))
        outputs = {"uncertainty": values[rows], "row": rows.tolist(), "pair": np.stack([rows, -rows], axis=1)}
        table = pd.DataFrame({"id": rows.astype(str), "body": [texts[row] for row in rows]}, dtype=object)
        yield Predicted(Chunk(table, "body", num_skipped), outputs, np.isin(rows, poisoned))


def ordered(*given, limit=None, **options):
    """The chunks that are yielded, and the counts."""
    counts = {}
    return list(least_sure.least_sure_first(chunks_of(*given, **options), uncertainty, limit, counts)), counts


def rows_of(chunks) -> list[int]:
    return [row for chunk in chunks for row in chunk.outputs["row"]]


@pytest.fixture
def pool():
    """Texts of which some repeat and some are empty, and uncertainties of which many are equal."""
    rng = np.random.default_rng(4)
    texts = [f"text {number}" for number in rng.integers(0, 80, 100)]
    texts[3] = texts[40] = " \u200b"
    by_text = dict(zip(sorted(set(texts)), rng.integers(0, 20, 100) / 20))
    return texts, np.array([by_text[text] for text in texts], np.float32)


def reference(texts, values, poisoned=()):
    """NumPy's order: the least sure first, then the first row; without repeated, empty and poisoned rows."""
    order = np.lexsort((np.arange(len(texts)), -values))
    order = [row for row in order if row not in poisoned and texts[row].strip(" \u200b")]
    seen: set[str] = set()
    return [int(row) for row in order if not (texts[row] in seen or seen.add(texts[row]))]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_order_is_that_of_the_uncertainty(pool, monkeypatch, size):
    monkeypatch.setattr(least_sure, "CHUNK_ROWS", 5)
    expected = reference(*pool, poisoned=(7, 50))
    chunks, counts = ordered(*pool, size=size, poisoned=(7, 50))
    assert rows_of(chunks) == expected and max(len(each.poisoned) for each in chunks) == 5
    assert counts == {"read": 100, "skipped": 0, "empty": 2}
    for chunk in chunks:  # everything of a row stays together
        rows = chunk.outputs["row"]
        assert chunk.chunk.rows["id"].tolist() == list(map(str, rows)) and not chunk.poisoned.any()
        assert chunk.texts() == [pool[0][row] for row in rows]
        assert chunk.outputs["pair"].tolist() == [[row, -row] for row in rows]


def test_a_row_that_cannot_be_read_does_not_hide_the_same_text(pool):
    texts, values = ["a", "a", "b"], np.array([0.9, 0.9, 0.1])
    assert rows_of(ordered(texts, values, poisoned=(0,))[0]) == [1, 2]


def test_rows_that_were_skipped_are_counted_once(pool):
    chunks, counts = ordered(*pool, num_skipped=2)
    assert counts["skipped"] == 2 * 15 and all(each.chunk.num_skipped == 0 for each in chunks)


def test_nothing_to_label():
    assert ordered(["", " "], np.zeros(2)) == ([], {"read": 2, "skipped": 0, "empty": 2})
    assert rows_of(ordered(["", " ", "a"], np.zeros(3), size=1)[0]) == [2]


def test_columns_that_only_later_rows_have():
    first, second = chunks_of(["a", "b"], np.array([0.1, 0.9]), size=1)
    second = second._replace(chunk=second.chunk._replace(rows=second.chunk.rows.assign(extra="x")))
    (chunk,) = least_sure.least_sure_first(iter([first, second]), uncertainty, None, {})
    assert chunk.chunk.rows.to_dict("records") == [
        {"id": "1", "body": "b", "extra": "x"},
        {"id": "0", "body": "a", "extra": ""},
    ]


def chosen_by_numpy(texts, values, limit):
    """Maximal marginal relevance with dense vectors, one candidate after the other."""
    words = sorted(set(" ".join(texts).lower().split()))
    counts = np.array([[text.lower().split().count(word) for word in words] for text in texts], float)
    idf = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    vectors = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen: list[int] = []
    while len(chosen) < limit:
        others = [row for row in range(len(texts)) if row not in chosen]
        gain = [
            0.8 * values[row] - 0.2 * max((vectors[row] @ vectors[other] for other in chosen), default=0)
            for row in others
        ]
        chosen.append(others[int(np.argmax(gain))])
    return sorted(chosen)


def test_unlike_texts_are_chosen_as_numpy_does():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["red", "Green", "blue", "sky", "sea"], rng.integers(1, 6))) for _ in range(60)]
    values = np.sort(rng.random(60))[::-1].astype(np.float32)
    for limit in (1, 5, 20, 59, 60):
        assert least_sure.unlike(texts, values, limit).tolist() == chosen_by_numpy(texts, values, limit)


def test_near_duplicates_are_not_all_taken():
    texts = [f"your parcel {number} has not arrived yet" for number in range(30)]
    texts += ["the tap drips", "how do I pay", "我不喜欢这家酒店", "我不喜欢那家酒店"]
    values = np.array([0.99] * 30 + [0.95] * 3 + [0.94], np.float32)
    (chunk,), counts = ordered(texts, values, size=50, limit=4)
    assert rows_of([chunk]) == [0, 30, 31, 32] and counts["read"] == 34
    assert rows_of(ordered(texts, values)[0]) == list(range(34))
    assert rows_of(ordered(texts, values, limit=34)[0]) == list(range(34))


def test_texts_without_words():
    texts, values = ["!", "?", "😀", "…"], np.array([0.1, 0.4, 0.3, 0.2])
    assert rows_of(ordered(texts, values, limit=2)[0]) == [1, 2]
    assert rows_of(ordered([*texts, "a"], np.append(values, 0), limit=2)[0]) == [1, 2]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_limit_keeps_the_order_and_few_rows_in_memory(pool, monkeypatch, size):
    monkeypatch.setattr(least_sure, "CHUNK_ROWS", 2)
    monkeypatch.setattr(least_sure, "_CANDIDATES", 2)
    held, joined = [], least_sure._joined
    monkeypatch.setattr(least_sure, "_joined", lambda kept: held.append(sum(map(num_rows, kept))) or joined(kept))
    texts, values = pool
    candidates = reference(texts, values)[:10]
    chunks, counts = ordered(texts, values, size=size, limit=5)
    numbers = least_sure.unlike([texts[row] for row in candidates], values[candidates], 5)
    assert rows_of(chunks) == [candidates[number] for number in numbers] and counts["read"] == 100
    assert size > 10 or (len(held) > 1 and max(held) <= 2 * 10 + 2 + size)


def num_rows(predicted) -> int:
    return len(predicted.poisoned)
