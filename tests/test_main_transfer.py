"""`train|evaluate|predict transfer` as their users meet them."""

import json
import shutil

import numpy as np
import pytest

from tests.command_line import assert_one_line, main, where
from tests.layers import hub_modules
from tests.serving.comparing import assert_served_as_in_process

SMALL = "--head-epochs 1 --top-epochs 1 --top 2 --all-epochs 4 --learning-rate 0.05 --layer-decay 1 --head-rate 0.05 --labels 300 --batch-size 10 --dropout 0"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    hub_modules.save_bert(folder / "bert", dropout=0.1)
    hub_modules.save_preprocessor(folder / "preprocess")
    hub_modules.save_sentences(folder / "sentences")
    hub_modules.save_images(folder / "images")
    (folder / "cut").mkdir()
    (folder / "cut" / "saved_model.pb").write_bytes((folder / "sentences" / "saved_model.pb").read_bytes()[:1000])
    rng = np.random.default_rng(1)
    rows = [(word, label) for word, label in (("gripping", "good"), ("dull", "bad")) for _ in range(300)]
    words = "a the film story was".split()
    lines = [f"{' '.join(rng.choice(words, 6))} {word} {' '.join(rng.choice(words, 3))} {i},{label}" for i, (word, label) in enumerate(rows)]
    (folder / "texts.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(place):
    """From a folder of the encoder that is gone afterwards."""
    shutil.copytree(place / "bert", place / "encoder")
    command = ["train", "transfer", "--encoder", place / "encoder", "--preprocessor", place / "preprocess", "--data", "texts.csv"]
    process = main(place, *command, *SMALL.split(), "--json", *where(place))
    assert process.returncode == 0, process.stderr
    shutil.rmtree(place / "encoder")
    return process


def test_stages_are_told_and_recorded(trained, place):
    result = json.loads(trained.stdout)
    assert "Traceback" not in trained.stderr and "Warning" not in trained.stderr
    learning = [row["weights that learn"] for row in result["epochs"]]
    head = hub_modules.SIZE * 2 + 2
    block = hub_modules.SIZE**2 + hub_modules.SIZE
    top = hub_modules.SIZE**2 + block  # the pooler and the uppermost layer
    everything = head + top + 2 * block + len(hub_modules.WORDS) * hub_modules.SIZE
    assert learning == [head, head + top, *[everything] * 4]
    assert result["scores"]["validation"]["accuracy"] > 0.9 and result["rows"]["train"] == 300
    (folder,) = (place / "runs" / "transfer").iterdir()
    report = (folder / "report.md").read_text()
    assert "| top 2 | 1 |" in report and "| all | 4 |" in report
    card = json.loads((place / "saved" / "transfer" / "1" / "model_card.json").read_text())
    assert str(place) not in json.dumps(card)


def test_predict_and_evaluate(trained, place, here):
    flags = ["--saved-models", place / "saved", "--json"]
    process = here(place, "predict", "transfer", "a gripping film", "the dull story", *flags)
    assert [p["label"] for p in json.loads(process.stdout)["predictions"]] == ["good", "bad"]
    process = here(place, "evaluate", "transfer", "--data", "texts.csv", *flags)
    assert json.loads(process.stdout)["accuracy"] > 0.9


def test_a_server_answers_as_the_model_itself(trained, place):
    assert_served_as_in_process(place / "saved", "transfer")


def test_top_layers_are_left_out(place, here, unverified):
    command = ["train", "transfer", "--encoder", place / "bert", "--preprocessor", place / "preprocess", "--data", "texts.csv"]
    process = here(place, *command, *SMALL.split(), "--drop-top", 2, "--name", "lower", "--json", *where(place))
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["scores"]["validation"]["accuracy"] > 0.7


def test_a_changed_encoder_is_noticed_and_a_bad_one_leaves_no_copy(place, here, unverified):
    command = ["train", "transfer", "--encoder", place / "changing", "--data", "texts.csv", "--name", "c", "--json", *where(place)]
    flags = "--labels 20 --head-epochs 1 --top-epochs 0".split()
    shutil.copytree(place / "images", place / "changing")
    assert_one_line(here(place, *command, *flags), "takes images")
    shutil.rmtree(place / "changing")
    shutil.copytree(place / "sentences", place / "changing")
    assert_one_line(here(place, *command, *flags), "another --encoder")
    assert here(place, *command, *flags, "--run", "second").returncode == 0
    shutil.rmtree(place / "changing")
    assert here(place, *command, *flags, "--run", "second").returncode == 0  # gone, but the run has its copy


def test_texts_are_cut_in_training_as_in_the_export(place, here, unverified):
    """What tells the labels apart stands behind the bytes that are read."""
    rows = "".join(f"{'the film was a story ' * 6} {word} {i},{word}\n" for i in range(100) for word in ("gripping", "dull"))
    (place / "long.csv").write_text("text,label\n" + rows)
    flags = "--max-bytes 100 --head-epochs 2 --top-epochs 0 --head-rate 0.1 --name long --json".split()
    process = here(place, "train", "transfer", "--encoder", place / "sentences", "--data", "long.csv", *flags, *where(place))
    result = json.loads(process.stdout)
    assert result["epochs"][-1]["val_accuracy"] < 0.7 and result["epochs"][-1]["accuracy"] < 0.7


def test_the_defaults_suit_few_texts_and_an_encoder_of_one_group(place, here, unverified):
    command = ["train", "transfer", "--encoder", place / "sentences", "--data", "texts.csv", "--name", "few", "--json", *where(place)]
    process = here(place, *command)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert len(result["epochs"]) == result["config"]["head_epochs"] + result["config"]["top_epochs"] and result["config"]["top"] == 1
    assert here(place, *command).returncode == 0  # the same command finds its run


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("", "--encoder is missing"),
        ("--encoder nowhere", "no such folder"),
        ("--encoder https://localhost:1/encoder", "download it elsewhere"),
        ("--encoder images", "takes images"),
        ("--encoder preprocess", "what it gives (input_mask, input_type_ids, input_word_ids) are no features"),
        ("--encoder sentences --signature x", "its signatures are embed"),
        ("--encoder bert", "takes a dict of input_mask, input_type_ids, input_word_ids"),
        ("--encoder bert", "give --preprocessor"),
        ("--encoder cut", "cannot be loaded"),
        ("--encoder bert --preprocessor preprocess --output-key encoder_outputs", "there are pooled_output, sequence_output"),
        ("--encoder sentences --labels 1", "--labels 1"),
        ("--encoder sentences --output-key x", "one output alone"),
        ("--encoder sentences --top 5", "groups of weights"),
        ("--encoder sentences --drop-top 1", "--drop-top"),
        ("--encoder bert --preprocessor preprocess --output-key x", "there are pooled_output, sequence_output"),
        ("--encoder bert --preprocessor preprocess --drop-top 3", "2 layers to leave out"),
        ("--encoder sentences --head-epochs 0 --top-epochs 0", "--head-epochs 0"),
    ],
)
def test_what_cannot_be_is_one_line(place, here, flags, said):
    assert_one_line(here(place, "train", "transfer", "--data", "texts.csv", *flags.split(), *where(place)), said)
