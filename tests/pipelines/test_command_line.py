import dataclasses
import json
import subprocess
import sys

import pytest
import tyro

from pipelines import command_line
from pipelines.classification.config import ClassificationConfig
from pipelines.command_line import (
    ModelFlags,
    PrepareCommand,
    ServedModelFlags,
    TrainCommand,
    print_error,
    print_json,
    subset,
)
from pipelines.runs import fitting, run
from pipelines.settings.config import TrainingConfig
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from serving import client
from tests.command_line import ROOT
from tests.pipelines.results import make_result
from tests.pipelines.small_runs import write_export


@pytest.fixture
def trained(monkeypatch):
    """Replaces the training; returns its arguments."""
    calls = []

    def train(task, config, destination, fit):
        assert fit is fitting.fit_and_measure
        calls.append((task, config, destination))
        return make_result()

    monkeypatch.setattr(run, "train", train)
    return calls


def test_training_prints_the_summary_of_the_task(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(TASKS["classification"].task(), "summarize", lambda result: f"summary of {result.model}")
    config = TrainingConfig()
    TrainCommand(task="classification", runs=tmp_path / "r", saved_models=tmp_path / "s", run="mine").train(config)
    assert trained == [("classification", config, run.Destination(tmp_path / "r", tmp_path / "s", "mine", None))]
    assert capsys.readouterr() == ("summary of classification/3\n", "")


def test_json_prints_the_whole_result_as_one_object(trained, capsys):
    TrainCommand(task="classification", json=True).train(TrainingConfig())
    output = capsys.readouterr().out
    assert output.count("\n") == 1
    assert json.loads(output) == make_result().to_json()


def test_a_given_name_has_priority_over_the_tasks_name(trained):
    TrainCommand(task="nmt", json=True).train(TrainingConfig(), name="nmt-en-de")
    TrainCommand(task="nmt", name="mine", json=True).train(TrainingConfig(), name="nmt-en-de")
    assert [destination.name for _, _, destination in trained] == ["nmt-en-de", "mine"]


def test_the_default_folders_are_beside_the_entry_point():
    assert (command_line.RUNS, command_line.SAVED_MODELS) == (ROOT / "runs", ROOT / "saved_models")


def test_the_flags_find_an_export_and_its_title_is_printed(tmp_path, capsys):
    for version in (1, 2):
        write_export(tmp_path, "films", version)
    flags = ModelFlags(name="films", version=1, saved_models=tmp_path)
    assert flags.find("sentiment").path == tmp_path / "films" / "1"
    assert capsys.readouterr() == ("", "model films/1\n")
    with pytest.raises(UserError, match="films has no version 3"):
        ModelFlags(name="films", version=3, saved_models=tmp_path).find("sentiment")


def test_a_server_is_asked_for_the_model(monkeypatch, capsys):
    requests = []

    def predict(*arguments, ca_file):
        requests.append((*arguments, ca_file))
        return {"label": ["positive"]}

    monkeypatch.setattr(client, "predict", predict)
    for server in ("127.0.0.1:8500", "http://127.0.0.1:8501"):
        outputs = ServedModelFlags(server=server).ask("sentiment", {"text": ["good"]}, "explain")
        assert outputs == {"label": ["positive"]}
        assert requests.pop() == (server, "sentiment", {"text": ["good"]}, "explain", None)
        assert capsys.readouterr().err == f"model sentiment at {server}\n"


def test_a_server_that_does_not_answer_is_reported(monkeypatch):
    def predict(*arguments, ca_file):
        raise client.Unanswered("connection refused")

    monkeypatch.setattr(client, "predict", predict)
    with pytest.raises(UserError, match="--server http://nowhere:1: connection refused"):
        ServedModelFlags(server="http://nowhere:1").ask("sentiment", {"text": ["good"]})


def test_a_ca_file_is_passed_on_and_must_exist(monkeypatch, tmp_path):
    monkeypatch.setattr(client, "predict", lambda *arguments, ca_file: {"ca_file": [ca_file]})
    path = tmp_path / "ca.pem"
    with pytest.raises(UserError, match="no such file: .*ca.pem"):
        ServedModelFlags(server="https://x:1", ca_file=path).ask("sentiment", {"text": ["good"]})
    path.touch()
    assert ServedModelFlags(server="https://x:1", ca_file=path).ask("sentiment", {"text": ["good"]}) == {
        "ca_file": [path]
    }


def test_a_server_has_no_version_flag():
    with pytest.raises(UserError, match="--version 3: a server always uses its newest version: leave out --version"):
        ServedModelFlags(server="http://nowhere:1", version=3).ask("sentiment", {"text": ["good"]})


def test_the_name_of_the_task_is_no_flag(capsys):
    with pytest.raises(SystemExit):
        tyro.cli(TrainCommand, args=["--help"])
    assert "--saved-models" in (text := capsys.readouterr().out) and "--task" not in text


def test_messages_go_to_stderr_and_json_to_stdout(capsys):
    print_error("a message")
    print_json({"text": "caf\u00e9\n"})
    output = capsys.readouterr()
    assert output.err == "a message\n" and output.out == '{"text": "caf\u00e9\\n"}\n'


@pytest.mark.slow
def test_importing_the_commands_imports_nothing_heavy():
    code = (
        "import sys, pipelines.command_line, main\n"
        "heavy = {'tensorflow', 'keras', 'numpy', 'pandas', 'matplotlib', 'grpc'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert process.returncode == 0, process.stderr


def test_a_subset_has_the_fields_of_the_config_with_their_help():
    made = subset(ClassificationConfig, ("tokenizer", "data"), max_tokens=(int, 70))
    assert dataclasses.asdict(made()) == {"data": None, "tokenizer": "word", "max_tokens": 70}
    helps = {field.name: field.metadata["help"] for field in dataclasses.fields(made)}
    assert helps["tokenizer"] == "What a token is. subword is SentencePiece."
    assert helps["data"].startswith("Labelled texts to train on: a CSV,")
    assert dataclasses.fields(ClassificationConfig)[0].default is None  # the config itself is as before


def test_a_preparation_needs_an_output_and_data_that_is_not_prepared(tmp_path):
    with pytest.raises(UserError, match="prepare needs --output"):
        PrepareCommand(task="sentiment").prepare(ClassificationConfig(data="x.csv"))
    (tmp_path / "manifest.json").touch()
    with pytest.raises(UserError, match=f"--data {tmp_path} is prepared already"):
        PrepareCommand(task="sentiment", output=tmp_path / "x").prepare(ClassificationConfig(data=str(tmp_path)))
