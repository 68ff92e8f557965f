"""The life of a run: prepare, train, evaluate, export, verify. The same for every pipeline."""

import contextlib
import dataclasses
import datetime
import fcntl
import importlib
import importlib.metadata
import platform
import time
from pathlib import Path

from pipelines import console
from pipelines.configs.base import short_hash
from pipelines.data import sources
from pipelines.errors import UserError
from pipelines.files import folder_written_beside, read_json, shown, write_json
from pipelines.models import SAMPLE_SUFFIX
from pipelines.quiet import import_tensorflow

SCHEMA = 1
PACKAGES = ("tensorflow", "keras", "tensorflow-text", "sentencepiece", "numpy")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a run and its export go.

    Attributes:
        runs: folder of all runs.
        saved_models: folder of all exports.
        run: the run's name; None makes one from the data's name and a hash of the config.
        name: the export's name; None is the pipeline's.
    """

    runs: Path
    saved_models: Path
    run: str | None = None
    name: str | None = None


def train(pipeline: str, config, place: Place) -> dict:
    """Trains, evaluates and exports; goes on where a run of the same config was interrupted, and repeats none that is done.

    Args:
        pipeline: its name on the command line; with _ for - that of a module in this package.
        config: its resolved config.

    Returns:
        The run's result, as in result.json.

    Raises:
        UserError: whatever a user can mend.
        KeyboardInterrupt: by Ctrl-C or SIGTERM, with everything saved.
    """
    config.check()
    record = _record(pipeline, config)
    name = place.run or f"{record['data']['name']}-{config.model}-{short_hash({k: record[k] for k in ('config', 'data')})}"
    folder = place.runs / pipeline / _checked_name("run", name)
    export_name = _checked_name("name", place.name or pipeline)
    if config.data is None and not export_name.endswith(SAMPLE_SUFFIX):
        export_name += SAMPLE_SUFFIX
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _keep_record(folder, record)
        result = _finished_result(folder)
        if result:
            console.say(f"{shown(folder)} is finished. Other flags, or --run NAME, make another run.")
            return result
        console.say(f"run {shown(folder)}")
        import_tensorflow(side_by_side=2 if getattr(config, "halves", False) else None)
        return _train(pipeline, config, folder, place.saved_models, export_name, record)


def _train(pipeline: str, config, folder: Path, saved_models: Path, export_name: str, record: dict) -> dict:
    import keras

    from pipelines import exporting, training

    started = time.monotonic()
    task = importlib.import_module(f"pipelines.{pipeline.replace('-', '_')}")
    splits = task.load(config)
    console.say(task.told(splits))
    if not (folder / "tokenizer").is_dir():
        with folder_written_beside(folder / "tokenizer") as part:
            task.tokenizer(config, splits).save(part)
    # A run that goes on finds its tokenizer, and has drawn less so far; and SentencePiece's model, once loaded, would not outlive the
    # new seed (tensorflow/text#570): here is the one place between the two.
    training.make_deterministic(config.seed)
    tokenizer = task.load_tokenizer(folder / "tokenizer")
    config = task.settled(config, splits, tokenizer)
    encoded = task.encode(config, tokenizer, splits, folder)

    steps = task.steps_per_epoch(config, encoded)
    precision = training.training_precision(config.precision)
    keras.config.set_dtype_policy(precision)
    trained = task.build(config, tokenizer, splits, training=True)
    keras.config.set_dtype_policy("float32")
    # Scores and exports are float32 and remember nothing: where training is not, a twin of the model takes its weights for them.
    twin = precision != "float32" or task.scores_a_twin(config)
    model = task.build(config, tokenizer, splits, training=False) if twin else trained
    for each in {id(m): m for m in (trained, model)}.values():
        each.compile(**task.compile_arguments(config, steps * config.epochs))
    position = training.fit(
        trained,
        lambda epoch, skip: task.batches(config, encoded, epoch, skip),
        task.validator(config, model, tokenizer, encoded),
        training.Plan(config.epochs, config.patience, config.checkpoint_every, steps, task.items(encoded), task.UNIT),
        folder,
        scored=model,
        **task.fit_arguments(config, trained, encoded),
    )
    training.restore_best(model, folder)

    console.say(f"measuring with the weights of epoch {position.best_epoch + 1} ...")
    servable = task.servable(model, tokenizer, config, splits)
    scores, details = task.measure(servable, splits, encoded)
    result = {
        **record,
        "config": dataclasses.asdict(config),
        "sample": config.data is None,
        **task.facts(config, splits, encoded),
        "vocabulary_size": tokenizer.vocabulary_size,
        "parameters": model.count_params(),
        "precision": precision,
        "epochs": position.rows,
        "best_epoch": position.best_epoch + 1,
        "training_seconds": round(position.seconds, 1),
        "epoch_seconds": position.epoch_seconds,
        "scores": scores,
    }
    console.say("exporting, and checking the export in a process of its own ...")
    exported = exporting.export(servable, export_name, saved_models, _card(result), task.example_requests(servable))
    result |= {
        "export": str(exported.path),
        "model": exported.title,
        "report": str(folder / "report.md"),
        "seconds": round(time.monotonic() - started, 1),
    }
    task.write_report(folder, result, details)
    write_json(folder / "result.json", result)  # last: it says that the run is finished
    return result


def _record(pipeline: str, config) -> dict:
    """All that is needed to repeat the run: config.json."""
    data = {"name": sources.name(config.data), "fingerprint": sources.fingerprint(pipeline, config.data)}
    for more in ("target", "valid", "valid_target"):
        if getattr(config, more, None):
            data[f"{more}_fingerprint"] = sources.fingerprint(pipeline, getattr(config, more))
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "schema": SCHEMA,
        "pipeline": pipeline,
        "config": dataclasses.asdict(config),
        "data": data,
        "modules": sources.modules({name: getattr(config, name, None) for name in ("encoder", "preprocessor")}),
        "versions": {"python": platform.python_version(), **versions},
        "machine": f"{platform.system()} {platform.machine()}",
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _keep_record(folder: Path, record: dict) -> None:
    """Writes config.json, or checks that the one that is there says the same.

    Raises:
        UserError: the folder holds a run with other flags or other data.
    """
    path = folder / "config.json"
    if not path.exists():
        write_json(path, record)
        return
    kept = read_json(path)
    for key, value in record["config"].items():
        if kept["config"].get(key) != value:
            flag = f"--{key.replace('_', '-')}"
            raise UserError(f"{folder} was begun with {flag} {kept['config'].get(key)}, not {value}: give another --run")
    if kept["data"] != record["data"]:
        raise UserError(f"{folder} was begun with other data: the file has changed since. Give another --run")
    for name, found in record["modules"].items():  # what cannot be reached any more is in the run's folder
        if kept.get("modules", {}).get(name, found) != found:
            raise UserError(f"{folder} was begun with another --{name}: it has changed since. Give another --run")
    changed = [name for name, version in record["versions"].items() if kept["versions"].get(name) != version]
    if changed and not (folder / "result.json").exists():
        was = ", ".join(f"{name} {kept['versions'].get(name)}" for name in changed)
        console.say(f"note: this run was begun with {was}; the rest of it may differ in the last bits")
    record |= {"modules": kept.get("modules", {}), "versions": kept["versions"], "started": kept["started"]}


def _finished_result(folder: Path) -> dict | None:
    """The result of a run that is done and whose export is still there."""
    path = folder / "result.json"
    if not path.exists():
        return None
    result = read_json(path)
    return result if Path(result["export"]).is_dir() else None


@contextlib.contextmanager
def _locked(folder: Path):
    """Holds the run's lock; the system lets go of it when the process ends, however it ends."""
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{folder} is being trained by another process: wait for it, or give another --run") from error
        yield


def _checked_name(flag: str, name: str) -> str:
    if not name or name.startswith(".") or not all(c.isalnum() or c in "-_." for c in name):
        raise UserError(f"--{flag} {name!r}: a name has letters, digits, - and _")
    return name


def _card(result: dict) -> dict:
    """The model's card: what its user must know, without a path of the machine or a text of the training data."""
    config = {key: value for key, value in result["config"].items() if key not in ("data", "target", "valid", "valid_target")}
    for handle in ("encoder", "preprocessor"):
        if config.get(handle) and "://" not in config[handle]:
            config[handle] = Path(config[handle]).name
    told = (
        "pipeline", "sample", "classes", "pair", "data", "rows", "characters", "class_rows", "notes", "window", "generation_defaults",
        "vocabulary_size", "parameters", "precision", "scores", "versions",
    )  # fmt: skip
    return {"schema": SCHEMA, **{key: result[key] for key in told if key in result}, "config": config}
