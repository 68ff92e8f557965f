import dataclasses
import json

import pytest

from pipelines.support.errors import UserError
from pipelines.transfer.config import RESET_LEARNING_RATE, TransferConfig
from pipelines.transfer.recipe import FEW_LABELS, choose
from tests.command_line import where
from tests.layers import hub_modules

GROUPS = ("embeddings", "layer_0", "layer_1", "layer_2", "pooler")


def tried(losses: dict[str, float], num_texts: int, groups=GROUPS) -> dict[str, TransferConfig]:
    """The settings that `choose` tries when the trainings have these losses; None is a UserError."""
    settings_of = {}

    def loss(name, settings):
        settings_of[name] = settings
        if losses[name] is None:
            raise UserError("not possible")
        return losses[name]

    choose(TransferConfig(encoder="bert").complete(num_texts, groups), groups, num_texts, loss)
    return settings_of


def test_with_few_labels_layers_are_left_out_as_long_as_that_helps():
    settings = tried({"freeze": 0.6, "unfreeze-2": 0.5, "drop-1": 0.4, "drop-2": 0.45}, 100)
    assert list(settings) == ["freeze", "unfreeze-2", "drop-1", "drop-2"]
    assert settings["freeze"].top_epochs == 0 and settings["freeze"].epochs == settings["unfreeze-2"].epochs
    assert settings["drop-1"] == dataclasses.replace(settings["unfreeze-2"], drop_layers=1)


def test_a_frozen_encoder_that_is_better_stays_frozen():
    settings = tried({"freeze": 0.5, "unfreeze-2": 0.6, "drop-1": 0.7}, 100)
    assert settings["drop-1"] == dataclasses.replace(settings["freeze"], drop_layers=1)


def test_with_many_labels_groups_are_drawn_anew_then_a_hidden_layer_is_added():
    losses = {"freeze": 0.6, "unfreeze-2": 0.5, "reset-1": 0.4, "reset-2": 0.3, "reset-3": 0.35, "hidden-layer": 0.4}
    settings = tried(losses, FEW_LABELS)
    assert list(settings) == list(losses)
    assert [settings[f"reset-{n}"].unfreeze_groups for n in (1, 2, 3)] == [2, 2, 3]
    assert settings["reset-1"].head_learning_rate == RESET_LEARNING_RATE
    assert settings["hidden-layer"] == dataclasses.replace(settings["reset-2"], head_layers=1)


def test_a_move_that_the_encoder_does_not_allow_ends():
    assert list(tried({"freeze": 0.6, "unfreeze-2": 0.5, "drop-1": None}, 100))[-1] == "drop-1"


def test_an_encoder_without_trainable_weights_stays_frozen():
    assert list(tried({"freeze": 0.6}, 100, groups=())) == ["freeze"]
    settings = tried({"freeze": 0.6, "hidden-layer": 0.5}, FEW_LABELS, groups=())
    assert list(settings) == ["freeze", "hidden-layer"]


@pytest.mark.long
def test_the_best_training_is_exported_and_all_are_reported(tmp_path, run_main, without_verification):
    hub_modules.save_bert(tmp_path / "bert", dropout=0.0)
    hub_modules.save_preprocessor(tmp_path / "preprocess")
    rows = "".join(f"the {word} film was a story {i},{word}\n" for i in range(60) for word in ("gripping", "dull"))
    (tmp_path / "texts.csv").write_text("text,label\n" + rows)
    command = [
        "train",
        "transfer",
        "--encoder",
        "bert",
        "--preprocessor",
        "preprocess",
        "--data",
        "texts.csv",
        "--recipe",
        "--json",
    ]
    command += ["--learning-rate", "0.05", "--head-learning-rate", "0.05", *where(tmp_path)]
    process = run_main(tmp_path, *command)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    names = [attempt["name"] for attempt in result["findings"]["attempts"]]
    assert names[:3] == ["freeze", "unfreeze-2", "drop-1"]
    chosen = next(attempt for attempt in result["findings"]["attempts"] if attempt["chosen"])
    assert chosen["loss"] == min(attempt["loss"] for attempt in result["findings"]["attempts"])
    assert chosen["loss"] == result["epochs"][result["best_epoch"] - 1]["val_loss"]
    assert result["config"]["drop_layers"] == (int(chosen["name"][-1]) if chosen["name"].startswith("drop") else 0)
    (folder,) = (tmp_path / "runs" / "transfer").iterdir()
    report = (folder / "report.md").read_text()
    assert all(f"| {name} |" in report for name in names)
    kept = [path.parent.name for path in (folder / "attempts").glob("*/checkpoints")]
    assert kept == [chosen["name"]]
    # Without its result, the same command restores the attempts and chooses again.
    (folder / "result.json").unlink()
    process = run_main(tmp_path, *command)
    again = json.loads(process.stdout)
    assert again["findings"]["attempts"] == result["findings"]["attempts"] and again["scores"] == result["scores"]
    assert "epoch 1/" not in process.stderr
