"""Versions that appear and disappear, in the manager alone."""

import itertools
import shutil
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

from serving import statuses
from serving.core import Core, ModelSpec
from serving.errors import Code, ServingError
from serving.manager import Manager
from serving.metrics import Metrics
from serving.models_config import Model, find_models
from serving.servable import Servable
from serving.settings import Limits, LoadRetries
from serving.versions import State
from tests.serving import small_models


class Log(list):
    def __call__(self, event, **fields):
        self.append((event, fields["model"], fields.get("version")))


@pytest.fixture
def make_manager():
    managers = []

    def make(root, retries=LoadRetries(number=0), clock=time.monotonic):
        manager = Manager(lambda: find_models(root), Limits(), retries, Log(), clock)
        managers.append(manager)
        manager.refresh()
        return manager

    yield make
    for manager in managers:
        manager.close()


def states(manager, name="upper"):
    return {version.number: version.state for version in manager.versions(name)}


def get_error(call, *arguments):
    with pytest.raises(ServingError) as caught, call(*arguments):
        pytest.fail("there was no error")
    return caught.value.code, caught.value.message


def test_the_newest_two_versions_are_available(tmp_path, make_manager):
    for number in (1, 2, 3):
        small_models.save(tmp_path, "upper", number)
    manager = make_manager(tmp_path)
    assert states(manager) == {3: State.AVAILABLE, 2: State.AVAILABLE}
    assert manager.readiness() == {"upper": True}
    for arguments, number in (((), 3), ((2,), 2), ((None, "stable"), 2), ((None, "canary"), 3)):
        with manager.hold("upper", *arguments) as version:
            assert version.number == number


def test_the_log_shows_the_progress_while_models_load(tmp_path):
    for name in ("first", "second"):
        small_models.save(tmp_path, name, 3)
    write_broken(tmp_path, "broken")
    lines = []

    def log(event, **fields):
        lines.append((event, fields["model"], fields["version"], fields.get("progress"), fields.get("seconds")))

    now = itertools.count()
    manager = Manager(lambda: find_models(tmp_path), Limits(), LoadRetries(number=0), log, lambda: next(now))
    manager.refresh()
    assert lines == [
        ("loading", "broken", 1, "model 1 of 3", None),
        ("not loaded", "broken", 1, None, None),
        ("loading", "first", 3, "model 2 of 3", None),
        ("loaded", "first", 3, None, 1),
        ("loading", "second", 3, "model 3 of 3", None),
        ("loaded", "second", 3, None, 1),
    ]
    manager.close()


def test_a_new_version_replaces_the_oldest_after_it_is_loaded(tmp_path, make_manager):
    for number in (1, 2):
        small_models.save(tmp_path, "upper", number)
    manager = make_manager(tmp_path)
    small_models.save(tmp_path, "upper", 3)
    manager.refresh()
    assert states(manager) == {3: State.AVAILABLE, 2: State.AVAILABLE, 1: State.END}
    assert manager._log[-2:] == [("loaded", "upper", 3), ("unloaded", "upper", 1)]


def test_nothing_refers_to_the_graph_of_a_replaced_version(tmp_path, make_manager):
    small_models.save(tmp_path, "upper", 1)
    manager = make_manager(tmp_path)
    with manager.hold("upper") as version:
        manager.batcher(version, "serving_default")
        graph = weakref.ref(version.servable._session.graph)
    del version
    for number in (2, 3):
        small_models.save(tmp_path, "upper", number)
    manager.refresh()
    assert states(manager) == {3: State.AVAILABLE, 2: State.AVAILABLE, 1: State.END}
    manager.refresh()  # the one after the unloading frees the memory
    assert graph() is None


def test_a_request_on_an_old_version_does_not_delay_the_next_versions(tmp_path, make_manager, monkeypatch):
    monkeypatch.setattr("serving.manager._UNLOAD_SECONDS", 0.0)
    small_models.save(tmp_path, "upper", 1)
    manager = make_manager(tmp_path)
    with manager.hold("upper", 1) as held:
        for number in (2, 3, 4):
            small_models.save(tmp_path, "upper", number)
            manager.refresh()
        expected = {4: State.AVAILABLE, 3: State.AVAILABLE, 2: State.END, 1: State.UNLOADING}
        assert states(manager) == expected
        shutil.rmtree(tmp_path / "upper" / "1")
        manager.refresh()
        assert states(manager)[1] == State.UNLOADING
        outputs = held.servable.signature("")({"text": np.array([b"a"], object)})
        assert outputs["label"].tolist() == [b"A"]
    manager.refresh()
    manager.refresh()
    assert 1 not in states(manager) and ("unloaded", "upper", 1) in manager._log


def test_a_removed_version_is_replaced_by_an_older_one(tmp_path, make_manager):
    for number in (1, 2, 3):
        small_models.save(tmp_path, "upper", number)
    manager = make_manager(tmp_path)
    shutil.rmtree(tmp_path / "upper" / "3")
    manager.refresh()
    assert states(manager) == {2: State.AVAILABLE, 1: State.AVAILABLE}


