"""Where trials run: never more at a time than there is room for, real processes, and a Ray cluster on this machine."""

import json
import sys
from importlib import util

import pytest

from pipelines.distributed import cluster
from pipelines.support.errors import UserError
from pipelines.tune import study as studies
from pipelines.tune import workers
from pipelines.tune.study import FAILED, FINISHED, UNFINISHED, Outcome
from pipelines.tune.trial import Spec
from pipelines.tune.workers import Processes
from tests.pipelines.tune.searches import config_of, make_study

LAST = "the last line of its log.txt:"
needs_ray = pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed: requirements-ray.txt")


class CountingPool:
    """Counts how many trials run at a time; a trial ends when all places are taken, or nothing else starts."""

    def __init__(self, parallel):
        self.parallel, self.running, self.most, self.stopped = parallel, set(), 0, None

    def start(self, spec):
        self.running.add(spec.number)
        self.most = max(self.most, len(self.running))
        return spec.number

    def wait(self, handles):
        assert set(handles) == self.running
        number = min(handles)
        self.running.remove(number)
        yield number, Outcome(FINISHED, value=float(number))

    def stop(self, handles):
        self.stopped = handles


@pytest.mark.parametrize("parallel", [1, 3, 20])
def test_all_trials_run_and_never_more_at_a_time_than_there_are_places(parallel):
    pool, numbers, ended = CountingPool(parallel), iter(range(10)), []

    def next_spec():
        number = next(numbers, None)
        return None if number is None else Spec("study", number)

    workers.run_all(pool, next_spec, lambda spec, outcome: ended.append((spec.number, outcome.value)))
    assert sorted(ended) == [(number, float(number)) for number in range(10)]
    assert pool.most == min(parallel, 10) and pool.stopped is None


def test_an_error_stops_the_trials_that_run():
    pool, numbers = CountingPool(3), iter(range(10))

    def fail(spec, outcome):
        raise UserError("the preset cannot be trained")

    with pytest.raises(UserError):
        workers.run_all(pool, lambda: Spec("study", next(numbers)), fail)
    assert pool.stopped == [1, 2]


