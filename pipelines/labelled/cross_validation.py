"""Cross-validation of a task on labelled texts (--folds): K trainings without an export.

Each fold is trained in a folder of its own, `runs/<task>/<name>/fold-<k>`, as a run is: killed at any moment, the same
command continues with the fold at which it stopped.
"""

import dataclasses
import logging
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.data import fields, splits
from pipelines.labelled import folds_report, label_errors, metrics
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.labelled_splits import LabelledData
from pipelines.labelled.splits import class_ids, fold_splits, read
from pipelines.runs import continuing, run_folder
from pipelines.runs.fitting import fit_and_measure
from pipelines.runs.run import removed_if_refused
from pipelines.support import confusion, console
from pipelines.support.files import make_folders, shown, written_beside
from pipelines.support.quiet import import_tensorflow
from pipelines.support.records import read_record, write_record
from pipelines.support.run_result import RunRecord, RunResult
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry

_MEASURES = ("accuracy", "f1", "roc_auc", "log_loss")


def cross_validate(task_name: str, config: LabelledConfig, runs: Path, run: str | None) -> RunResult:
    """Trains `config.folds` times, each time with another part of the data held out. Resumes an interrupted run.

    Args:
        task_name: name in the registry.
        config: resolved config of the task.
        runs: folder of all runs.
        run: name of the run; None makes one from the data's name and a hash of the settings.

    Raises:
        UserError: a mistake that the user can fix.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the checkpoint is saved.
    """
    config.check()
    continuing.check(config)
    entry = TASKS[task_name]
    record, folder = run_folder.find(entry, config, runs, run)
    data = read(config, config.polarity)
    fold_of = splits.folds(data.rows.groups_or_texts(), class_ids(data), config.folds)
    parts = [entry.data().complete(config, fold_splits(data, fold_of, fold)) for fold in range(config.folds)]
    is_new = not folder.exists()
    make_folders(folder)
    with run_folder.locked(folder):
        record = run_folder.save_or_check_record(folder, record, config)
        result = run_folder.finished_result(folder)
        if result:
            console.say(f"{shown(folder)} is finished. Other flags, or --run NAME, make another run.")
            return result
        console.say(f"run {shown(folder)}")
        for remark in parts[0].remarks:
            console.say(f"note: {remark}")
        import_tensorflow(config.parallel_ops())
        # Every fold traces its functions again. TensorFlow takes that for a mistake, and warns.
        logging.getLogger("tensorflow").setLevel(logging.ERROR)
        started = time.monotonic()
        with removed_if_refused(folder, is_new):
            for fold, part in enumerate(parts):
                if not (folder / f"fold-{fold + 1}" / "fold.json").exists():
                    console.say(f"fold {fold + 1} of {config.folds}: {len(part.train):,} texts to train on")
                    _train_fold(entry, config, part, folder / f"fold-{fold + 1}")
        result = _result(config, record, data, fold_of, folder)
        result = dataclasses.replace(result, seconds=round(time.monotonic() - started, 1))
        run_folder.write_result(folder, result)
        return result


def _train_fold(entry: TaskEntry, config: LabelledConfig, part, folder: Path) -> None:
    """Trains on one fold, and writes its probabilities and its scores (fold.json, last)."""
    import keras

    task = entry.task()
    keras.backend.clear_session()  # the names of layers start again, as in a resumed process
    make_folders(folder)
    trained = fit_and_measure(task, config, part, folder)
    position = trained.position
    with written_beside(folder / "probabilities.npy", "wb") as file:
        np.save(file, trained.details["probabilities"])
    fold = {
        "config": dataclasses.asdict(trained.config),
        "vocabulary_size": trained.vocabulary_size,
        "parameters": trained.parameters,
        "precision": trained.precision,
        "epochs": position.rows,
        "best_epoch": position.best_epoch + 1,
        "training_seconds": round(position.seconds, 1),
        "scores": trained.scores["validation"],
        "window": task.describe_data(trained.config, part, trained.encoded)["window"],
    }
    write_record(folder / "fold.json", fold)
    shutil.rmtree(folder / "checkpoints")  # a large file that nothing reads any more


