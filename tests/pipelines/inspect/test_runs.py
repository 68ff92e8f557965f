import json

import numpy as np
import pytest

import main
from pipelines.inspect.runs import TrainedRun
from pipelines.language_model.config import LanguageModelConfig
from pipelines.runs.run import Destination, train
from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig
from tests.pipelines.inspect.exports import data_of
from tests.pipelines.small_runs import write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of two epochs that kept its weights."""
    folder = tmp_path_factory.mktemp("trained")
    text = folder / "text.txt"
    text.write_text("the cat sat on the mat and the dog lay on the log\n" * 60)
    sizes = {"hidden_size": 8, "embedding_size": 4, "window": 8, "batch_size": 4, "epochs": 2, "preset": "quick"}
    config = LanguageModelConfig(
        data=(str(text),), keep_checkpoints=9, default_tokenizer="character", **sizes
    ).resolve()
    train("char-lm", config, Destination(folder / "runs", folder / "saved", run="kept", verify=False))
    return folder / "runs"


@pytest.mark.long
def test_the_weights_of_every_epoch_are_there(runs):
    run = TrainedRun(runs, "kept")
    assert run.epochs() == [0, 1, 2]
    assert run.validation_loss(0) is None and run.validation_loss(2) < run.validation_loss(1)
    traces = [run.trace("the cat", epoch) for epoch in run.epochs()]
    probabilities = [trace.outputs["log_probabilities"].sum() for trace in traces]
    assert probabilities[0] < probabilities[1] < probabilities[2], "it learns"
    gates = [trace.recurrent["layer_1"]["forget_gate"] for trace in traces]
    assert np.abs(gates[2] - gates[0]).max() > 0.01


@pytest.mark.long
def test_the_page_has_a_slider(runs, tmp_path, capsys):
    path = tmp_path / "page.html"
    for show in ("gates", "states"):
        path.unlink(missing_ok=True)
        arguments = ["training", "the cat", "--run", "kept", "--runs", runs, "--show", show, "--output", path]
        assert main.main(["inspect", *map(str, arguments)]) == 0
        assert "before the training" in str(data_of(path.read_text())[0]["specification"])
    assert main.main(["inspect", *map(str, arguments[:-2]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["states"]["data"]["path"]["checkpoint"][0] == 0


@pytest.mark.long
def test_a_run_without_kept_weights_is_refused(runs):
    run = TrainedRun(runs, "kept")
    for path in (runs / "char-lm" / "kept" / "checkpoints").glob("epoch-*"):
        path.unlink()
    with pytest.raises(UserError, match="kept no weights of its epochs: train it with --keep-checkpoints N"):
        run.epochs()
    (runs / "char-lm" / "kept" / "checkpoints" / "best.npz").unlink()
    with pytest.raises(UserError, match="has not finished an epoch yet"):
        TrainedRun(runs, "kept")


@pytest.mark.parametrize("name", ["config.json", "result.json"])
def test_a_damaged_run_is_refused(name, tmp_path):
    folder = write_run(tmp_path, "cut", task="char-lm")
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    with pytest.raises(UserError, match="char-lm/cut is damaged: .*: train it again"):
        TrainedRun(tmp_path, "cut")


@pytest.mark.long
@pytest.mark.parametrize(
    "task, config",
    [
        ("char-lm", {"model": "ngram", "order": 2}),
        ("tagging", {"model": "linear"}),
        ("tagging", {"model": "lstm", "hidden_size": 4, "epochs": 1}),
    ],
    ids=["ngram", "linear", "lstm"],
)
def test_a_run_of_every_kind_of_model_is_opened(task, config, tmp_path, capsys):
    kind = TaggingConfig if task == "tagging" else LanguageModelConfig
    config = kind(keep_checkpoints=1, **config).resolve()
    train(task, config, Destination(tmp_path / "runs", tmp_path / "saved", run="kept", verify=False))
    page = tmp_path / "page.html"
    arguments = ["inspect", "training", "Ann left", "--run", "kept", "--runs", tmp_path / "runs", "--output", page]
    status = main.main(list(map(str, arguments)))
    if config.model == "lstm":
        assert status == 0 and page.is_file()
    else:
        assert status == 2
        assert "has no recurrent layer and no attention: there is nothing to trace" in capsys.readouterr().err
