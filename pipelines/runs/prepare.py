"""`prepare`: from a corpus that may be larger than memory to shards that `train` reads as it needs them."""

from collections.abc import Iterable
from pathlib import Path

from pipelines.data import prepared, sources
from pipelines.data.prepared import Prepared
from pipelines.settings.config import TrainingConfig
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.files import check_folder, folder_written_beside, with_home
from pipelines.support.paths import Data
from pipelines.support.quiet import import_tensorflow
from pipelines.task import TASKS


def prepare(task_name: str, config: TrainingConfig, output: Path) -> Prepared:
    """Writes prepared data to the folder `output`, which appears complete or not at all.

    The data is read twice, and must not change meanwhile. The first pass is before TensorFlow is imported: what is
    refused is refused early.

    Args:
        task_name: name in the registry, of a task with preparation.
        config: resolved config of the task.
        output: does not exist, or is an empty folder.

    Raises:
        UserError: a mistake that the user can fix.
    """
    if config.data is None:
        raise UserError("prepare needs --data: the files to prepare")
    files = {"data": config.data, **config.data_files()}
    _check_output(output, files.values())
    config.check()
    entry = TASKS[task_name]

    def describe() -> dict:
        return {key: value for each in files.items() for key, value in sources.describe(*each, entry).items()}

    with folder_written_beside(output) as folder, sources.unchanged(*files.values()):
        described = describe()
        surveyed = entry.data().survey(config)
        import_tensorflow()
        contents = entry.shards().write(config, surveyed, folder)
        sources.raise_if_changed(files.values(), describe() != described)
        source = {"name": sources.name(config.data)} | described
        prepared.write_manifest(folder, task_name, source, contents)
    return prepared.find(str(output), task_name)


def _check_output(output: Path, data: Iterable[Data | None]) -> None:
    """Raises a UserError if no folder can be made there, one that has files is there, or it is in the data's folder."""
    for path in (with_home(each).resolve() for source in data if source for each in paths.each(source)):
        if path.is_dir() and output.resolve().is_relative_to(path):
            raise UserError(f"--output {output} is in the folder of the data, which it would change: give another one")
    if output.exists() and not output.is_dir():
        raise UserError(f"--output {output} is a file: give the name of a new folder")
    if output.is_dir() and any(output.iterdir()):
        raise UserError(f"--output {output} is not empty: give the name of a new folder, or remove this one")
    check_folder(output, "--output")


def summarize(data: Prepared) -> str:
    """Returns the lines for the terminal."""
    rows = ", ".join(f"{name} {count:,}" for name, count in data.rows.items())
    size = sum(file["bytes"] for file in data.files.values())
    shards = "1 shard" if len(data.shards) == 1 else f"{len(data.shards)} shards"
    lines = [f"prepared {data.folder}: {shards}, {size / 2**20:,.1f} MiB", f"  rows        {rows}"]
    lines += [f"  note        {reason}: {count:,}" for reason, count in data.notes.items()]
    return "\n".join([*lines, f"  next        train {data.task} --data {data.folder}"])
