"""Where trials run: processes on this machine, or tasks on a Ray cluster; as many at a time as there is room for."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from pipelines.distributed import cluster
from pipelines.support import machine
from pipelines.support.errors import UserError
from pipelines.support.installation import IMPORT_FOLDER
from pipelines.tune import study as studies
from pipelines.tune.study import FAILED, UNFINISHED, Outcome
from pipelines.tune.trial import Spec

_MEMORY = 2 * 10**9  # bytes that a trial of a usual model needs
_PACKAGES = ("optuna",)  # that a trial needs, besides those of all tasks of a cluster
_STOP_SECONDS = 60  # to end a step and save the checkpoint
_POLL_SECONDS = 0.1


def default_parallel() -> int:
    """Returns how many trials at a time this machine has room for: one per core, as memory allows; one on a GPU."""
    if machine.gpus():
        return 1
    memory = machine.free_memory()
    room = 1 if memory is None else max(1, memory // _MEMORY)
    return min(machine.processor()["cores"], room, 4)


def run_all(workers, next_spec: Callable[[], Spec | None], ended: Callable[[Spec, Outcome], None]) -> None:
    """Runs trials until there is no other one, `workers.parallel` at a time.

    Args:
        next_spec: returns the next trial; None if there is none at this time. It is asked again when a trial has ended.
        ended: called with each trial that has ended.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM; the trials have saved their checkpoints and ended.
    """
    running: dict = {}
    try:
        while True:
            while len(running) < workers.parallel and (spec := next_spec()) is not None:
                running[workers.start(spec)] = spec
            if not running:
                return
            for handle, outcome in workers.wait(list(running)):
                ended(running.pop(handle), outcome)
    finally:
        if running:
            workers.stop(list(running))


def _thread_variables(threads: int) -> dict[str, str]:
    """Returns environment variables: one trial uses no more than `threads` threads in an operation."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "TF_NUM_INTRAOP_THREADS": str(threads),
        "TF_NUM_INTEROP_THREADS": str(threads),
    }