@pytest.mark.parametrize("removed", ["the versions", "the model"])
def test_a_model_is_unloaded_when_its_last_version_is_removed(tmp_path, make_manager, removed):
    folder = small_models.save(tmp_path, "upper", 1)
    small_models.save(tmp_path, "other", 1)
    manager = make_manager(tmp_path)
    with manager.hold("upper") as version:
        graph = weakref.ref(version.servable._session.graph)
    del version
    shutil.rmtree(folder if removed == "the versions" else folder.parent)
    manager.refresh()
    assert manager.readiness() == {"other": True} and manager.is_ready()
    assert get_error(manager.hold, "upper")[0] == Code.NOT_FOUND
    with pytest.raises(ServingError, match="Could not find any versions of model upper"):
        manager.versions("upper")
    assert ("unloaded", "upper", 1) in manager._log
    manager.refresh()
    assert graph() is None
    small_models.save(tmp_path, "upper", 2)
    manager.refresh()
    assert states(manager) == {2: State.AVAILABLE}


def test_a_removed_version_stays_if_the_only_other_one_is_broken(tmp_path, make_manager):
    folder = small_models.save(tmp_path, "upper", 2)
    manager = make_manager(tmp_path)
    write_broken(tmp_path, "upper")
    shutil.rmtree(folder)
    for _ in range(2):
        manager.refresh()
        assert states(manager) == {2: State.AVAILABLE, 1: State.END}
    assert manager._log.count(("the folder is gone", "upper", 2)) == 1


def test_what_is_loaded_stays_while_the_folder_of_the_model_is_missing(tmp_path, make_manager):
    folder = small_models.save(tmp_path, "upper", 1).parent
    manager = make_manager(tmp_path)
    manager.serve({"upper": Model("upper", folder)})
    folder.rename(tmp_path / "aside")
    for _ in range(2):
        manager.refresh()
        assert manager.is_ready() and states(manager) == {1: State.AVAILABLE}
    assert manager._log.count(("the folder is gone", "upper", 1)) == 1


