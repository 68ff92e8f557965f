"""What the commands of all tasks share: flags for runs and exported models, output, and requests to a server."""

import dataclasses
import functools
import json
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from pipelines.data import prepared, table_options
from pipelines.export.exported import Exported, find_export
from pipelines.settings.config import TrainingConfig
from pipelines.settings.fields import NAME, PATH, flag, help_of
from pipelines.support import installation, kernels, terminal
from pipelines.support.errors import UserError
from pipelines.task import TASKS

Fit = Callable[..., Any]  # `fitting.Fit`, whose module is imported when it is needed
RUNS, SAVED_MODELS = installation.default_folder("runs"), installation.default_folder("saved_models")
_WHERE = "beside main.py" if installation.is_checkout() else "in the current folder"
RunsFlag = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint=f"(default: runs {_WHERE})")]
SavedModelsFlag = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint=f"(default: saved_models {_WHERE})")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainCommand:
    """The flags of every `train`, and what it does.

    Attributes:
        examples: arguments for `--help`; {data} and {text} are those of the task (`TaskEntry`).
    """

    examples: ClassVar[tuple[str, ...]] = ("{data}", "")

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    run: Annotated[str | None, NAME] = None
    """Name of the run's folder. By default made from the data's name and the settings."""
    name: Annotated[str | None, NAME] = None
    """Name of the exported model. By default the task's name; for classification that of the data; for translation the
    task's name and the languages. A model of the embedded sample has -sample appended."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    config_file: Annotated[str | None, tyro.conf.arg(name="config", metavar="PATH", help_behavior_hint="")] = None
    """Repeat a run: config.json in its folder, runs/TASK/NAME/. Other flags override its settings."""
    from_export: Annotated[str | None, tyro.conf.arg(name="from", metavar="EXPORT|RUN", help_behavior_hint="")] = None
    """Continue with new --data from the weights of the run that made this export (name or name/version), or of this run
    (task/name), with its settings. By default the result is the next version of the export."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="M", help_behavior_hint="")] = None
    """End the training after M minutes, with the best epoch so far. Reading the data and the export come on top."""
    force: bool = False
    """Export a model that is below its baselines, although --name has a version already, which servers would replace by
    this one."""
    tensorboard: bool = False
    """Also write the learning curves for TensorBoard, to the folder tensorboard in the run's folder."""
    json: bool = False
    """Print the result as one JSON object."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train on N processes, each on its rows of every batch; the result is that of one. The machines need the data and
    the folders --runs and --saved-models under the same paths. Where the cluster has GPUs, each worker gets one. The
    number may change when the same command continues a run."""
    ray: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS|local", help_behavior_hint="")] = None
    """Ray cluster of --workers: local (the default) starts one on this machine; auto, HOST:PORT or ray://HOST:PORT."""
    gpus: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train on N GPUs of this machine: as --workers N, and refused where there are fewer. Needs Ray, too."""
    config: TrainingConfig = TrainingConfig()

    def __call__(self) -> None:
        """Trains, and prints the summary."""
        self.train(self.resolved())

    def resolved(self) -> TrainingConfig:
        """Returns the resolved config. Some defaults depend on --minutes."""
        minutes = self.config.minutes if self.minutes is None else self.minutes
        return dataclasses.replace(self.config, minutes=minutes).resolve()

    def train(self, config: TrainingConfig, name: str | None = None, fit: Fit | None = None) -> None:
        """Trains with the resolved config and prints the summary.

        Args:
            name: name of the export without --name and --from; by default the task's name.
            fit: trains instead of `fitting.fit_and_measure`.
        """
        from pipelines.distributed import cluster, tf_config
        from pipelines.runs import fitting, repeat, run

        if self.from_export is not None:
            name = repeat.export_name(self.from_export, self.runs, self.saved_models) or name
        destination = run.Destination(
            self.runs, self.saved_models, self.run, self.name or name, self.tensorboard, force=self.force
        )
        part = tf_config.part()
        if (self.workers, self.ray, self.gpus) != (None, None, None):
            from pipelines.distributed import workers

            if self.minutes is not None:
                raise UserError("--minutes is for one process: leave it out, or --workers and --gpus")
            given = "--workers" if self.gpus is None else "--gpus"
            if part.count > 1:
                raise UserError(f"{given} starts the workers itself: unset TF_CONFIG, which makes this process one")
            if self.gpus is not None and (self.workers is not None or self.ray is not None):
                raise UserError("--gpus is for the GPUs of this machine: leave out --workers and --ray")
            if self.gpus is not None:
                result = workers.train_on_gpus(self.task, config, destination, self.gpus)
            else:
                num_workers = 1 if self.workers is None else self.workers
                result = workers.train(self.task, config, destination, num_workers, self.ray or cluster.LOCAL)
        elif part.count > 1:
            from pipelines.distributed import worker

            result = worker.train(self.task, config, destination, part)
        else:
            result = run.train(self.task, config, destination, fit or fitting.fit_and_measure)
        if result is None:
            return  # the chief has it
        if self.json:
            print_json(result.to_json())
        else:
            print(terminal.fitted(TASKS[self.task].task().summarize(result)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrepareCommand:
    """The flags of every `prepare`, and what it does. A command has `config`, a `subset` of the task's config."""

    examples: ClassVar[tuple[str, ...]] = ("{data} --output prepared/mine",)

    needed: ClassVar[dict[str, str]] = {"preset": "full", "model": "lstm"}
    """Fields that the config needs; the shards do not depend on them."""

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    output: Annotated[Path | None, PATH] = None
    """Folder to write, new or empty. It appears when it is complete."""
    json: bool = False
    """Print what was prepared as one JSON object."""

    def __call__(self) -> None:
        """Prepares, and prints what was made."""
        self.prepare(TASKS[self.task].config_class()(**vars(self.config), **self.needed))

    def prepare(self, config: TrainingConfig) -> None:
        """Prepares the data of the config and prints what was made.

        Raises:
            UserError: a mistake that the user can fix.
        """
        if self.output is None:
            raise UserError("prepare needs --output: the folder to write")
        if prepared.is_prepared(config.data):
            raise UserError(f"--data {config.data} is prepared already: give the data that it was made from")
        from pipelines.runs import prepare

        made = prepare.prepare(self.task, config.resolve(), self.output)
        if self.json:
            print_json({**dataclasses.asdict(made), "folder": str(made.folder)})
        else:
            print(prepare.summarize(made))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """The exported model."""

    name: Annotated[str | None, NAME] = None
    """Name of the exported model. By default the task's name, else the only export of the task, else TASK-sample,
    trained on the embedded sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""

    def find(self, task: str) -> Exported:
        """Returns the export that the flags name, and prints its title.

        Args:
            task: name in the registry.

        Raises:
            UserError: there is no such export.
        """
        exported = find_export(self.saved_models, task, self.name, self.version)
        print_error(f"model {exported.title}")
        kernels.choose([exported.card()])
        return exported


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServedModelFlags(ModelFlags):
    """The exported model, or a server that has it."""

    server: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """Ask a server instead of loading the model: host:port for gRPC, http://host:port for REST; with TLS
    grpcs://host:port and https://host:port."""
    ca_file: Annotated[Path | None, PATH] = None
    """PEM file of the certificates that --server may have, instead of the certificates that the system trusts."""

    def ask(self, model: str, inputs: dict[str, list], signature: str = "") -> dict[str, list]:
        """Returns the answer of the server: output -> values.

        Args:
            model: name of the model on the server.
            inputs: input -> values, one per text.

        Raises:
            UserError: the server does not answer, or --version is given.
        """
        return self._call(
            model, lambda client: client.predict(self.server, model, inputs, signature, ca_file=self.ca_file)
        )

    def signatures_of(self, model: str) -> set[str]:
        """Returns the names of the signatures of a model on the server.

        Raises:
            UserError: see `ask`.
        """
        return self._call(model, lambda client: client.signatures(self.server, model, ca_file=self.ca_file))

    def stream(self, model: str, text: str, options: dict[str, Any]) -> Iterator[str]:
        """Yields the pieces of a text that the server generates.

        Args:
            model: name of the model on the server.
            text: the prompt, or the text to translate.
            options: option of generation -> value; None takes the default of the model.

        Raises:
            UserError: see `ask`.
        """
        given = {name: value for name, value in options.items() if value is not None}
        client = self._client(model)
        from serving import streaming_client

        try:
            yield from streaming_client.stream(client.Address(self.server, self.ca_file), model, text, given)
        except client.Unanswered as error:
            raise UserError(f"--server {self.server}: {error}{_naming(error)}") from error

    def _call(self, model: str, function: Callable):
        """Returns what a function of `serving.client` returns."""
        client = self._client(model)
        try:
            return function(client)
        except client.Unanswered as error:
            raise UserError(f"--server {self.server}: {error}{_naming(error)}") from error

    def _client(self, model: str):
        """Checks the flags, and returns the module `serving.client`."""
        if self.version is not None:
            raise UserError(f"--version {self.version}: a server always uses its newest version: leave out --version")
        from pipelines.support.quiet import import_tensorflow

        if self.ca_file and not self.ca_file.is_file():
            raise UserError(f"no such file: {self.ca_file}")
        if not self.server.startswith(("http://", "https://")):
            import_tensorflow()
        from serving import client

        _announce(model, self.server)
        return client


