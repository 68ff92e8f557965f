"""`train`, `evaluate` and `predict` of `transfer` as users call them."""

import json
import shutil

import numpy as np
import pytest

from tests.command_line import assert_one_line, train_here, where
from tests.layers import hub_modules
from tests.pipelines.report_pages import text_of_page
from tests.serving.comparing import served_as_in_process

pytestmark = pytest.mark.slow

SMALL = (
    "--head-epochs 1 --top-epochs 1 --unfreeze-groups 2 --all-epochs 4 --learning-rate 0.05 --layer-decay 1 "
    "--head-learning-rate 0.05 --max-labels 300 --batch-size 10 --dropout 0"
)


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
    words = ["a", "the", "film", "story", "was"]
    lines = [
        f"{' '.join(rng.choice(words, 6))} {word} {' '.join(rng.choice(words, 3))} {i},{label}"
        for i, (word, label) in enumerate(rows)
    ]
    (folder / "texts.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(place):
    """From a folder of the encoder that is gone afterwards."""
    shutil.copytree(place / "bert", place / "encoder")
    command = [
        "train",
        "transfer",
        "--encoder",
        place / "encoder",
        "--preprocessor",
        place / "preprocess",
        "--data",
        "texts.csv",
    ]
    process = train_here(place, *command, *SMALL.split(), "--json", *where(place))
    assert process.returncode == 0, process.stderr
    shutil.rmtree(place / "encoder")
    return process


@pytest.mark.long
def test_stages_train_their_weights_and_are_reported(trained, place):
    result = json.loads(trained.stdout)
    assert "Traceback" not in trained.stderr and "Warning" not in trained.stderr
    learning = [row["trainable_weights"] for row in result["epochs"]]
    head = hub_modules.SIZE * 2 + 2
    block = hub_modules.SIZE**2 + hub_modules.SIZE
    top = hub_modules.SIZE**2 + block  # the pooler and the uppermost layer
    everything = head + top + 2 * block + len(hub_modules.WORDS) * hub_modules.SIZE
    assert learning == [head, head + top, *[everything] * 4]
    assert result["scores"]["validation"]["accuracy"] > 0.9 and result["rows"]["train"] == 300
    (folder,) = (place / "runs" / "transfer").iterdir()
    report = (folder / "report.md").read_text()
    assert "| top 2 | 1 |" in report and "| all | 4 |" in report
    assert "Stages" in text_of_page(folder)
    card = json.loads((place / "saved" / "transfer" / "1" / "model_card.json").read_text())
    assert str(place) not in json.dumps(card)


@pytest.mark.long
def test_predict_and_evaluate(trained, place, run_main):
    flags = ["--saved-models", place / "saved", "--json"]
    process = run_main(place, "predict", "transfer", "a gripping film", "the dull story", *flags)
    assert [p["label"] for p in json.loads(process.stdout)["predictions"]] == ["good", "bad"]
    process = run_main(place, "evaluate", "transfer", "--data", "texts.csv", *flags)
    assert json.loads(process.stdout)["accuracy"] > 0.9


@pytest.mark.long
def test_a_server_returns_what_the_model_returns(trained, place, tmp_path):
    with served_as_in_process(place / "saved", "transfer", tmp_path):
        pass


@pytest.mark.long
def test_the_top_layers_can_be_left_out(place, run_main, without_verification):
    command = [
        "train",
        "transfer",
        "--encoder",
        place / "bert",
        "--preprocessor",
        place / "preprocess",
        "--data",
        "texts.csv",
    ]
    process = run_main(place, *command, *SMALL.split(), "--drop-layers", 2, "--name", "lower", "--json", *where(place))
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["scores"]["validation"]["accuracy"] > 0.7


@pytest.mark.long
def test_a_changed_encoder_is_noticed_and_a_bad_one_leaves_no_copy(place, run_main, without_verification):
    command = [
        "train",
        "transfer",
        "--encoder",
        place / "changing",
        "--data",
        "texts.csv",
        "--name",
        "c",
        "--json",
        *where(place),
    ]
    flags = ["--max-labels", "20", "--head-epochs", "1", "--top-epochs", "0"]
    shutil.copytree(place / "images", place / "changing")
    assert_one_line(run_main(place, *command, *flags), "takes images")
    shutil.rmtree(place / "changing")
    shutil.copytree(place / "sentences", place / "changing")
    assert run_main(place, *command, *flags).returncode == 0  # what was refused has left no run
    shutil.rmtree(place / "changing")
    shutil.copytree(place / "images", place / "changing")
    assert_one_line(run_main(place, *command, *flags), "another --encoder")
    shutil.rmtree(place / "changing")
    assert run_main(place, *command, *flags).returncode == 0  # gone, but the run has its copy


@pytest.mark.long
def test_texts_are_cut_in_training_as_in_the_export(place, run_main, without_verification):
    """The word that tells the labels apart comes after the bytes that are read."""
    rows = "".join(
        f"{'the film was a story ' * 6} {word} {i},{word}\n" for i in range(100) for word in ("gripping", "dull")
    )
    (place / "long.csv").write_text("text,label\n" + rows)
    flags = [
        "--max-bytes",
        "100",
        "--head-epochs",
        "2",
        "--top-epochs",
        "0",
        "--head-learning-rate",
        "0.1",
        "--name",
        "long",
        "--json",
    ]
    process = run_main(
        place, "train", "transfer", "--encoder", place / "sentences", "--data", "long.csv", *flags, *where(place)
    )
    result = json.loads(process.stdout)
    assert result["epochs"][-1]["val_accuracy"] < 0.7 and result["epochs"][-1]["accuracy"] < 0.7


@pytest.mark.long
def test_the_defaults_suit_few_texts_and_an_encoder_of_one_group(place, run_main, without_verification):
    command = [
        "train",
        "transfer",
        "--encoder",
        place / "sentences",
        "--data",
        "texts.csv",
        "--name",
        "few",
        "--json",
        *where(place),
    ]
    process = run_main(place, *command)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert (
        len(result["epochs"]) == result["config"]["head_epochs"] + result["config"]["top_epochs"]
        and result["config"]["unfreeze_groups"] == 1
    )
    assert run_main(place, *command).returncode == 0  # the same command finds its run


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("", "--encoder is missing"),
        ("--encoder sentences --drop-layers 1 --output-key x", "--output-key has no effect"),
        ("--encoder nowhere", "no such folder"),
        ("--encoder https://localhost:1/encoder", "download it elsewhere"),
        ("--encoder images", "takes images"),
        ("--encoder preprocess", "its outputs (input_mask, input_type_ids, input_word_ids) are no features"),
        ("--encoder sentences --signature x", "its signatures are embed"),
        ("--encoder bert", "takes a dict of input_mask, input_type_ids, input_word_ids"),
        ("--encoder bert", "give --preprocessor"),
        ("--encoder cut", "cannot be loaded"),
        (
            "--encoder bert --preprocessor preprocess --output-key encoder_outputs",
            "only pooled_output, sequence_output",
        ),
        ("--encoder sentences --max-labels 1", "--max-labels 1"),
        ("--encoder sentences --output-key x", "only one output"),
        ("--encoder sentences --unfreeze-groups 5", "groups of weights"),
        ("--encoder sentences --drop-layers 1", "--drop-layers"),
        ("--encoder bert --preprocessor preprocess --output-key x", "only pooled_output, sequence_output"),
        ("--encoder bert --preprocessor preprocess --drop-layers 3", "at most 2 layers can be left out"),
        ("--encoder sentences --head-epochs 0 --top-epochs 0", "--head-epochs 0"),
    ],
)
def test_a_mistake_is_one_line(place, run_main, flags, message):
    assert_one_line(run_main(place, "train", "transfer", "--data", "texts.csv", *flags.split(), *where(place)), message)
