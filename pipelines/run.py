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
from pipelines.data.reviews import source_fingerprint, source_name
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
        pipeline: name of a module in this package.
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
        import_tensorflow()
        return _train(pipeline, config, folder, place.saved_models, export_name, record)


def _train(pipeline: str, config, folder: Path, saved_models: Path, export_name: str, record: dict) -> dict:
    import keras

    from pipelines import batching, exporting, text, training
    from pipelines.answers import Answers

    started = time.monotonic()
    task = importlib.import_module(f"pipelines.{pipeline}")
    training.make_deterministic(config.seed)

    splits = task.load(config)
    console.say(f"{len(splits.train):,} {task.UNIT} to train on, {len(splits.valid):,} to validate; reading them ...")
    if not (folder / "tokenizer").is_dir():
        with folder_written_beside(folder / "tokenizer") as part:
            task.tokenizer(config, splits.train).save(part)
    tokenizer = text.load(folder / "tokenizer")
    train_ids, window = task.encode(config, tokenizer, splits.train)
    valid_ids, _ = task.encode(config, tokenizer, splits.valid)

    steps = batching.steps_per_epoch(len(splits.train), config.batch_size)
    precision = training.training_precision(config.precision)
    keras.config.set_dtype_policy(precision)
    trained = task.build(config, tokenizer, splits.classes)
    keras.config.set_dtype_policy("float32")
    # Scores and exports are float32: where training is not, a twin of the model takes its weights for them.
    model = trained if precision == "float32" else task.build(config, tokenizer, splits.classes)
    trained.compile(**task.compile_arguments(config, steps * config.epochs))
    if model is not trained:
        model.compile(**task.compile_arguments(config, steps * config.epochs))
    valid_batches = task.validation_batches(config, valid_ids, splits.valid)

    def validate() -> dict[str, float]:
        if model is not trained:
            model.set_weights(trained.get_weights())
        scores = model.evaluate(valid_batches, verbose=0, return_dict=True)
        return {f"val_{name}": float(value) for name, value in scores.items()}

    position = training.fit(
        trained,
        lambda epoch, skip: task.batches(config, train_ids, splits.train, epoch, skip),
        validate,
        training.Plan(
            config.epochs, config.patience, config.checkpoint_every, steps, items=len(splits.train), unit=task.UNIT
        ),
        folder,
        class_weight=task.class_weight(config, splits),
        prepare=lambda: task.prepare(config, trained, train_ids, splits.train),
    )
    training.restore_best(model, folder)

    console.say(f"measuring with the weights of epoch {position.best_epoch + 1} ...")
    servable = task.servable(model, tokenizer, config, splits.classes)
    answer = Answers(servable.signatures()["serving_default"])
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    evaluated = {part: task.evaluate(answer, data, splits.classes) for part, data in parts.items()}
    result = {
        **record,
        "sample": config.data is None,
        "classes": list(splits.classes),
        "rows": {name: len(part) for name, part in vars(splits).items() if name in ("train", "valid", "test") and part},
        "class_rows": task.class_rows(splits),
        "notes": splits.notes,
        "window": {"max_tokens": config.max_tokens, "max_bytes": config.max_bytes, **window},
        "vocabulary_size": tokenizer.vocabulary_size,
        "parameters": model.count_params(),
        "precision": precision,
        "epochs": position.rows,
        "best_epoch": position.best_epoch + 1,
        "training_seconds": round(position.seconds, 1),
        "scores": {part: scores for part, (scores, _) in evaluated.items()},
    }
    console.say("exporting, and checking the export in a process of its own ...")
    exported = exporting.export(servable, export_name, saved_models, _card(result), task.example_requests())
    result |= {
        "export": str(exported.path),
        "model": exported.title,
        "report": str(folder / "report.md"),
        "seconds": round(time.monotonic() - started, 1),
    }
    task.write_report(folder, result, splits.valid, evaluated["validation"][1])
    write_json(folder / "result.json", result)  # last: it says that the run is finished
    return result


def _record(pipeline: str, config) -> dict:
    """All that is needed to repeat the run: config.json."""
    data = {"name": source_name(config.data), "fingerprint": source_fingerprint(config.data)}
    if config.valid:
        data["valid_fingerprint"] = source_fingerprint(config.valid)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "schema": SCHEMA,
        "pipeline": pipeline,
        "config": dataclasses.asdict(config),
        "data": data,
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
    changed = [name for name, version in record["versions"].items() if kept["versions"].get(name) != version]
    if changed and not (folder / "result.json").exists():
        was = ", ".join(f"{name} {kept['versions'].get(name)}" for name in changed)
        console.say(f"note: this run was begun with {was}; the rest of it may differ in the last bits")
    record |= {"versions": kept["versions"], "started": kept["started"]}


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
    config = {key: value for key, value in result["config"].items() if key not in ("data", "valid")}
    told = (
        "pipeline", "sample", "classes", "data", "rows", "class_rows", "notes", "window", "vocabulary_size", "parameters",
        "precision", "scores", "versions",
    )  # fmt: skip
    return {"schema": SCHEMA, **{key: result[key] for key in told}, "config": config}
