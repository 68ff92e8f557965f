"""A result of a run, for tests."""

from pipelines.support.run_result import SCHEMA, RunResult


def make_result(**changes) -> RunResult:
    values = {
        "schema": SCHEMA,
        "run": "0123456789abcdef",
        "task": "classification",
        "config": {"data": "/home/me/reviews.csv", "model": "bag", "epochs": 2, "dropout": None},
        "data": {"name": "reviews", "fingerprint": "0123abcd"},
        "modules": {},
        "versions": {"python": "3.11.9", "tensorflow": "2.21.0"},
        "machine": "Linux x86_64",
        "started": "2026-01-02T03:04:05+00:00",
        "sample": False,
        "vocabulary_size": 1234,
        "parameters": 56789,
        "precision": "float32",
        "epochs": [
            {"epoch": 1, "loss": 0.9, "val_loss": 0.8, "val_accuracy": 0.6},
            {"epoch": 2, "loss": 0.5, "val_loss": 0.6, "val_accuracy": 0.7},
        ],
        "epoch_seconds": [3.0, 2.5],
        "best_epoch": 2,
        "training_seconds": 125.0,
        "scores": {"validation": {"rows": 100, "accuracy": 0.7}, "test": {"rows": 200, "accuracy": 0.65}},
        "export": "/home/me/saved_models/classification/3",
        "model": "classification/3",
        "report": "/home/me/runs/classification/reviews-bag-1/report.md",
        "seconds": 130.0,
    }
    return RunResult.of(**values | changes)
