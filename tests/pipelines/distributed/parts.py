"""Runs the steps of a batch prediction in this process, without Ray."""

import functools

from pipelines.distributed import batch_workers
from pipelines.distributed.file_steps import FileSteps


def parts_of(steps: FileSteps, exported, path, fails_for: str = "\0") -> list[tuple[bytes, dict]]:
    """Returns (content, record) of each part of a file.

    Args:
        fails_for: the model raises an error for a batch with a text that contains it.
    """
    jobs = {"file": [0], "path": [str(path)], "done": [[]]}
    *units, end = batch_workers.read_units(jobs, steps, None)
    assert end["record"] == [f'{{"parts": {len(units)}}}'], end["record"]
    predict = functools.partial(_predict, steps.load(exported), fails_for)
    return [batch_workers.predict_unit(predict, steps, unit["content"][0]) for unit in units]


def _predict(predict, fails_for: str, texts: list[str]):
    if any(fails_for in text for text in texts):
        raise ValueError(f"a text has {fails_for!r}\nsecond line")
    return predict(texts)
