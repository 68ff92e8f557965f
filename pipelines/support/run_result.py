"""The dataclasses of config.json (RunRecord) and result.json (RunResult); run_folder.py reads and writes them."""

import dataclasses
from typing import Any, Self

SCHEMA = 4  # of config.json and result.json
PAGE = "report.html"  # beside report.md
READABLE = (3, 4)  # schemas of records that this version reads

# Facts in `RunResult.about` that several commands read, and their types; cards may have null. A task may state others.
FACTS = {
    "classes": list[str] | None,  # labels in the order of their ids
    "class_rows": dict[str, int] | None,  # label -> training rows
    "outputs": dict[str, str] | None,  # output of serving_default -> what it is
    "example_text": str | None,  # a validation text, cut to 300 characters
    "example_row": dict[str, str | float] | None,  # the same of a model of several columns: column -> cell
    "columns": list[dict] | None,  # of a model that reads several: see `fields.Field.to_json`
    "pair": str | None,  # languages such as "en-de"
    "characters": dict[str, int] | None,  # split -> characters
    "window": dict[str, float] | None,  # limits of a text (max_tokens, max_bytes), and what they cut off in training
    "generation_defaults": dict[str, Any] | None,  # option -> default of the exported model
    "environment": dict[str, str] | None,  # variables of the environment with which the model is fast (kernels.py)
    "below_baseline": list[str] | None,  # names of the baselines that are better beyond chance
    "refitted_rows": int | None,  # that the export was fitted to once more, after the model of the scores
}
_FINDINGS_OF_SCHEMA_3 = ("duplicates", "folds", "attempts")  # these stood beside the other values


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
        export: folder of the export; "" if nothing is exported.
        export_files: its files: path -> {"bytes", "sha256"}.
        model: its name and version, such as "sentiment/3".
        report: path of report.md; report.html is beside it.
        command: the command line that trains with these settings; "" if no record has it.
        seconds: duration of the last process of the run.
        about: what its task alone states about the data and the model: fact -> value, for JSON. The model card has it,
            too: it holds no text of the data but `example_text` and `example_row`.
        findings: what its task alone found in the data or while training, for its report: name -> value, for JSON.

        Of `Task.describe_data`, where the task states them:

        rows, notes: number of rows (texts, tokens, pairs) of each split; what was left out of the data and why: reason
            -> rows.
        unit: what `rows` counts, where that depends on the data.
        example: a validation text as an argument of a shell command, for the user to try.
        prepared: whether the training texts were read from prepared data, never all at once.
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
    command: str = ""
    seconds: float = 0.0
    about: dict[str, Any] = dataclasses.field(default_factory=dict)
    findings: dict[str, Any] = dataclasses.field(default_factory=dict)

    rows: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: dict[str, int] = dataclasses.field(default_factory=dict)
    unit: str | None = None
    example: str | None = None
    prepared: bool = False
    weights: dict[str, list[int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, **values) -> Self:
        """Returns the result with these values; those that are no fields are facts in `about`, unless they are None.

        Values that schema 3 had for every task are findings.
        """
        fields = {field.name for field in dataclasses.fields(cls)}
        others = {name: value for name, value in values.items() if name not in fields and value is not None}
        values = {name: value for name, value in values.items() if name in fields}
        findings = {name: others.pop(name) for name in _FINDINGS_OF_SCHEMA_3 if name in others}
        return cls(**{"findings": findings} | values, about=others)

    def to_json(self) -> dict[str, Any]:
        """Returns what result.json has, the values of `of`: the fields, and the facts of `about` beside them."""
        values = dataclasses.asdict(self)
        about = values.pop("about")
        return values | about
