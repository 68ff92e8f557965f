import dataclasses
import shlex

import pytest

import main
from pipelines.classification.config import ClassificationConfig
from pipelines.language_model.config import LanguageModelConfig
from pipelines.runs import repeat
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from tests.pipelines.small_runs import write_export, write_run

CONFIG = ClassificationConfig(data="spam.csv", preset="quick", model="gru", dropout=0.1, bidirectional=False).resolve()
RECORD = {"config": dataclasses.asdict(CONFIG), "run": "77"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Runs and exports: spam/1 and spam/2 of a run, lost/1 whose run is gone, and a translator."""
    monkeypatch.setattr(main, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(main, "SAVED_MODELS", tmp_path / "saved")
    run = write_run(tmp_path / "runs", "spam", **RECORD)
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "best.npz").touch()
    write_export(tmp_path / "saved", "spam", 1, run="76")
    write_export(tmp_path / "saved", "spam", 2, run="77")
    write_export(tmp_path / "saved", "lost", run="78")
    config = ClassificationConfig(data="spam.csv", preset="quick", model="linear").resolve()
    linear = write_run(tmp_path / "runs", "quick", config=dataclasses.asdict(config), run="79")
    (linear / "checkpoints").mkdir()
    (linear / "checkpoints" / "best.npz").touch()
    write_export(tmp_path / "saved", "quick", run="79")
    best = dataclasses.asdict(ClassificationConfig(data="spam.csv").resolve())
    few = write_run(tmp_path / "runs", "few", config=best, run="80")
    result = read_record(few / "result.json", "")
    write_record(few / "result.json", result | {"config": best | {"model": "linear", "epochs": 1}})
    (few / "checkpoints").mkdir()
    (few / "checkpoints" / "best.npz").touch()
    write_export(tmp_path / "saved", "few", run="80")
    write_export(tmp_path / "saved", "nmt", task="nmt")
    write_export(tmp_path / "saved", "other", task="segmentation")
    return tmp_path


def test_a_run_is_repeated_with_its_settings(place):
    command = main.parse(["train", "--config", str(place / "runs/classification/spam/config.json")])
    assert command.task == "classification" and command.config.resolve() == CONFIG


def test_other_flags_override_the_settings_and_the_preset_follows_the_model(place):
    command = main.parse(["train", "classification", "--seed", "5", f"--config={place / 'runs/classification/spam'}"])
    assert command.config.resolve() == dataclasses.replace(CONFIG, seed=5)
    flags = ["--model", "bag", "--bidirectional"]
    command = main.parse(["train", "--config", str(place / "runs/classification/spam"), *flags])
    expected = ClassificationConfig(data="spam.csv", preset="quick", model="bag", dropout=0.1).resolve()
    assert command.config.resolve() == expected


def test_training_continues_from_an_export_with_new_data(place):
    command = main.parse(["train", "--from", "spam", "--data", "new.csv"])
    weights = str(place / "runs/classification/spam/checkpoints/best.npz")
    expected = dataclasses.replace(CONFIG, data="new.csv", start_weights=weights)
    assert command.config.resolve() == expected


def test_a_best_that_was_a_linear_model_continues_as_one(place):
    config = main.parse(["train", "--from", "few", "--data", "new.csv"]).config.resolve()
    config.check()
    ended = dataclasses.replace(ClassificationConfig(data="spam.csv").resolve(), model="linear")
    assert config.preset == "full" and config.max_characters == ended.max_characters
    assert all(getattr(config, name) == getattr(ended, name) for name in config.network_fields())


def test_the_positive_label_is_that_of_the_model(place):
    write_run(place / "runs", "positive", config=RECORD["config"] | {"positive": "ham"}, run="81")
    weights = place / "runs/classification/positive/checkpoints/best.npz"
    weights.parent.mkdir()
    weights.touch()
    assert main.parse(["train", "--from", "positive", "--data", "new.csv"]).config.positive is None


def test_the_command_of_a_run_gives_its_settings(place):
    runs, saved = place / "runs", place / "saved"
    config = repeat.settings_of(read_record(runs / "classification" / "spam" / "config.json", ""))
    line = repeat.train_line("classification", config, "mails", runs, saved)
    command = main.parse(shlex.split(line)[2:])
    assert command.config.resolve() == CONFIG
    assert (command.name, command.runs, command.saved_models) == ("mails", runs, saved)
    default = repeat.train_line("classification", config, None, main.RUNS, main.SAVED_MODELS)
    assert default.startswith("python main.py train classification --data spam.csv --preset quick --model gru")


def test_the_command_of_a_continued_run_names_the_run_before(place):
    _, config = repeat.continued("spam", place / "runs", place / "saved")
    line = repeat.train_line("classification", config, None, place / "runs", place / "saved")
    assert f"--from {place / 'runs' / 'classification' / 'spam'}" in line and "start-weights" not in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--config nowhere.json", "--config nowhere.json: no such file"),
        ("--config x --from spam", "give one of them"),
        ("--from spam", "--from needs --data"),
        ("--from spma --data x", r"no such export in .*; did you mean spam\?"),
        ("--from spam/1 --data x", "the run that made it is not in .*: give its folder of runs with --runs"),
        ("--from lost --data x", "the run that made it is not in"),
        ("--from nmt --data x", "--from nmt/1: the run that made it is not in"),
        ("--from other --data x", "--from other/1: it is no model of Unroll that this version knows"),
        ("--from spam --data x --runs nowhere", "the run that made it is not in"),
    ],
)
def test_a_mistake_is_one_line(place, arguments, message):
    with pytest.raises(UserError, match=message):
        main.parse(["train", "classification", *arguments.split()])


def test_a_record_of_another_task_is_refused(place):
    with pytest.raises(UserError, match="is of the task classification: use `train classification`"):
        main.parse(["train", "sentiment", "--config", str(place / "runs/classification/spam")])


def test_a_damaged_record_and_an_unknown_setting_are_refused(place):
    (place / "runs/classification/spam/config.json").write_text("{}")
    with pytest.raises(UserError, match="is damaged or was edited"):
        main.parse(["train", "--config", str(place / "runs/classification/spam")])
    write_run(place / "runs", "newer", config={"warp": 1})
    with pytest.raises(UserError, match="the run has the setting 'warp', which this version of Unroll does not have"):
        repeat.read_settings(place / "runs/classification/newer")


@pytest.mark.parametrize(("model", "scaled"), [("transformer", False), ("lstm", True)])
def test_a_run_with_sines_of_an_earlier_version_is_repeated_as_it_was(place, model, scaled):
    settings = dataclasses.asdict(ClassificationConfig(data="spam.csv", preset="quick", model=model).resolve())
    del settings["scale_embeddings"]
    write_run(place / "runs", "earlier", config=settings | {"positions": "sinusoidal"})
    config = repeat.read_settings(place / "runs/classification/earlier")[1].resolve()
    assert (config.positions, config.scale_embeddings) == ("sinusoidal", scaled)
    config.check()


def test_the_epochs_of_a_run_have_their_factor_once(place):
    for start, epochs in ((None, 8), ("first/checkpoints/best.npz", 6)):
        config = LanguageModelConfig(data="a.txt", epochs=epochs, start_weights=start).resolve()
        name = "again" if start else "once"
        run = write_run(place / "runs", name, task="char-lm", config=dataclasses.asdict(config))
        (run / "checkpoints").mkdir()
        (run / "checkpoints" / "best.npz").touch()
        config = repeat.continued(f"char-lm/{name}", place / "runs", place / "saved")[1].resolve()
        assert config.epochs == 6
    with pytest.raises(UserError, match="--from ngram: --model ngram counts once and cannot continue"):
        config = dataclasses.asdict(LanguageModelConfig(data="a.txt", model="ngram").resolve())
        run = write_run(place / "runs", "ngram", task="char-lm", config=config)
        (run / "checkpoints").mkdir()
        (run / "checkpoints" / "best.npz").touch()
        repeat.continued("ngram", place / "runs", place / "saved")
