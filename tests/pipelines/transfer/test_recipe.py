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

    choose(TransferConfig(encoder="bert", recipe="auto").complete(num_texts, groups, size=384), groups, num_texts, loss)
    return settings_of


def test_with_few_labels_layers_are_left_out_as_long_as_that_helps():
    settings = tried({"linear": 0.6, "unfrozen": 0.5, "drop-1": 0.4, "drop-2": 0.45}, 100)
    assert list(settings) == ["linear", "unfrozen", "drop-1", "drop-2"]
    assert not settings["linear"].trains and settings["unfrozen"].top_epochs == settings["unfrozen"].epochs > 1
    assert all(each.solve_head and each.ngrams for each in settings.values())
    assert settings["drop-1"] == dataclasses.replace(settings["unfrozen"], drop_layers=1)


def test_a_frozen_encoder_that_is_better_stays_frozen():
    settings = tried({"linear": 0.5, "unfrozen": 0.6, "drop-1": 0.7}, 100)
    assert settings["drop-1"] == dataclasses.replace(settings["linear"], drop_layers=1)


def test_with_many_labels_groups_are_drawn_anew_then_a_hidden_layer_is_added():
    losses = {"linear": 0.6, "unfrozen": 0.5, "reset-1": 0.4, "reset-2": 0.3, "reset-3": 0.35, "hidden-layer": 0.4}
    settings = tried(losses, FEW_LABELS)
    assert list(settings) == list(losses)
    assert [settings[f"reset-{n}"].unfreeze_groups for n in (1, 2, 3)] == [4, 4, 4]  # all but the embeddings
    assert settings["reset-1"].head_learning_rate == RESET_LEARNING_RATE
    assert settings["hidden-layer"] == dataclasses.replace(settings["reset-2"], head_layers=1)


def test_a_move_that_the_encoder_does_not_allow_ends():
    assert list(tried({"linear": 0.6, "unfrozen": 0.5, "drop-1": None}, 100))[-1] == "drop-1"


def test_an_encoder_without_trainable_weights_stays_frozen():
    assert list(tried({"linear": 0.6}, 100, groups=())) == ["linear"]
    settings = tried({"linear": 0.6, "hidden-layer": 0.5}, FEW_LABELS, groups=())
    assert list(settings) == ["linear", "hidden-layer"]
    assert settings["hidden-layer"].head_epochs and not settings["hidden-layer"].solve_head  # it is trained by steps


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
        "auto",
        "--json",
    ]
    command += ["--learning-rate", "0.05", "--head-learning-rate", "0.05", *where(tmp_path)]
    process = run_main(tmp_path, *command)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    names = [attempt["name"] for attempt in result["findings"]["attempts"]]
    assert names[:3] == ["linear", "unfrozen", "drop-1"]
    chosen = next(attempt for attempt in result["findings"]["attempts"] if attempt["chosen"])
    assert chosen["loss"] == min(attempt["loss"] for attempt in result["findings"]["attempts"])
    assert chosen["loss"] == pytest.approx(result["scores"]["validation"]["log_loss"], abs=1e-6)
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
