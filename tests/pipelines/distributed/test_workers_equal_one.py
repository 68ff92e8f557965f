"""Several workers train as one: the same losses, whatever their number."""

import numpy as np
import pytest

import main
from tests.pipelines.distributed import small_data, worker_processes

_COMMON = {"precision": "float32", "patience": 1000, "dropout": 0.0}
_TRAININGS = {
    # 101 texts or so in batches of 33: the last batch has fewer rows than there are workers.
    "classification": (
        "classification",
        small_data.write_labelled_texts,
        {"model": "lstm", "batch_size": 33, "epochs": 26, "hidden_size": 8, "embedding_size": 8, "learning_rate": 0.01}
        | {"word_dropout": 0.0, "embedding_dropout": 0.0, "class_weights": True, "clip_norm": 0.1},
    ),
    "language-model": (
        "language-model",
        small_data.write_text,
        {"model": "lstm", "batch_size": 5, "window": 16, "hidden_size": 16, "embedding_size": 16, "vocabulary_size": 60}
        | {"epochs": 3, "tie_weights": False, "num_sampled": 0, "schedule": "plateau"},
    ),
    # Keras's Adam and its norm of gradients square each row of an embedding's gradient, also those of the same token.
    # Such a row is here the sum over a worker's windows, not over the batch, so Adam would differ a little.
    "sampled-softmax": (
        "language-model",
        small_data.write_text,
        {"model": "gru", "batch_size": 5, "window": 16, "hidden_size": 16, "embedding_size": 16, "vocabulary_size": 60}
        | {"epochs": 3, "tie_weights": True, "num_sampled": 20}
        | {"optimizer": "sgd", "clip_norm": 1000.0, "learning_rate": 0.5},
    ),
    "translation": (
        "translation",
        small_data.write_pairs,
        {"model": "transformer", "pair": "aa-bb", "hidden_size": 16, "num_layers": 1, "num_heads": 2, "max_tokens": 60}
        | {"vocabulary_size": 120, "batch_tokens": 100, "epochs": 4, "ema_momentum": 0.9, "label_smoothing": 0.1},
    ),
    "tagging": (
        "tagging",
        small_data.write_tagged_sentences,
        {"batch_size": 11, "epochs": 12, "hidden_size": 8, "word_dropout": 0.0, "embedding_dropout": 0.0}
        | {"final_stop_dropout": 0.0, "characters": "none"},  # the characters have a dropout of their own
    ),
    "encoder": (
        "encoder",
        small_data.write_text,
        {"batch_size": 5, "window": 16, "vocabulary_size": 60, "epochs": 4, "valid_fraction": 0.3} | {"num_sampled": 0},
    ),
}


_SUFFIXES = {"classification": ".csv", "translation": ".tsv", "tagging": ".conll"}


_PREPARED = {
    "classification": (small_data.write_labelled_texts, {"model": "lstm", "batch_size": 24, "word_dropout": 0.0}),
    # Unlike the words, the characters have a dropout of their own, of each worker.
    "tagging": (small_data.write_tagged_sentences, {"batch_size": 22, "word_dropout": 0.3, "characters": "none"}),
}


@pytest.mark.long
@pytest.mark.parametrize("task", _PREPARED)
def test_prepared_data_is_read_in_parts(task, tmp_path):
    write, settings = _PREPARED[task]
    data = write(tmp_path / f"data{_SUFFIXES[task]}")
    prepared = str(tmp_path / "prepared")
    assert main.main(["prepare", task, "--data", str(data), "--output", prepared]) == 0
    settings = _COMMON | settings | {"data": prepared, "epochs": 3, "hidden_size": 8}
    settings |= {"embedding_dropout": 0.0, "embedding_size": 8}
    one, many = (
        worker_processes.train(tmp_path / str(count), task, settings, count, only_train=True) for count in (1, 3)
    )
    assert len(one) >= 12
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-4)


@pytest.mark.long
def test_the_windows_of_prepared_texts_are_read_in_parts(tmp_path):
    data = small_data.write_text(tmp_path / "text.txt")
    prepared = str(tmp_path / "prepared")
    flags = ["--vocabulary-size", "60", "--valid-fraction", "0.3"]
    assert main.main(["prepare", "encoder", "--data", str(data), "--output", prepared, *flags]) == 0
    settings = _COMMON | {"data": prepared, "direction": "bidirectional", "batch_size": 5, "window": 16, "epochs": 2}
    settings |= {"hidden_size": 16, "embedding_size": 16}
    one, many = (
        worker_processes.train(tmp_path / str(count), "encoder", settings, count, only_train=True) for count in (1, 3)
    )
    assert len(one) >= 12
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-4)


@pytest.mark.long
def test_prepared_pairs_are_read_in_parts(tmp_path):
    data = small_data.write_pairs(tmp_path / "pairs.tsv")
    prepared = str(tmp_path / "prepared")
    flags = ["--vocabulary-size", "120", "--max-tokens", "60", "--pair", "aa-bb"]
    assert main.main(["prepare", "translation", "--data", str(data), "--output", prepared, *flags]) == 0
    _, _, settings = _TRAININGS["translation"]
    settings = _COMMON | settings | {"data": prepared, "epochs": 1}
    one, many = (
        worker_processes.train(tmp_path / str(count), "translation", settings, count, only_train=True)
        for count in (1, 3)
    )
    assert len(one) >= 12
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, num_workers",
    [("classification", 2), *((name, 3) for name in _TRAININGS)],
)
def test_the_losses_are_those_of_one_worker(name, num_workers, tmp_path):
    task, write, settings = _TRAININGS[name]
    settings = _COMMON | settings | {"data": str(write(tmp_path / f"data{_SUFFIXES.get(name, '.txt')}"))}
    one, many = (
        worker_processes.train(tmp_path / str(workers), task, settings, workers, only_train=True)
        for workers in (1, num_workers)
    )
    assert len(one) >= 100
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-4)
    assert np.std(one) > 1e-3  # it learns something: the losses are not constant
    rows = [(tmp_path / str(workers) / "runs" / task / "r" / "metrics.csv").read_text() for workers in (1, num_workers)]
    values = [np.array([line.split(",") for line in text.splitlines()[1:]], float) for text in rows]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-3, atol=1e-3)
