"""`predict --input ... --ray`: the files of a job are read, predicted and written by the processes of a Ray cluster.

    driver    finds the files, checks the first one, writes the parts that come back
    readers   Ray Data tasks: a file -> units, the rows of one part each
    actors    Ray Data actors, one loaded model each: a unit -> the content of its part

A file is cut into the chunks in which the plain command reads it, so that the outputs are the same to the last bit.
Only the driver writes: machines need no common file system. What is on its way is limited by Ray Data, whatever the
size of the input.
"""

import contextlib
import hashlib
import json
import logging
from pathlib import Path

from pipelines.data.text_chunks import Columns
from pipelines.distributed import cluster
from pipelines.export.exported import Exported, files_of
from pipelines.predicting import batch_workers, input_files, part_files
from pipelines.predicting.engine import first_columns
from pipelines.predicting.file_steps import FileSteps
from pipelines.support import console, machine
from pipelines.support.errors import UserError
from pipelines.support.files import shown
from pipelines.support.paths import Data

_CPUS_PER_ACTOR = 1
_CORES_PER_READER = 8


def predict(exported: Exported, source: Data, output: Path, steps: FileSteps, address: str, actors: int | None) -> dict:
    """Predicts all rows of files on a Ray cluster, or what an interrupted job has left.

    Args:
        source: see `input_files.find`.
        output: folder of the parts; see `part_files`.
        address: see `cluster.check`.
        actors: number of processes with a loaded model; by default one per processor of the cluster, and at most that
            many; on this machine at most two per processor.

    Returns:
        The manifest of the finished job: "model", "files", "counts" (those of `FileSteps.write`, and "poisoned" rows),
        "parts" and others.

    Raises:
        UserError: the input, the output or the cluster cannot be used.
    """
    cluster.check(address)
    if address == cluster.LOCAL and actors:
        cluster.check_local_processes("--actors", actors)
    if address.startswith("ray://"):
        raise UserError(f"--ray {address}: predict runs on a machine of the cluster: give HOST:PORT of its head")
    given = str(output).replace(":/", "://")  # a Path has one slash
    if input_files.is_stored(given):
        raise UserError(f"--output {given}: give a folder on this machine; only --input can be in object storage")
    files = input_files.find(source, elsewhere=True)
    first = first_columns(files, steps)
    steps = steps.bound(first)
    plan = {
        "model": {"name": exported.title, "sha256": _checksum(exported)},
        "options": steps.options | {"suffix": steps.suffix, "chunks_per_part": steps.chunks_per_part},
        "files": [file._asdict() for file in files],
    }
    with part_files.opened(output, plan, steps.suffix) as parts:
        if parts.finished:
            console.say(f"{shown(output)} is finished. Another --output makes another prediction.")
            return parts.finished
        if parts.done:
            console.say(f"{sum(map(len, parts.done.values())):,} parts are written: going on with what is missing")
        missing = [i for i in range(len(files)) if len(parts.done.get(i, ())) != parts.ends.get(i, -1)]
        try:
            if missing:
                _run(exported, [file.path for file in files], first, steps, address, actors, parts, missing)
        except KeyboardInterrupt:
            console.say("the same command continues with what is missing")
            raise
        return parts.finish()


def _run(
    exported: Exported,
    paths: list[str],
    first: Columns | None,
    steps: FileSteps,
    address: str,
    actors: int | None,
    parts: part_files.PartFiles,
    missing: list[int],
) -> None:
    with contextlib.ExitStack() as stack:
        cores = machine.processor()["cores"]
        num_cpus = max(cores, actors or 1) if address == cluster.LOCAL else None
        stack.enter_context(cluster.connected(address, num_cpus))
        bar = stack.enter_context(console.bar(None, "texts", initial=parts.rows()))
        import ray.exceptions

        try:
            for unit in _units(exported, paths, first, steps, address, actors, parts, missing).iter_rows():
                _write(unit, parts, bar)
        except ray.exceptions.RayTaskError:  # a bug: it keeps its traceback
            raise
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(
                f"--ray {address}: the cluster has ended the job ({reason}): the same command continues"
            ) from error


def _write(unit: dict, parts: part_files.PartFiles, bar) -> None:
    """Writes a part that comes back.

    Raises:
        UserError: an actor or a reader has one.
    """
    record = json.loads(unit["record"])
    if "error" in record:
        raise UserError(record["error"])
    if "parts" in record:
        parts.end(unit["file"], record["parts"])
    else:
        parts.add(unit["file"], unit["number"], unit["content"], record)
        bar.update(record["counts"]["rows"])


def _units(
    exported: Exported,
    paths: list[str],
    first: Columns | None,
    steps: FileSteps,
    address: str,
    actors: int | None,
    parts: part_files.PartFiles,
    missing: list[int],
):
    """Returns the Ray data set of the predicted units: see `batch_workers`."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False  # ours counts texts
    context.target_max_block_size = 1  # byte: each unit is a block, and goes to an actor by itself
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):  # what Ray prints on the terminal is also in its log files
            handler.setLevel(logging.CRITICAL + 1)
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    if actors and actors * _CPUS_PER_ACTOR > cores:  # Ray would wait for the others
        raise UserError(f"--actors {actors}: the cluster {address} has {cores} processors: give at most that many")
    model = {"name": exported.name, "version": exported.version}
    if address == cluster.LOCAL:
        model["path"] = str(exported.path.absolute())
    else:
        model["files"] = ray.put({name: (exported.path / name).read_bytes() for name in files_of(exported.path)})
    jobs = [{"file": i, "path": paths[i], "done": sorted(parts.done.get(i, ()))} for i in missing]
    on_this_machine = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    # Readers do not wait for processors, which the actors have all.
    units = ray.data.from_items(jobs, override_num_blocks=len(jobs)).map_batches(
        batch_workers.read_units,  # type: ignore[arg-type]  # Ray does not know what the rows hold
        fn_args=(steps, first),
        batch_size=1,
        num_cpus=0,
        compute=ray.data.TaskPoolStrategy(size=max(1, cores // _CORES_PER_READER)),
        label_selector=None if all(map(input_files.is_stored, paths)) else on_this_machine,
    )
    return units.map_batches(
        batch_workers.Predictor,
        fn_constructor_args=(model, steps, cluster.versions(), _CPUS_PER_ACTOR),
        batch_size=None,
        num_cpus=_CPUS_PER_ACTOR,
        compute=ray.data.ActorPoolStrategy(size=actors or cores // _CPUS_PER_ACTOR),
    )


def _checksum(exported: Exported) -> str:
    """Returns a checksum of all files of an export."""
    files = [(name, file["sha256"]) for name, file in sorted(files_of(exported.path).items())]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()
