"""One worker of a training with several: all run the same command on their rows of every batch.

The chief, worker 0, is the one that a run without workers would be: it makes the tokenizer, writes the run's folder,
validates, measures and exports. The others load the same data and the chief's tokenizer, and help to train.
"""

import contextlib
import dataclasses
import json
import socket
from pathlib import Path

from pipelines.data.part import Part
from pipelines.distributed import cluster, tf_config
from pipelines.runs import fitting, run
from pipelines.settings.fields import flag
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.quiet import import_tensorflow
from pipelines.support.run_result import RunResult
from pipelines.task import TASKS


def check(config, count: int) -> None:
    """Checks that `count` workers can train with a resolved config.

    Raises:
        UserError: they cannot.
    """
    if getattr(config, "folds", 0):
        raise UserError("--folds trains several models: leave out --workers")
    if getattr(config, "recipe", "own") != "own" or getattr(config, "solve_head", False):
        raise UserError("a recipe and --solve-head are for one process: give --recipe own, or leave out --workers")
    if getattr(config, "weight_column", None):
        raise UserError("--weight-column is for one process: leave out --workers")
    if getattr(config, "refit", None) == "all":
        raise UserError("--refit all is for one process: leave out --workers")
    if config.model in ("ngram", "linear"):
        raise UserError(
            f"--model {config.model} is computed, it has no training steps: leave out --workers, or give another model"
        )
    rows = getattr(config, "batch_size", None)
    if rows is not None and rows < count:
        raise UserError(
            f"{count} workers are more than the rows of a batch: raise {flag('batch_size')} {rows}, or take fewer "
            "workers"
        )


def train(task_name: str, config, destination: run.Destination, part: Part) -> RunResult | None:
    """Trains as one of the workers of TF_CONFIG. It must be called before TensorFlow is imported.

    Returns:
        The result, on the chief; None on the other workers.

    Raises:
        UserError: see `run.train`; also a worker has other settings, versions or data than the chief, was lost, or
            cannot listen at its address.
        KeyboardInterrupt: a worker got SIGINT or SIGTERM; the checkpoint is saved.
    """
    check(config, part.count)
    console.say(f"worker {part.index} of {part.count}: waiting for the others ...")
    try:
        with contextlib.ExitStack() as stack:
            import_tensorflow(config.parallel_ops(), lambda: stack.enter_context(_joined(part)))
            from pipelines.training import group

            here = group.current()
            if here.is_chief:
                return _lead(here, task_name, config, destination)
            with console.silence():
                _help(here, task_name, config)
            return None
    except Exception as error:
        if _is_of_server(error):
            raise UserError(
                f"worker {part.index} cannot listen at {tf_config.address(part.index)}, its address in TF_CONFIG: "
                "another process uses it, or it is an address of another machine"
            ) from error
        if not is_loss(error):
            raise
        raise UserError(
            "a worker of this training was lost: start the same command again on all workers, and it continues from "
            "the last checkpoint"
        ) from error


def is_loss(error: BaseException) -> bool:
    """Whether a collective operation failed because another worker is lost."""
    import tensorflow as tf

    errors = tf.errors
    lost = (errors.UnavailableError, errors.AbortedError, errors.CancelledError, errors.DeadlineExceededError)
    return isinstance(error, lost) or (isinstance(error, errors.OpError) and "ollective" in str(error))


def _is_of_server(error: BaseException) -> bool:
    """Whether TensorFlow could not start this process's server."""
    import tensorflow as tf

    return isinstance(error, tf.errors.UnknownError) and "gRPC server" in str(error)


def _joined(part: Part):
    from pipelines.training import group

    return group.joined(part)


def _lead(here, task_name: str, config, destination: run.Destination) -> RunResult:
    """Trains as the chief: a run whose training starts on all workers when its folder has the tokenizer."""
    is_announced = False

    def fit(task, config, splits, folder, events, on_fitted):
        nonlocal is_announced
        fitting.save_tokenizer(task, config, splits, folder)
        is_announced = True
        here.from_chief(str(folder.resolve()))
        _check_alike(here, config)
        with here.together():
            pass  # the others load the data
        return fitting.fit_with_tokenizer(task, config, splits, folder, folder, events, on_fitted=on_fitted)

    try:
        return run.train(task_name, config, destination, fit)
    finally:
        if not is_announced:  # the run is finished, or refused
            here.from_chief(None)


def _help(here, task_name: str, config) -> None:
    """Trains as another worker."""
    folder = here.from_chief(None)
    if folder is None:
        return
    _check_alike(here, config)
    folder = Path(folder)
    with here.together():
        if not (folder / "tokenizer").is_dir():
            raise UserError(
                f"{socket.gethostname()} does not see {folder}: give --runs a folder that all machines share"
            )
        splits = TASKS[task_name].load(config)
    fitting.fit_with_tokenizer(TASKS[task_name].task(), config, splits, folder, folder)


def _check_alike(here, config) -> None:
    """Checks that all workers have the settings and the versions of the chief.

    Raises:
        UserError: they have not; the same on all workers.
    """
    settings = dataclasses.asdict(config)
    all_settings = here.exchange(json.loads(json.dumps(settings, default=str)))
    all_versions = here.exchange(cluster.versions())
    for i in range(1, len(all_settings)):
        for kind, values in (("", all_settings), ("version of ", all_versions)):
            for name, value in values[0].items():
                if values[i].get(name) != value:
                    name = kind + (name if kind else flag(name))
                    raise UserError(f"worker {i} has another {name} than worker 0: {values[i].get(name)}, not {value}")
