import dataclasses
import json
import multiprocessing
import os
import signal

import pytest

from pipelines.export.exported import files_of
from pipelines.runs import run_folder
from pipelines.settings.config import TrainingConfig
from pipelines.support.errors import UserError
from pipelines.support.records import write_record
from pipelines.support.run_result import READABLE, SCHEMA
from pipelines.task import TASKS
from tests.damage import damaged_copies
from tests.pipelines.results import make_result

ENTRY = TASKS["classification"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """A config of an earlier version of a task."""

    PRESETS = {("bag", "quick"): {"epochs": 3}, ("bag", "full"): {"epochs": 5}, ("lstm", "full"): {"epochs": 9}}
    DEFAULT_MODELS = {"quick": "bag", "full": "bag"}

    epochs: int | None = None
    valid: str | None = None
    encoder: str | None = None

    def data_files(self):
        return {"valid": self.valid} if self.valid else {}

    def module_handles(self):
        return {"encoder": self.encoder} if self.encoder else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LaterConfig(Config):
    """The config of a later version: it has one more field, and one whose default is in the presets."""

    PRESETS = {key: values | {"num_heads": 4} for key, values in Config.PRESETS.items()}

    word_dropout: float = 0.0
    num_heads: int | None = None


def record_of(config):
    return run_folder.make_record(ENTRY, config)


def name_of(config):
    return run_folder.run_name(record_of(config), config)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\ngood,1\n")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    return path


def test_the_record_has_everything_that_is_needed_to_repeat_the_run(data, tmp_path):
    (tmp_path / "valid.csv").write_text("text,label\nbad,0\n")
    (tmp_path / "bert").mkdir()
    config = Config(data=str(data), valid=str(tmp_path / "valid.csv"), encoder=str(tmp_path / "bert")).resolve()
    record = record_of(config)
    assert (record.schema, record.task, record.config) == (SCHEMA, "classification", dataclasses.asdict(config))
    assert set(record.data) == {"name", "fingerprint", "valid_fingerprint"} and record.data["name"] == "reviews"
    assert len(set(record.data.values())) == 3
    assert set(record.modules) == {"encoder"}
    assert {"python", "tensorflow", "keras", "numpy"} <= set(record.versions)


def test_the_name_has_the_data_and_the_model(data):
    assert name_of(Config(data=str(data), model="lstm").resolve()).startswith("reviews-lstm-")
    assert name_of(Config().resolve()).startswith("sample-bag-")


@pytest.mark.parametrize(
    "changes", [{"seed": 2}, {"epochs": 4}, {"preset": "full"}, {"preset": "full", "model": "lstm"}, {"patience": 1}]
)
def test_another_setting_is_another_run(changes):
    assert name_of(Config(**changes).resolve()) != name_of(Config().resolve())


def test_a_default_that_is_given_explicitly_is_the_same_run():
    assert name_of(Config(epochs=3, seed=1, preset="quick", model="bag").resolve()) == name_of(Config().resolve())


def test_other_data_of_the_same_name_is_another_run(data):
    first = name_of(Config(data=str(data)).resolve())
    data.write_text("text,label\nbad,0\n")
    assert name_of(Config(data=str(data)).resolve()) != first


@pytest.mark.parametrize("settings", [{}, {"seed": 2}, {"preset": "full", "model": "lstm", "epochs": 2}])
def test_a_later_version_with_more_fields_finds_and_accepts_the_run(folder, settings):
    earlier, later = Config(**settings).resolve(), LaterConfig(**settings).resolve()
    assert name_of(later) == name_of(earlier)
    run_folder.save_or_check_record(folder, record_of(earlier), earlier)
    record = run_folder.save_or_check_record(folder, record_of(later), later)
    assert record.config["num_heads"] == 4 and record.config["word_dropout"] == 0.0


@pytest.mark.parametrize(
    ("task", "flags", "old", "accepted"),
    [
        ("classification", {"model": "transformer"}, {"positions": "sinusoidal"}, False),  # its sines were not scaled
        ("classification", {"model": "transformer", "positions": "rotary"}, {}, True),
        ("classification", {"model": "lstm"}, {"positions": "sinusoidal"}, True),
        ("tagging", {"model": "lstm"}, {"positions": "sinusoidal"}, True),
        ("char-lm", {"model": "transformer", "positions": "none"}, {}, True),
        ("char-lm", {"model": "transformer", "positions": "sinusoidal"}, {}, False),
        ("nmt", {"model": "transformer"}, {"positions": "sinusoidal"}, True),  # has always scaled them
    ],
)
def test_a_run_without_scale_embeddings_goes_on_if_it_computes_the_same(tmp_path, task, flags, old, accepted):
    entry = TASKS[task]
    config = type(entry.command().Train(task=task).config)(preset="quick", **flags).resolve()
    record = run_folder.make_record(entry, config)
    earlier = {name: value for name, value in record.config.items() if name != "scale_embeddings"} | old
    run_folder.write_record(tmp_path / "config.json", dataclasses.asdict(record) | {"config": earlier})
    if accepted:
        run_folder.save_or_check_record(tmp_path, record, config)
    else:
        with pytest.raises(UserError, match="give another --run"):
            run_folder.save_or_check_record(tmp_path, record, config)


def test_a_later_version_with_a_new_flag_in_use_is_another_run(folder):
    earlier, later = Config().resolve(), LaterConfig(word_dropout=0.5).resolve()
    assert name_of(later) != name_of(earlier)
    run_folder.save_or_check_record(folder, record_of(earlier), earlier)
    with pytest.raises(UserError, match="was started with --word-dropout 0.0, not 0.5: give another --run"):
        run_folder.save_or_check_record(folder, record_of(later), later)


def test_an_existing_run_keeps_its_start_and_its_versions(folder, capsys):
    config = Config().resolve()
    first = run_folder.save_or_check_record(folder, record_of(config), config)
    later = dataclasses.replace(
        record_of(config), started="2099-01-01T00:00:00+00:00", versions=first.versions | {"keras": "99.0"}
    )
    second = run_folder.save_or_check_record(folder, later, config)
    assert (second.run, second.started, second.versions) == (first.run, first.started, first.versions)
    note = capsys.readouterr().err
    assert f"was started with keras {first.versions['keras']}" in note and "last bits" in note
    (folder / "result.json").write_text("{}")
    run_folder.save_or_check_record(folder, later, config)
    assert capsys.readouterr().err == ""  # nothing is left to train


def test_other_flags_are_refused(folder):
    config, other = Config().resolve(), Config(epochs=9).resolve()
    run_folder.save_or_check_record(folder, record_of(config), config)
    with pytest.raises(UserError, match="was started with --epochs 3, not 9: give another --run"):
        run_folder.save_or_check_record(folder, record_of(other), other)


def test_other_data_is_refused(folder, data):
    config = Config(data=str(data)).resolve()
    run_folder.save_or_check_record(folder, record_of(config), config)
    data.write_text("text,label\nbad,0\n")
    with pytest.raises(UserError, match="was started with other data: the file has changed since. Give another --run"):
        run_folder.save_or_check_record(folder, record_of(config), config)


def test_another_module_is_refused_but_a_missing_one_is_not(folder, tmp_path):
    module = tmp_path / "bert"
    module.mkdir()
    (module / "saved_model.pb").write_bytes(b"1")
    config = Config(encoder=str(module)).resolve()
    first = run_folder.save_or_check_record(folder, record_of(config), config)
    (module / "saved_model.pb").write_bytes(b"22")
    with pytest.raises(UserError, match="was started with another --encoder: it has changed since"):
        run_folder.save_or_check_record(folder, record_of(config), config)
    (module / "saved_model.pb").unlink()
    module.rmdir()
    assert run_folder.save_or_check_record(folder, record_of(config), config).modules == first.modules


@pytest.mark.parametrize("schema", [None, READABLE[0] - 1, SCHEMA + 1])
def test_a_run_of_another_schema_is_refused_in_one_line(folder, schema):
    config = Config().resolve()
    other = dataclasses.asdict(record_of(config)) | {"schema": schema, "pipeline": "sentiment"}
    if schema == SCHEMA + 1:
        write_record(folder / "config.json", other)
    else:
        (folder / "config.json").write_text(json.dumps(other))
    with pytest.raises(UserError, match=f"another version of Unroll .schema {schema}.*: give another --run") as error:
        run_folder.save_or_check_record(folder, record_of(config), config)
    assert "\n" not in str(error.value)


def test_a_damaged_record_is_one_line_with_the_remedy(folder):
    config = Config().resolve()
    run_folder.save_or_check_record(folder, record_of(config), config)
    path = folder / "config.json"
    for content in damaged_copies(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(UserError) as error:
            run_folder.save_or_check_record(folder, record_of(config), config)
        assert f"{path} is damaged or was edited: delete {folder} to train from scratch" in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["a", "imdb-bag-1a2b", "my_run.2", "\u00e9tude"])
def test_names_that_can_be_folders(name):
    assert run_folder.check_name("run", name) == name


@pytest.mark.parametrize("name", ["", ".hidden", "../up", "a/b", "a b", "a\n"])
def test_names_that_cannot_be_folders(name):
    with pytest.raises(UserError, match="^--run .*: a name consists of letters, digits"):
        run_folder.check_name("run", name)


def hold_lock(folder, connection):
    with run_folder.locked(folder):
        connection.send("locked")
        connection.recv()


@pytest.mark.slow
def test_a_second_process_is_refused_until_the_first_one_ends_however_it_ends(folder):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=hold_lock, args=(folder, theirs))
    process.start()
    try:
        assert ours.poll(120) and ours.recv() == "locked"
        with pytest.raises(UserError, match="is being trained by another process: wait for it, or give another --run"):
            with run_folder.locked(folder):
                pass
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    with run_folder.locked(folder):
        pass