def test_what_is_loaded_stays_while_its_folder_cannot_be_read(tmp_path, make_manager, monkeypatch):
    small_models.save(tmp_path, "upper", 1)
    manager = make_manager(tmp_path)
    iterdir = Path.iterdir

    def refuse(path):
        if path.name == "upper":
            raise PermissionError(f"Permission denied: {path}")
        return iterdir(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        small_models.save(tmp_path, "other", 1)
        for _ in range(2):
            manager.refresh()
            assert manager.readiness() == {"other": True, "upper": True}
    assert [event for event, *_ in manager._log].count("cannot read the folder") == 1


def test_a_model_that_never_loaded_disappears_with_its_folder(tmp_path, make_manager):
    broken = tmp_path / "upper" / "1"
    broken.mkdir(parents=True)
    (broken / "saved_model.pb").write_bytes(b"nonsense")
    manager = make_manager(tmp_path)
    assert manager.readiness() == {"upper": False}
    shutil.rmtree(tmp_path / "upper")
    manager.refresh()
    assert manager.readiness() == {}
    with pytest.raises(ServingError, match="Could not find any versions of model upper"):
        manager.versions("upper")


def test_a_server_without_models_is_not_ready(tmp_path, make_manager):
    manager = make_manager(tmp_path)
    assert not manager.is_ready()
    small_models.save(tmp_path, "upper", 1)
    manager.refresh()
    assert manager.is_ready()


def write_broken(root, name):
    (root / name / "1").mkdir(parents=True)
    (root / name / "1" / "saved_model.pb").write_bytes(b"nonsense")


def test_a_model_counts_for_readiness_once_it_has_been_available(tmp_path, make_manager):
    write_broken(tmp_path, "broken")
    manager = make_manager(tmp_path)
    assert not manager.is_ready()  # no model is available
    folder = small_models.save(tmp_path, "upper", 1)
    manager.refresh()
    assert manager.is_ready() and manager.readiness() == {"broken": False, "upper": True}
    small_models.save(tmp_path, "other", 1)
    models = {name: Model(name, tmp_path / name) for name in ("broken", "other", "upper")}
    manager.serve(models)
    assert manager.is_ready()
    shutil.rmtree(folder)
    manager.refresh()
    assert manager.readiness() == {"broken": False, "other": True, "upper": False} and not manager.is_ready()
    manager.serve({name: models[name] for name in ("broken", "other")})
    assert manager.is_ready()


def test_a_name_number_or_label_that_does_not_exist_is_an_error(models, make_manager):
    manager = make_manager(models)
    assert get_error(manager.hold, "no") == (Code.NOT_FOUND, "Servable not found for request: Latest(no)")
    assert get_error(manager.hold, "upper", 9) == (Code.NOT_FOUND, "Servable not found for request: Specific(upper, 9)")
    message = "Unrecognized servable version label: no"
    assert get_error(manager.hold, "upper", None, "no") == (Code.INVALID_ARGUMENT, message)
    with pytest.raises(ServingError, match=message):
        manager.versions("upper", None, "no")
    with pytest.raises(ServingError, match="Could not find version 9 of model upper"):
        manager.versions("upper", 9)


def test_all_requests_for_a_signature_share_a_batcher(models, make_manager):
    manager = make_manager(models)
    with manager.hold("upper") as version:
        assert manager.batcher(version, "add") is manager.batcher(version, "add")
        assert manager.batcher(version, "add") is not manager.batcher(version, "words")
        assert manager.batcher(version, "add", is_long=True) is not manager.batcher(version, "add")


def test_the_models_to_serve_can_be_replaced(models, make_manager):
    manager = make_manager(models)
    other = Model("other", models / "upper", specific=frozenset([1]))
    manager.serve({"other": other})
    assert manager.readiness() == {"other": True} and states(manager, "other") == {1: State.AVAILABLE}
    assert get_error(manager.hold, "upper")[0] == Code.NOT_FOUND


@pytest.mark.parametrize("fault", ["not a SavedModel", "its warm-up fails", "a variable is missing"])
def test_a_broken_version_does_not_replace_a_good_one_and_is_tried_again_after_a_change(tmp_path, make_manager, fault):
    small_models.save(tmp_path, "upper", 1)
    broken = small_models.save(tmp_path, "upper", 2)
    if fault == "not a SavedModel":
        (broken / "saved_model.pb").write_bytes(b"nonsense")
    if fault == "a variable is missing":
        shutil.rmtree(broken / "variables")
    if fault == "its warm-up fails":
        small_models.write_warm_up(broken, b"\xff\xff")
    manager = make_manager(tmp_path)
    assert states(manager) == {2: State.END, 1: State.AVAILABLE}
    assert manager.versions("upper", 2)[0].error
    with manager.hold("upper") as version:
        assert version.number == 1
    manager.refresh()
    assert manager._log.count(("not loaded", "upper", 2)) == 1  # unchanged files are not loaded again
    shutil.rmtree(broken)
    small_models.save(tmp_path, "upper", 2)
    manager.refresh()
    assert states(manager) == {2: State.AVAILABLE, 1: State.AVAILABLE}


def test_a_failed_load_is_retried_after_a_time_and_is_loading_until_the_last_attempt(tmp_path, make_manager):
    folder = small_models.save(tmp_path, "upper", 1)
    (folder / "saved_model.pb").write_bytes(b"nonsense")
    now = [0.0]
    manager = make_manager(tmp_path, LoadRetries(number=2, seconds=60.0), lambda: now[0])
    for seconds, num_attempts, state in ((59, 1, State.LOADING), (61, 2, State.LOADING), (122, 3, State.END)):
        now[0] = seconds
        manager.refresh()
        (version,) = manager.versions("upper")
        assert manager._log.count(("not loaded", "upper", 1)) == num_attempts
        assert version.state == state and version.error
    now[0] = 1e9
    manager.refresh()
    assert manager._log.count(("not loaded", "upper", 1)) == 3


def test_a_retry_that_succeeds_makes_the_version_available(tmp_path, make_manager, monkeypatch):
    small_models.save(tmp_path, "upper", 1)
    now = [0.0]
    with monkeypatch.context() as patch:
        patch.setattr(Servable, "warm_up", lambda servable, stopped: 1 / 0)
        manager = make_manager(tmp_path, LoadRetries(number=2, seconds=60.0), lambda: now[0])
    manager.refresh()
    assert states(manager) == {1: State.LOADING} and "ZeroDivisionError" in manager.versions("upper")[0].error
    now[0] = 60.0
    manager.refresh()
    (version,) = manager.versions("upper")
    assert (version.state, version.error) == (State.AVAILABLE, "")


def test_an_error_that_is_not_utf8_can_be_reported(tmp_path, make_manager, monkeypatch):
    small_models.save(tmp_path, "upper", 1)

    def load(path):
        raise ValueError("no such file: caf\udce9")

    monkeypatch.setattr("serving.manager.Servable", load)
    core = Core(make_manager(tmp_path), Limits(), Metrics())
    (entry,) = statuses.status(core, ModelSpec("upper")).model_version_status
    assert entry.status.error_message == "ValueError: no such file: caf\\udce9"


def test_a_changed_asset_is_a_change(tmp_path, make_manager):
    broken = small_models.save(tmp_path, "upper", 1)
    (broken / "saved_model.pb").write_bytes(b"nonsense")
    manager = make_manager(tmp_path)
    manager.refresh()
    (broken / "assets" / "vocabulary").mkdir(parents=True)
    (broken / "assets" / "vocabulary" / "words.txt").write_text("a")
    manager.refresh()
    assert manager._log.count(("not loaded", "upper", 1)) == 2


def test_a_stopping_server_loads_nothing_more(tmp_path, make_manager):
    manager = make_manager(tmp_path)
    small_models.save(tmp_path, "upper", 1)
    manager.stop_loading()
    manager.refresh()
    assert manager._log == [] and not manager.is_ready()


def test_closing_does_not_wait_longer_than_its_time(tmp_path, make_manager):
    small_models.save(tmp_path, "upper", 1)
    manager = make_manager(tmp_path)
    with manager.hold("upper") as version:
        manager.close(seconds=0.01)
        assert version.servable.signature("")({"text": np.array([b"a"], object)})["label"].tolist() == [b"A"]