def _naming(error: Exception) -> str:
    """Returns what to do if a server does not have the model."""
    return ": give the name that the server has with --name" if "Servable not found" in str(error) else ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableFlags:
    """How to read a table."""

    text_column: Annotated[str | None, NAME] = None
    """Column with the text. By default that of the training, or the first column with a usual name (text, sentence,
    ...)."""
    encoding: Annotated[str | None, NAME] = None
    """Encoding of text files, such as cp1252. By default UTF-8, or what a byte order mark states."""
    separator: Annotated[str | None, NAME] = None
    """Character between the cells of CSV and TSV files, or `tab`. By default found in the first line."""
    quote: Annotated[str | None, tyro.conf.arg(metavar="CHAR|none", help_behavior_hint="")] = None
    """Character around cells of CSV and TSV files that have a separator or a line break, or `none`. By default ", and
    none if there are tabs between the cells, unless all cells with a " are quoted."""
    no_header: bool = False
    """The first row of a table has a text, not the names of the columns. The columns are then named 1, 2, 3, ..."""

    def options(self, label_column=None, labels_separator=None, label_columns=None) -> table_options.TableOptions:
        """Returns the options that these flags and the flags on labels state.

        Raises:
            UserError: one of them cannot be used.
        """
        return table_options.make(
            self.text_column,
            label_column,
            self.encoding,
            self.separator,
            self.quote,
            self.no_header,
            labels_separator,
            label_columns,
        )

    def given(self) -> dict[str, bool]:
        """Returns flag -> whether the user gave it."""
        return {flag(name): value not in (None, False) for name, value in vars(self).items()}


