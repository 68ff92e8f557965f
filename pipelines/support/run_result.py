"""The dataclasses of config.json (RunRecord) and result.json (RunResult); run_folder.py reads and writes them."""

import dataclasses
from typing import Any

SCHEMA = 3  # of config.json and result.json; raise it when older records can no longer be read


@dataclasses.dataclass
class RunRecord:
    """Everything needed to repeat a run: config.json.

    Attributes:
        schema: version of this record.
        run: random number of the run, which its export carries.
        task: name in the registry.
        config: the resolved config as a dict.
        data: name and fingerprint of --data, and fingerprints of further data files; of several files each name and
            fingerprint.
        modules: field -> fingerprint of pretrained modules that lie on this machine.
        versions: of Python and the packages that affect the weights.
        machine: operating system and processor.
        started: time in UTC, ISO 8601.
    """

    schema: int
    run: str
    task: str
    config: dict[str, Any]
    data: dict[str, Any]
    modules: dict[str, str]
    versions: dict[str, str]
    machine: str
    started: str


@dataclasses.dataclass(kw_only=True)
class RunResult(RunRecord):
    """The result of a run: result.json. Reports, the model card and the command line read it.

    Attributes:
        sample: whether the embedded sample was the data.
        vocabulary_size: number of tokens; None if unknown.
        parameters: number of weights of the exported network.
        weights: shape of each weight, by its path in the network.
        precision: dtype policy of the training.
        epochs: one dict per epoch, the rows of metrics.csv.
        epoch_seconds: duration of each epoch.
        best_epoch: number of the epoch whose weights are exported, from 1.
        training_seconds: training and validation over all processes.
        scores: split ("validation", "test") -> measures.
        export: folder of the export.
        export_files: its files: path -> {"bytes", "sha256"}.
        model: its name and version, such as "sentiment/3".
        report: path of report.md.
        seconds: duration of the last process of the run.

        rows, notes: number of rows (texts, tokens, pairs) of each split; what was left out of the data and why: reason
            -> rows.
        unit: what `rows` counts, where that depends on the data.
        example: a validation text as an argument of a shell command, for the user to try.
        duplicates: texts that occur more than once (`labelled.duplicates.find`).
        prepared: whether the training texts were read from prepared data, never all at once.
        classes, class_rows: labels in the order of their ids; label -> training rows.
        pair: languages such as "en-de"; None if unknown.
        characters: split -> characters.
        window: limits of a text (max_tokens, max_bytes) and, for training texts, what they cut off.
        folds: of a cross-validation (pipelines/labelled/cross_validation.py): "scores" of each fold, their "mean" and
            "standard_deviation". Then `scores` are those of all held-out texts, and there is no export.
        attempts: the trainings from which this one was chosen (transfer/recipe.py): "name", "trainable_weights",
            "accuracy", "loss", "seconds", and whether it was "chosen".
        generation_defaults: option -> default of the exported model.
    """

    sample: bool
    vocabulary_size: int | None
    parameters: int
    precision: str
    epochs: list[dict[str, float]]
    epoch_seconds: list[float]
    best_epoch: int
    training_seconds: float
    scores: dict[str, dict[str, Any]]
    export: str = ""
    export_files: dict[str, dict] = dataclasses.field(default_factory=dict)
    model: str = ""
    report: str = ""
    seconds: float = 0.0

    rows: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: dict[str, int] = dataclasses.field(default_factory=dict)
    unit: str | None = None
    example: str | None = None
    duplicates: dict[str, Any] | None = None
    prepared: bool = False
    classes: list[str] | None = None
    class_rows: dict[str, int] | None = None
    pair: str | None = None
    characters: dict[str, int] | None = None
    window: dict[str, float] | None = None
    folds: dict[str, Any] | None = None
    attempts: list[dict[str, Any]] | None = None
    generation_defaults: dict[str, Any] | None = None
    weights: dict[str, list[int]] = dataclasses.field(default_factory=dict)