def test_the_lock_is_free_after_the_block(folder):
    for _ in range(2):
        with run_folder.locked(folder):
            with pytest.raises(UserError):
                with run_folder.locked(folder):
                    pass


def export_version(folder, text="graph"):
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_text(text)
    (folder / "variables" / "data").write_text("weights")
    return files_of(folder)


def test_a_run_is_finished_if_it_has_a_result_and_its_export_is_complete(folder, tmp_path, capsys):
    assert run_folder.finished_result(folder) is None
    files = export_version(tmp_path / "saved" / "1")
    result = make_result(export=str(tmp_path / "saved" / "1"), export_files=files)
    run_folder.write_result(folder, result)
    assert run_folder.finished_result(folder) == result and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda export: export.rename(export.with_name("9")), "it does not exist"),
        (lambda export: (export / "variables" / "data").unlink(), "variables/data is missing"),
        (lambda export: (export / "saved_model.pb").write_text(""), "saved_model.pb has 0 bytes instead of 5"),
        (lambda export: (export / "saved_model.pb").write_text("grapf"), "saved_model.pb has changed"),
    ],
)
def test_a_run_whose_export_is_not_complete_is_not_finished(folder, tmp_path, capsys, damage, problem):
    export = tmp_path / "saved" / "1"
    run_folder.write_result(folder, make_result(export=str(export), export_files=export_version(export)))
    damage(export)
    assert run_folder.finished_result(folder) is None
    assert f"1 is not the export of this run any more ({problem}): exporting it again" in capsys.readouterr().err