@functools.cache
def _announce(model: str, server: str) -> None:
    """Prints which model answers, once, however many requests a command makes."""
    print_error(f"model {model} at {server}")


def join_help_lines(command: type) -> type:
    """Gives each field of a dataclass and of its nested dataclasses its help on one line. Returns the dataclass.

    See `settings.help_of`. tyro would keep the line ends of an indented docstring, wherever they are.
    """
    helps = help_of(command)
    for field in dataclasses.fields(command):
        if field.name in helps:
            field.metadata = types.MappingProxyType({**field.metadata, "help": helps[field.name]})
        if dataclasses.is_dataclass(field.default):
            join_help_lines(type(field.default))
    return command


def subset(config: type, names: tuple[str, ...], **defaults: tuple) -> type:
    """Returns a dataclass with some of the fields of a config, in its order, with their help.

    Args:
        defaults: field -> (annotation, default) where they differ from those of the config.
    """
    join_help_lines(config)
    annotations = typing.get_type_hints(config, include_extras=True)
    fields = []
    for field in dataclasses.fields(config):
        if field.name in names or field.name in defaults:
            annotation, default = defaults.get(field.name, (annotations[field.name], field.default))
            fields.append((field.name, annotation, dataclasses.field(default=default, metadata=field.metadata)))
    return dataclasses.make_dataclass(f"{config.__name__}ToPrepare", fields, frozen=True, kw_only=True)


def print_error(message: str) -> None:
    """Prints one line on stderr."""
    print(message, file=sys.stderr)


def print_json(value) -> None:
    """Prints `value` as one JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=False))
