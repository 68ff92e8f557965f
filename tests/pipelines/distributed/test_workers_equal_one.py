"""Several workers train as one: the same losses. test_workers_end.py has three workers."""

import numpy as np
import pytest

import main
from tests.pipelines.distributed import small_data, worker_processes

_COMMON = {"precision": "float32", "patience": 1000, "dropout": 0.0}
_TRAININGS = {
    # 100 texts in batches of 33: the last batch has one row, fewer than there are workers.
    "classification": (
        "classification",
        small_data.write_labelled_texts,
        {"model": "lstm", "batch_size": 33, "epochs": 8, "hidden_size": 8, "embedding_size": 8, "learning_rate": 0.01}
        | {"word_dropout": 0.0, "embedding_dropout": 0.0, "class_weights": True, "clip_norm": 0.1},
    ),
    "language-model": (
        "language-model",
        small_data.write_text,
        {"model": "lstm", "batch_size": 5, "window": 16, "hidden_size": 16, "embedding_size": 16, "vocabulary_size": 60}
        | {"epochs": 2, "tie_weights": False, "num_sampled": 0, "schedule": "plateau"},
    ),
    # Keras's Adam and its norm of gradients square each row of an embedding's gradient, also those of the same token.
    # Such a row is here the sum over a worker's windows, not over the batch, so Adam would differ a little.
    "sampled-softmax": (
        "language-model",
        small_data.write_text,
        {"model": "gru", "batch_size": 5, "window": 16, "hidden_size": 16, "embedding_size": 16, "vocabulary_size": 60}
        | {"epochs": 1, "tie_weights": True, "num_sampled": 20}
        | {"optimizer": "sgd", "clip_norm": 1000.0, "learning_rate": 0.5},
    ),
    "translation": (
        "translation",
        small_data.write_pairs,
        {"model": "transformer", "pair": "aa-bb", "hidden_size": 16, "num_layers": 1, "num_heads": 2, "max_tokens": 60}
        | {"vocabulary_size": 120, "batch_tokens": 100, "epochs": 2, "ema_momentum": 0.9, "label_smoothing": 0.1}
        | {"split_batches": False},
    ),
    "tagging": (
        "tagging",
        small_data.write_tagged_sentences,
        {"batch_size": 11, "epochs": 4, "hidden_size": 8, "word_dropout": 0.0, "embedding_dropout": 0.0}
        | {"final_stop_dropout": 0.0, "characters": "none"},  # the characters have a dropout of their own
    ),
    "encoder": (
        "encoder",
        small_data.write_text,
        {"batch_size": 5, "window": 16, "vocabulary_size": 60, "epochs": 2, "valid_fraction": 0.3} | {"num_sampled": 0},
    ),
}


# Trainings on what `prepare` makes of the data of others: (name of the other, flags of prepare, settings). The tests of
# the shards of each task check that the workers divide its batches.
_PREPARED = {
    "prepared-encoder": (
        "encoder",
        ["--vocabulary-size", "60", "--valid-fraction", "0.3"],
        {"direction": "bidirectional", "batch_size": 5, "window": 16, "epochs": 1}
        | {"hidden_size": 16, "embedding_size": 16},
    ),
}
# Those whose batches are divided in ways of their own are in `make test-all`.
_ALWAYS = ("classification", "sampled-softmax", "translation")
_NAMES = [
    name if name in _ALWAYS else pytest.param(name, marks=pytest.mark.exhaustive) for name in (*_TRAININGS, *_PREPARED)
]
_SUFFIXES = {"classification": ".csv", "translation": ".tsv", "tagging": ".conll"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory, request):
    """(the folder of the tested trainings, by number of workers and name; (status, stderr) of both workers).

    Two workers train all at the same time as this process does without TF_CONFIG, and then get different data. Most of
    the time of such small trainings is the start of processes and of trainings.
    """
    root = tmp_path_factory.mktemp("trainings")
    here = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    tested = {item.callspec.params["name"] for item in here}
    trainings, given = {}, {}
    for name, (task, write, settings) in _TRAININGS.items():
        given[name] = str(write(root / f"{name}{_SUFFIXES.get(name, '.txt')}"))
        if name in tested:
            trainings[name] = (task, _COMMON | settings | {"data": given[name]})
    for name, (task, flags, settings) in _PREPARED.items():
        if name in tested:
            assert main.main(["prepare", task, "--data", given[task], "--output", str(root / name), *flags]) == 0
            trainings[name] = (task, _COMMON | settings | {"data": str(root / name)})
    task, _, settings = _TRAININGS["language-model"]
    settings = _COMMON | settings
    processes = []
    for data, environment in zip((given[task], str(root / "missing.txt")), worker_processes.environments(2)):
        refused = {"refused": (task, settings | {"data": data})}
        processes.append(worker_processes.start_one(root / "2", trainings | refused, environment, only_train=True))
    try:
        worker_processes.train_here(root / "1", trainings)
    finally:
        ends = worker_processes.end(processes)
    return root, ends


@pytest.mark.long
@pytest.mark.parametrize("name", _NAMES)
def test_the_losses_are_those_of_one_worker(name, trained):
    root, ends = trained
    folders = [root / workers / name for workers in ("1", "2")]
    assert (folders[1] / "losses.json").exists(), ends
    one, many = map(worker_processes.losses, folders)
    assert len(one) >= (12 if name in _PREPARED else 30)
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-4)
    assert np.std(one) > 1e-3  # it learns something: the losses are not constant
    tables = [next(folder.glob("runs/*/r/metrics.csv")).read_text() for folder in folders]
    values = [np.array([line.split(",") for line in text.splitlines()[1:]], float) for text in tables]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-3, atol=1e-3)


@pytest.mark.long
def test_a_worker_without_the_data_is_one_line_at_all_workers(trained):
    root, ends = trained
    for status, text in ends:
        assert status == 2, text
        assert "worker 1 has another --data than worker 0" in text
    assert not (root / "2/refused/runs/language-model/r").exists()