def test_a_damaged_result_is_one_line_with_the_remedy(folder):
    run_folder.write_result(folder, make_result())
    path = folder / "result.json"
    for content in damaged_copies(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(UserError) as error:
            run_folder.finished_result(folder)
        expected = f"{path} is damaged or was edited: delete it, and the same command measures the model again"
        assert str(error.value) == expected


def test_the_planned_export_is_found_whatever_its_version(folder, tmp_path):
    exports = tmp_path / "saved" / "demo"
    assert run_folder.planned_files(folder) is None and run_folder.planned_export(folder, exports) is None
    export_version(exports / "1", "another graph")
    run_folder.plan_export(folder, export_version(exports / ".tmp-2"))
    assert run_folder.planned_export(folder, exports) is None
    (exports / ".tmp-2").rename(exports / "7")
    found = run_folder.planned_export(folder, exports)
    assert (found.title, found.path) == ("demo/7", exports / "7")
    (exports / "7" / "saved_model.pb").write_text("")
    assert run_folder.planned_export(folder, exports) is None


def test_a_damaged_plan_is_one_line_with_the_remedy(folder, tmp_path):
    run_folder.plan_export(folder, {})
    (folder / "export.json").write_text("{}")
    with pytest.raises(UserError, match="export.json is damaged or was edited: delete it, and the same command"):
        run_folder.planned_export(folder, tmp_path)
