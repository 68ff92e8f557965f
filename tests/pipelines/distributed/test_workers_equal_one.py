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


# Trainings on what `prepare` makes of the data of others: (name of the other, flags of prepare, settings).
_PREPARED = {
    "prepared-classification": (
        "classification",
        [],
        {"model": "lstm", "batch_size": 24, "epochs": 3, "hidden_size": 8, "embedding_size": 8}
        | {"word_dropout": 0.0, "embedding_dropout": 0.0},
    ),
    "prepared-encoder": (
        "encoder",
        ["--vocabulary-size", "60", "--valid-fraction", "0.3"],
        {"direction": "bidirectional", "batch_size": 5, "window": 16, "epochs": 2}
        | {"hidden_size": 16, "embedding_size": 16},
    ),
    "prepared-tagging": (
        "tagging",
        [],
        # Unlike the words, the characters have a dropout of their own, of each worker.
        {"batch_size": 22, "word_dropout": 0.3, "characters": "none", "epochs": 3, "hidden_size": 8}
        | {"embedding_dropout": 0.0, "embedding_size": 8},
    ),
    "prepared-translation": (
        "translation",
        ["--vocabulary-size", "120", "--max-tokens", "60", "--pair", "aa-bb"],
        _TRAININGS["translation"][2] | {"epochs": 1},
    ),
}
_SUFFIXES = {"classification": ".csv", "translation": ".tsv", "tagging": ".conll"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of all trainings, in folders named by the number of workers.

    One process trains all without TF_CONFIG, and three workers train all at the same time. Most of the time of such
    small trainings is the start of their processes.
    """
    root = tmp_path_factory.mktemp("trainings")
    trainings = {}
    for name, (task, write, settings) in _TRAININGS.items():
        data = write(root / f"{name}{_SUFFIXES.get(name, '.txt')}")
        trainings[name] = (task, _COMMON | settings | {"data": str(data)})
    for name, (other, flags, settings) in _PREPARED.items():
        task, given = trainings[other]
        assert main.main(["prepare", task, "--data", given["data"], "--output", str(root / name), *flags]) == 0
        trainings[name] = (task, _COMMON | settings | {"data": str(root / name)})
    two = {"classification": trainings["classification"]}
    processes = []
    for count, some in ((1, trainings), (3, trainings), (2, two)):
        processes += worker_processes.start(root / str(count), some, count, only_train=True)
        if count != 1:
            for status, text in worker_processes.end(processes):
                assert status == 0, text
            processes = []
    return root


@pytest.mark.long
@pytest.mark.parametrize(
    "name, num_workers", [("classification", 2), *((name, 3) for name in [*_TRAININGS, *_PREPARED])]
)
def test_the_losses_are_those_of_one_worker(name, num_workers, trained):
    folders = [trained / str(workers) / name for workers in (1, num_workers)]
    one, many = map(worker_processes.losses, folders)
    assert len(one) >= (12 if name in _PREPARED else 100)
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-4)
    assert np.std(one) > 1e-3  # it learns something: the losses are not constant
    tables = [next(folder.glob("runs/*/r/metrics.csv")).read_text() for folder in folders]
    values = [np.array([line.split(",") for line in text.splitlines()[1:]], float) for text in tables]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-3, atol=1e-3)