@pytest.mark.parametrize(
    ("machines", "parallel", "expected"),
    [
        ([{"CPU": 2.0}], None, (2, 1, 0)),
        ([{"CPU": 2.0}], 1, (1, 2, 0)),
        ([{"CPU": 2.0}], 40, (2, 1, 0)),
        ([{"CPU": 8.0}, {"CPU": 4.0}, {}], 3, (3, 4, 0)),
        ([{"CPU": 4.0}, {"CPU": 4.0}], 1, (1, 4, 0)),
        ([{"CPU": 16.0, "GPU": 2.0}, {"CPU": 8.0}], None, (2, 8, 1)),
    ],
)
def test_a_cluster_gets_no_more_trials_than_it_has_room_for(machines, parallel, expected):
    tasks = workers.room(machines, parallel)
    assert (tasks.parallel, tasks.num_cpus, tasks.num_gpus) == expected
    assert sum(int(each.get("CPU", 0)) // tasks.num_cpus for each in machines) >= tasks.parallel


def test_a_cluster_without_a_processor_is_refused():
    with pytest.raises(UserError, match="no processor"):
        workers.room([{"GPU": 1.0}], None)


def test_this_machine_gets_no_more_trials_than_it_has_cores_and_memory(monkeypatch):
    monkeypatch.setattr(workers.machine, "gpus", lambda: [])
    monkeypatch.setattr(workers.machine, "processor", lambda: {"cores": 64})
    for memory, expected in ((None, 1), (10**9, 1), (7 * 10**9, 3), (10**12, 4)):
        monkeypatch.setattr(workers.machine, "free_memory", lambda memory=memory: memory)
        assert workers.default_parallel() == expected
    monkeypatch.setattr(workers.machine, "gpus", lambda: ["a GPU"])
    assert workers.default_parallel() == 1


@pytest.mark.parametrize(
    ("status", "log", "outcome"),
    [
        (0, "", Outcome(UNFINISHED)),
        (2, "x\nerror: no such file\n", Outcome(FAILED, reason="no such file")),
        (-9, "epoch 1\n", Outcome(FAILED, reason=f"its process ended with signal 9; {LAST} epoch 1")),
        (-9, "", Outcome(FAILED, reason="its process ended with signal 9")),
        (1, "MemoryError", Outcome(FAILED, reason=f"its process ended with status 1; {LAST} MemoryError")),
    ],
)  # fmt: skip
def test_the_outcome_of_a_process_without_a_result(status, log, outcome, tmp_path):
    spec = Spec(str(tmp_path), 0)
    spec.folder.mkdir(parents=True)
    (spec.folder / "log.txt").write_text(log)
    assert workers._outcome(spec, status) == outcome
    studies.write_outcome(spec.folder, Outcome(FINISHED, value=1.0))
    assert workers._outcome(spec, status) == Outcome(FINISHED, value=1.0)


def small_trial(tmp_path):
    config = config_of(model="linear", max_ngrams=1000, max_characters=0)
    study = make_study(tmp_path, config)
    folder = studies.prepare_trial(study, 0, config.resolve())
    return Spec(str(study.folder), 0), folder


@pytest.mark.long
def test_a_trial_in_a_process_of_its_own(tmp_path):
    spec, folder = small_trial(tmp_path)
    pool = Processes(2)
    handle = pool.start(spec)
    [(ended, outcome)] = pool.wait([handle])
    assert ended is handle and outcome == studies.outcome_of(folder) and outcome.state == FINISHED, (
        folder / "log.txt"
    ).read_text()
    assert outcome.scores["validation"]["accuracy"] > 0.7
    assert json.loads(handle.args[-1])["number"] == 0 and handle.args[0] == sys.executable


@pytest.mark.slow
def test_a_process_is_stopped(tmp_path):
    spec, _ = small_trial(tmp_path)
    pool = Processes(1)
    handle = pool.start(spec)
    pool.stop([handle])
    assert handle.returncode is not None


def pretend_tasks(monkeypatch, answers):
    """Makes `ray.wait` and `ray.get` answer without a cluster: handle -> what its task returns."""
    monkeypatch.setattr("ray.wait", lambda handles, **options: (handles, []))
    monkeypatch.setattr("ray.get", answers.get)
    monkeypatch.setattr("ray.util.get_node_ip_address", lambda: "10.0.0.7")


@needs_ray
@pytest.mark.parametrize("package", ["tensorflow-text", "keras", "optuna"])
def test_a_machine_with_other_packages_runs_no_trial(package, tmp_path, monkeypatch):
    expected = cluster.versions("optuna")
    own = {name: version for name, version in expected.items() if name != package}
    monkeypatch.setattr(cluster, "versions", lambda *others: own)
    answers = {0: {"state": FINISHED, "value": 1.0}, 2: {"state": FINISHED, "value": 2.0}}
    pretend_tasks(monkeypatch, answers)
    answers[1] = workers._run_quietly({"study": str(tmp_path), "number": 0}, str(tmp_path), expected)
    ended = []
    message = rf"the machine 10\.0\.0\.7 of the cluster has {package} is missing \(here \S+\): install"
    with pytest.raises(UserError, match=message) as error:
        for handle, _ in workers.RayTasks(3, 1, 0).wait([0, 1, 2]):
            ended.append(handle)
    assert ended == [0, 2] and "\n" not in str(error.value)  # the others have ended, and are kept


@needs_ray
def test_a_machine_without_the_folder_of_the_runs_runs_no_trial(tmp_path, monkeypatch):
    pretend_tasks(monkeypatch, {})
    spec = {"study": str(tmp_path / "nowhere"), "number": 0}
    answer = workers._run_quietly(spec, str(tmp_path), cluster.versions("optuna"))
    assert "is not on the machine 10.0.0.7 of the cluster: give --runs" in answer["unusable"]


@needs_ray
@pytest.mark.long
def test_a_trial_as_a_task_of_a_cluster(tmp_path, monkeypatch):
    spec, folder = small_trial(tmp_path)
    with cluster.connected("local", num_cpus=1):
        pool = workers.ray_tasks(5)
        assert pool == workers.RayTasks(1, 1, 0)
        handle = pool.start(spec)
        [(ended, outcome)] = pool.wait([handle])
        assert ended == handle and outcome == studies.outcome_of(folder) and outcome.state == FINISHED
        assert "linear model" in (folder / "log.txt").read_text()
        missing = pool.start(Spec(str(tmp_path / "nowhere"), 0))
        with pytest.raises(UserError, match="is not on the machine .* all machines share"):
            list(pool.wait([missing]))
        found = cluster.versions("optuna") | {"tensorflow-text": "9.9"}
        monkeypatch.setattr(cluster, "versions", lambda *others: found)
        other = pool.start(spec)
        with pytest.raises(UserError, match=r"the machine \S+ of the cluster has tensorflow-text \S+ \(here 9\.9\)"):
            list(pool.wait([other]))