def _result(
    config: LabelledConfig, record: RunRecord, data: LabelledData, fold_of: np.ndarray, folder: Path
) -> RunResult:
    """Combines the folds: writes out_of_fold.csv, label_errors.csv and the report."""
    folders = [folder / f"fold-{fold + 1}" for fold in range(config.folds)]
    folds = [read_record(each / "fold.json", f"delete {each} to train this fold again") for each in folders]
    ids = class_ids(data)
    probabilities = np.full((len(ids), len(data.classes)), np.nan)
    for fold, each in enumerate(folders):
        probabilities[fold_of == fold] = np.load(each / "probabilities.npy")
    scored = fold_of >= 0
    texts, ids, fold_of, probabilities = data.rows.texts[scored], ids[scored], fold_of[scored], probabilities[scored]
    table = _table(data, texts, ids, probabilities).assign(fold=fold_of + 1)
    suspects = table.iloc[label_errors.find(ids, probabilities)]
    _write_csv(table, folder / "out_of_fold.csv")
    _write_csv(suspects, folder / "label_errors.csv")
    notes = dict(data.notes)
    if not scored.all():
        notes["never held out, the only text of its class"] = int((~scored).sum())
    kept = ("rows", *_MEASURES, "baselines")
    scores = [{name: value for name, value in fold["scores"].items() if name in kept} for fold in folds]
    result = RunResult.of(
        **dataclasses.asdict(record) | {"config": folds[0]["config"]},
        sample=config.data is None,
        vocabulary_size=folds[0]["vocabulary_size"],
        parameters=folds[0]["parameters"],
        precision=folds[0]["precision"],
        epochs=[],
        epoch_seconds=[],
        best_epoch=0,
        training_seconds=round(sum(fold["training_seconds"] for fold in folds), 1),
        scores={"validation": metrics.compute_scores(ids, probabilities, data.classes, texts)},
        report=str(folder / "report.md"),
        rows={"all": len(data.rows)},
        notes=notes,
        classes=list(data.classes),
        class_rows=dict(
            zip(data.classes, np.bincount(class_ids(data), minlength=len(data.classes)).tolist(), strict=True)
        ),
        window=folds[0]["window"],
        findings={
            "duplicates": data.duplicates,
            "folds": summary(scores) | {"label_errors": len(suspects)},
        },
    )
    epochs = [(fold["best_epoch"], len(fold["epochs"]), fold["training_seconds"]) for fold in folds]
    confused = confusion.count(ids, probabilities.argmax(axis=1), data.classes)
    folds_report.write(result, epochs, suspects, confused, folder)
    return result


def summary(scores: list[dict]) -> dict:
    """Returns {"scores": scores, "mean": measure -> mean over the folds, "standard_deviation": measure -> that}.

    A measure that is not defined in a fold (None) is left out of its mean; without two values it is None.

    Args:
        scores: one dict per fold, with the measures of _MEASURES and, where there are any, the baselines.
    """
    mean, deviation = {}, {}
    for name in _MEASURES:
        values = [fold[name] for fold in scores if fold[name] is not None]
        mean[name] = float(np.mean(values)) if values else None
        deviation[name] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"scores": scores, "mean": mean, "standard_deviation": deviation}


def _table(data: LabelledData, texts: np.ndarray, ids: np.ndarray, probabilities: np.ndarray) -> pd.DataFrame:
    """One row per text: its label, what the model that has not seen it predicts, and all probabilities."""
    classes = np.array(data.classes, object)
    columns = {
        "text": fields.readable(data.rows.fields, texts),
        "label": classes[ids],
        "predicted": classes[probabilities.argmax(axis=1)],
        "score": probabilities.max(axis=1),
        "p(label)": probabilities[np.arange(len(ids)), ids],
    }
    columns |= {f"p({name})": probabilities[:, i] for i, name in enumerate(data.classes)}
    return pd.DataFrame(columns)


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    with written_beside(path, newline="") as file:
        table.to_csv(file, index=False, float_format="%.6f")
