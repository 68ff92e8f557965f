"""Runs the steps of a task in this process: as the plain command does, and in parts as with --ray, but without Ray."""

import functools

from pipelines.data.table_options import TableOptions
from pipelines.labelled.predict import file_steps
from pipelines.predicting import batch_workers, engine, input_files
from pipelines.predicting.file_steps import FileSteps


def label_file(exported, source, target, options: TableOptions = TableOptions(), prefix: str | None = None) -> dict:
    """Labels the texts of files with an exported classifier; returns the counts."""
    steps = file_steps(exported, options, target.suffix if target else ".csv", prefix)
    return engine.predict_files(exported, source, target, steps)


def parts_of(steps: FileSteps, exported, path, fails_for: str = "\0") -> list[tuple[bytes, dict]]:
    """Returns (content, record) of each part of a file.

    Args:
        fails_for: the model raises an error for a batch with a text that contains it.
    """
    first = engine.first_columns(input_files.find(str(path)), steps)
    jobs, steps = {"file": [0], "path": [str(path)], "done": [[]]}, steps.bound(first)
    *units, end = batch_workers.read_units(jobs, steps, first)
    assert end["record"] == [f'{{"parts": {len(units)}}}'], end["record"]
    predict = functools.partial(_predict, steps.load(exported), fails_for)
    return [batch_workers.predict_unit(predict, steps, unit["content"][0]) for unit in units]


def _predict(predict, fails_for: str, texts: list[str]):
    if any(fails_for in text for text in texts):
        raise ValueError(f"a text has {fails_for!r}\nsecond line")
    return predict(texts)
