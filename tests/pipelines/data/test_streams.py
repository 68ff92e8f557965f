import numpy as np
import pytest

from pipelines.data import streams, texts
from pipelines.text import tokenizers
from pipelines.text.tokenizers import START


@pytest.mark.parametrize("kind", ["character", "spaced"])
def test_ids_in_a_file_are_those_of_the_whole_text(tmp_path, kind):
    pieces = ["To be, or not\nto be: " * 900, "that is\nthe question. " * 700]
    tokenizer = tokenizers.train_tokenizer(kind, pieces, 1000, 10**6)
    streams.write_ids(tmp_path / "a.ids", tokenizer, texts.chunks(pieces))
    whole = tokenizer.encode(["".join(pieces)])[0, 1:-1].numpy()
    np.testing.assert_array_equal(streams.read_ids(tmp_path / "a.ids"), whole)


def test_independent_texts_are_each_between_start_and_end(tmp_path):
    tokenizer = tokenizers.train_tokenizer("character", ["ab"], 10, 100)
    streams.write_ids(tmp_path / "a.ids", tokenizer, ["ab", "", "b"] * 100, with_special_tokens=True)
    expected = tokenizer.encode(["ab", "", "b"]).flat_values.numpy().tolist()
    assert streams.read_ids(tmp_path / "a.ids").tolist() == expected * 100 and expected.count(START) == 3


def test_an_empty_text_has_no_ids(tmp_path):
    streams.write_ids(tmp_path / "a.ids", tokenizers.train_tokenizer("character", ["a"], 10, 100), [])
    assert streams.read_ids(tmp_path / "a.ids").tolist() == []


IDS = np.arange(1000, 1100, dtype=np.int32)


def read(epoch=0, skip=0, batch_size=3, window=4):
    return list(streams.batches(IDS, batch_size, window, 7, epoch, skip).as_numpy_iterator())


def test_windows_follow_one_another_in_each_stream():
    batches = read()
    assert len(batches) == streams.steps_per_epoch(100, 3, 4) == 8
    inputs = np.concatenate([x for x, _ in batches], axis=1)
    targets = np.concatenate([y for _, y in batches], axis=1)
    assert (inputs[:, 0] == START).all()
    np.testing.assert_array_equal(inputs[:, 1:], targets[:, :-1])
    assert (np.diff(targets, axis=1) == 1).all()
    assert len(np.unique(targets)) == targets.size, "no position of the text is read twice in an epoch"


def test_an_epoch_is_a_pure_function_of_seed_epoch_and_step():
    for (x, y), (x_again, y_again) in zip(read(epoch=2, skip=3), read(epoch=2)[3:], strict=True):
        np.testing.assert_array_equal(x, x_again)
        np.testing.assert_array_equal(y, y_again)


def test_epochs_start_at_different_positions():
    assert len({int(read(epoch=epoch)[0][1][0, 0]) for epoch in range(20)}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("tokens", range(0, 40))
def test_every_epoch_has_the_same_number_of_steps(tokens):
    ids = np.arange(tokens, dtype=np.int32)
    for epoch in range(6):
        batches = list(streams.batches(ids, 3, 4, 0, epoch, 0).as_numpy_iterator()) if tokens else []
        assert len(batches) == streams.steps_per_epoch(tokens, 3, 4)
        assert all(y.max() < tokens for _, y in batches)


def test_documents_are_written_between_their_start_and_their_end(tmp_path, monkeypatch):
    tokenizer = tokenizers.train_tokenizer("character", ["abc "] * 10, 20, 1000)
    monkeypatch.setattr(texts, "_CHUNK", 5)  # the second document has several chunks
    monkeypatch.setattr(streams, "_CHUNKS_PER_CALL", 2)
    documents = ["ab", "abc abc abc abc", "c"]
    streams.write_documents(tmp_path / "a.ids", tokenizer, iter(documents))
    expected = np.concatenate(tokenizer.encode(documents).to_list())
    assert streams.read_ids(tmp_path / "a.ids").tolist() == expected.tolist()
    streams.write_documents(tmp_path / "b.ids", tokenizer, iter([]))
    assert streams.read_ids(tmp_path / "b.ids").tolist() == []