@dataclasses.dataclass(frozen=True)
class Processes:
    """Trials in processes of this machine.

    Attributes:
        parallel: how many at a time; they share the cores.
    """

    parallel: int

    def start(self, spec: Spec) -> subprocess.Popen:
        """Starts a trial. It stops when the pipe to its stdin is closed, so also when this process is killed."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(IMPORT_FOLDER), *filter(None, sys.path)])}
        if self.parallel > 1:
            environment |= _thread_variables(max(1, machine.processor()["cores"] // self.parallel))
        with open(spec.folder / "log.txt", "a") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", f"{__package__}.trial", json.dumps(dataclasses.asdict(spec))],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches this process alone
            )

    def wait(self, handles: list[subprocess.Popen]) -> Iterator[tuple[subprocess.Popen, Outcome]]:
        """Waits until a trial has ended; yields those that have, with their outcomes."""
        while not (ended := [handle for handle in handles if handle.poll() is not None]):
            time.sleep(_POLL_SECONDS)
        for handle in ended:
            handle.stdin.close()
            spec = Spec(**json.loads(handle.args[-1]))
            yield handle, _outcome(spec, handle.returncode)

    def stop(self, handles: list[subprocess.Popen]) -> None:
        """Ends trials after their step, with a checkpoint."""
        for handle in handles:
            handle.stdin.close()
        for handle in handles:
            try:
                handle.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                handle.kill()
                handle.wait()


def _outcome(spec: Spec, status: int) -> Outcome:
    outcome = studies.outcome_of(spec.folder)
    if outcome is not None:
        return outcome
    if status == 0:
        return Outcome(UNFINISHED)
    lines = (spec.folder / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
    errors = [line.removeprefix("error: ") for line in lines if line.strip()] or [""]
    if status == 2:
        return Outcome(FAILED, reason=errors[-1])
    cause = f"signal {-status}" if status < 0 else f"status {status}"
    last = f"; the last line of its log.txt: {errors[-1]}" if errors[-1] else ""
    return Outcome(FAILED, reason=f"its process ended with {cause}{last}")


@dataclasses.dataclass(frozen=True)
class RayTasks:
    """Trials as tasks of the Ray cluster to which this process is connected.

    Attributes:
        parallel: how many at a time.
        num_cpus, num_gpus: what a trial gets of the cluster.
    """

    parallel: int
    num_cpus: int
    num_gpus: int

    def start(self, spec: Spec):
        """Starts a trial. Ray starts it again, up to three times, if its machine is lost: it resumes its run."""
        import ray

        # max_calls: a process for each trial. TensorFlow's state and memory end with it.
        remote = ray.remote(num_cpus=self.num_cpus, num_gpus=self.num_gpus, max_calls=1, max_retries=3)(_run_quietly)
        environment = {"env_vars": _thread_variables(self.num_cpus)}
        versions = cluster.versions(*_PACKAGES)
        return remote.options(runtime_env=environment).remote(dataclasses.asdict(spec), os.getcwd(), versions)

    def wait(self, handles: list) -> Iterator[tuple]:
        """As `Processes.wait`.

        Raises:
            UserError: a machine of the cluster can run no trial; after the trials that have ended were yielded.
        """
        import ray

        ended, unusable = [], None
        while not ended:  # a wait without end would not see Ctrl-C
            ended, _ = ray.wait(handles, timeout=1)
        for handle in ended:
            try:
                answer = ray.get(handle)
                if "unusable" in answer:
                    unusable = answer["unusable"]
                    continue
                outcome = Outcome(**answer)
            except ray.exceptions.RayError as error:
                lines = [line for line in str(error).splitlines() if line.strip()]
                outcome = Outcome(FAILED, reason=f"its Ray task failed: {lines[-1] if lines else type(error).__name__}")
            yield handle, outcome
        if unusable:
            raise UserError(f"--ray: {unusable}; then the same command continues")

    def stop(self, handles: list) -> None:
        """As `Processes.stop`."""
        import ray

        for handle in handles:
            ray.cancel(handle)
        with contextlib.suppress(ray.exceptions.RayError):
            ray.wait(handles, num_returns=len(handles), timeout=_STOP_SECONDS)


def _run_quietly(spec: dict, current_folder: str, versions: dict[str, str]) -> dict:
    """Runs a trial in a process of a cluster. What it prints goes to its log.txt.

    Args:
        current_folder: where the command runs: paths in the config may be relative to it.
        versions: of the packages of the machine where the command runs.

    Returns:
        The outcome as a dict; {"unusable": the reason} if this machine can run no trial. The trial has then not failed.
    """
    if reason := cluster.difference(versions):
        return {"unusable": reason}
    from pipelines.tune import trial

    made = trial.Spec(**spec)
    if not made.folder.is_dir():
        reason = f"{made.folder} is not on the machine {cluster.this_machine()} of the cluster"
        return {"unusable": f"{reason}: give --runs on a file system that all machines share"}
    if os.path.isdir(current_folder):  # a long text is read from its files while a trial encodes it
        os.chdir(current_folder)
    with open(made.folder / "log.txt", "a") as log, contextlib.redirect_stderr(log):
        return dataclasses.asdict(trial.run(made))


def ray_tasks(parallel: int | None) -> RayTasks:
    """Returns the workers of the cluster to which this process is connected: never more than it has room for.

    Args:
        parallel: maximum number of trials at a time; None: one per GPU, or one per processor where there is no GPU.

    Raises:
        UserError: the cluster has no processor.
    """
    import ray

    return room([node["Resources"] for node in ray.nodes() if node["Alive"]], parallel)


def room(machines: list[dict[str, float]], parallel: int | None) -> RayTasks:
    """As `ray_tasks`, for a cluster of machines with these resources ("CPU", "GPU")."""
    cpus, gpus = ([int(each.get(kind, 0)) for each in machines] for kind in ("CPU", "GPU"))
    if not sum(cpus):
        raise UserError("--ray: the cluster has no processor for a trial: add a machine to it")
    at_most = sum(map(min, cpus, gpus)) if sum(gpus) else sum(cpus)
    parallel = min(parallel or at_most, at_most)
    # The largest number of processors with which all trials find a place: a trial is on one machine.
    num_cpus = next(n for n in range(max(cpus), 0, -1) if sum(each // n for each in cpus) >= parallel)
    return RayTasks(parallel, num_cpus, 1 if sum(gpus) else 0)


@contextlib.contextmanager
def connected(address: str | None, parallel: int | None) -> Iterator[Processes | RayTasks]:
    """Yields the workers: processes of this machine, or tasks of a cluster.

    Args:
        address: of `--ray`; None for this machine.
        parallel: maximum number of trials at a time; None: what there is room for.

    Raises:
        UserError: the cluster cannot be reached.
    """
    if address is None:
        yield Processes(parallel or default_parallel())
        return
    with cluster.connected(address):
        yield ray_tasks(parallel)
