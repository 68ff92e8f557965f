"""Counts the parameters of networks, and finds hidden sizes with which they have equally many (--equal-parameters).

It is a process of its own, `python -m pipelines.tune.parameters FOLDER`, so that the process that starts the trials
does not import TensorFlow.
"""

import collections
import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pipelines.settings.config import TrainingConfig, from_dict
from pipelines.support.errors import UserError
from pipelines.support.files import read_json, write_json
from pipelines.support.installation import IMPORT_FOLDER
from pipelines.task import TASKS
from pipelines.tune import study as studies

SIZE = "hidden_size"
_MAX_SIZE = 2**14
_REQUEST, _ANSWER = "request.json", "answer.json"


def equal_sizes(study_folder: Path, task: str, configs: list[TrainingConfig]) -> list[dict[str, int]]:
    """Returns the hidden size of each config with which its network has about as many parameters as the first one.

    Args:
        configs: resolved. The first one keeps its size.

    Returns:
        One {"hidden_size", "parameters"} per config.

    Raises:
        UserError: the networks have no hidden size, or cannot be built.
    """
    with tempfile.TemporaryDirectory() as folder:
        request = {"study": str(study_folder), "task": task, "configs": [dataclasses.asdict(each) for each in configs]}
        write_json(Path(folder) / _REQUEST, request)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(IMPORT_FOLDER), *filter(None, sys.path)])}
        process = subprocess.run(
            [sys.executable, "-P", "-m", f"{__package__}.parameters", folder],
            env=environment,
            capture_output=True,
            text=True,
        )
        if process.returncode:
            raise RuntimeError(f"the parameters cannot be counted:\n{process.stderr}")
        answer = read_json(Path(folder) / _ANSWER)
    if "error" in answer:
        raise UserError(answer["error"])
    return answer["sizes"]


def nearest_size(count: Callable[[int], int], target: int, step: int, start: int) -> int:
    """Returns the multiple of `step` whose count is nearest to `target`, by bisection.

    Args:
        count: hidden size -> number of parameters, which increases with the size.
        start: size from which the search starts.
    """
    low, high = 1, max(1, start // step)
    while count(high * step) < target and high * step < _MAX_SIZE:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if count(middle * step) < target:
            low = middle + 1
        else:
            high = middle
    candidates = [size * step for size in (low - 1, low) if size > 0]
    return min(candidates, key=lambda size: abs(count(size) - target))


def of_layers(weights: dict[str, list[int]]) -> dict[str, int]:
    """Returns the number of parameters of each layer, from the shapes of the weights by their paths."""
    counts: dict[str, int] = collections.Counter()
    for path, shape in weights.items():
        counts[path.partition("/")[0]] += math.prod(shape)
    return dict(counts)


def size_step(config: TrainingConfig) -> int:
    """Returns the smallest number whose multiples the config accepts as hidden sizes: heads have to divide them.

    Raises:
        UserError: it accepts no other hidden size than its own.
    """
    for step in range(1, 257):
        try:
            for factor in (3, 5, 7):
                dataclasses.replace(config, **{SIZE: factor * step}).check()
            return step
        except UserError as error:
            refusal = error
    raise UserError(f"--equal-parameters: {refusal}")


def _counter(study_folder: Path, task_name: str, config: TrainingConfig) -> Callable[[int], int]:
    """Returns a function: hidden size -> number of parameters of the network that the config builds."""
    import keras

    from pipelines.runs.fitting import save_tokenizer

    task = TASKS[task_name].task()
    shared = studies.shared_folder(study_folder, config)
    studies.keep_splits(shared, lambda: studies.load_splits(task_name, config))
    splits = studies.shared_splits(shared)
    with studies.exclusive(shared):
        save_tokenizer(task, config, splits, shared)
    tokenizer = task.load_tokenizer(shared / "tokenizer")
    complete = task.complete_config(config, splits, tokenizer)
    known: dict[int, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        encoded = task.encode(complete, splits, tokenizer, Path(folder))

        def count(size: int) -> int:
            if size not in known:
                sized = dataclasses.replace(complete, **_sized(complete, size))
                known[size] = task.build(sized, splits, tokenizer, encoded, training=False).count_params()
                keras.backend.clear_session()
            return known[size]

    return count


def _sized(config: TrainingConfig, size: int) -> dict[str, int]:
    """Returns the fields of another hidden size: the sizes that a preset derives from it change with it."""
    changed = {SIZE: size}
    feedforward = getattr(config, "feedforward_size", None)
    if feedforward is not None and feedforward % getattr(config, SIZE) == 0:
        changed["feedforward_size"] = feedforward // getattr(config, SIZE) * size
    return changed


def main() -> None:
    """Answers the request in the folder that is the argument."""
    folder = Path(sys.argv[1])
    request = read_json(folder / _REQUEST)
    config_class = TASKS[request["task"]].config_class()
    configs = [from_dict(config_class, values) for values in request["configs"]]
    try:
        answer = {"sizes": _sizes(Path(request["study"]), request["task"], configs)}
    except UserError as error:
        answer = {"error": str(error)}
    write_json(folder / _ANSWER, json.loads(json.dumps(answer)))


def _sizes(study_folder: Path, task: str, configs: list[TrainingConfig]) -> list[dict[str, int]]:
    from pipelines.support.quiet import import_tensorflow

    if not hasattr(configs[0], SIZE):
        raise UserError(f"--equal-parameters: `{task}` has no --hidden-size")
    steps = [size_step(config) for config in configs]
    import_tensorflow()
    first = getattr(configs[0], SIZE)
    target = _counter(study_folder, task, configs[0])(first)
    found = [{SIZE: first, "parameters": target}]
    for config, step in zip(configs[1:], steps[1:], strict=True):
        count = _counter(study_folder, task, config)
        size = nearest_size(count, target, step, getattr(config, SIZE))
        found.append({SIZE: size, "parameters": count(size)})
    return found


if __name__ == "__main__":
    main()
