"""`train transfer` with a checkpoint of Hugging Face: its folder, and hf://."""

import json

import pytest

from tests.command_line import assert_one_line, main, train_here, where
from tests.pipelines.pretrained import hub_server
from tests.pipelines.pretrained.checkpoints import write_bert

pytestmark = pytest.mark.long

FEW = ("--head-epochs", "1", "--top-epochs", "0")
ENOUGH = ("--head-epochs", "6", "--top-epochs", "2", "--head-learning-rate", "0.05", "--learning-rate", "0.005")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    write_bert(folder / "bert")
    rows = [f"the {word} sat on a mat {i},{word}" for i in range(60) for word in ("cat", "dog")]
    (folder / "texts.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    return folder


def command(place, encoder, name, *flags):
    named = ["--encoder", encoder, "--data", "texts.csv", "--name", name, "--run", name]
    return ["train", "transfer", *named, "--batch-size", "10", "--dropout", "0", *flags, "--json", *where(place)]


def result_of(process) -> dict:
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_a_repository_of_the_hub(place, run_main):
    """A process of its own, which reads the variables of huggingface_hub."""
    with hub_server.serve(place / "bert") as hub:
        environment = {"HF_ENDPOINT": hub.address, "HF_HOME": str(place / "home"), "HF_HUB_DISABLE_XET": "1"}
        arguments = command(place, "hf://org/tiny", "hub", *ENOUGH, "--layer-decay", "1")
        result = result_of(main(place, *arguments, **environment))
        assert result["scores"]["validation"]["accuracy"] > 0.9
        assert "model.safetensors" in hub.downloaded()
    card = json.loads((place / "saved" / "hub" / "1" / "model_card.json").read_text())
    assert card["config"]["encoder"] == "hf://org/tiny"
    process = run_main(place, "predict", "transfer", "the cat", "the dog", "--name", "hub", *where(place)[2:], "--json")
    assert [each["label"] for each in json.loads(process.stdout)["predictions"]] == ["cat", "dog"]


@pytest.mark.parametrize("recipe", ["frozen", "linear"])
def test_a_solved_head_reads_each_text_once_and_is_fitted_to_all_in_the_end(place, recipe):
    result = result_of(train_here(place, *command(place, place / "bert", recipe, "--recipe", recipe)))
    assert result["refitted_rows"] == result["rows"]["train"] + result["rows"]["valid"] == 120
    assert [row["trainable_weights"] for row in result["epochs"]] == [8 * 2 + 2]
    assert len(list((place / "runs" / "transfer" / recipe).glob("vectors-*.npy"))) == 2  # of training, of validation
    assert result["scores"]["validation"]["accuracy"] > 0.9 or recipe == "frozen"  # the encoder knows nothing


def test_what_the_network_and_the_n_grams_give_is_in_result_and_report(place):
    own = ("--solve-head", "--ngrams", "--head-epochs", "0", "--top-epochs", "1")
    result = result_of(train_here(place, *command(place, place / "bert", "both", *own)))
    members = result["scores"]["validation"]["members"]
    assert [each["name"] for each in members] == ["network", "n-grams"]
    assert sum(each["share"] for each in members) == pytest.approx(1)
    assert "| n-grams | " in (place / "runs" / "transfer" / "both" / "report.md").read_text()


def test_layers_can_be_left_out(place):
    result_of(train_here(place, *command(place, place / "bert", "lower", "--drop-layers", "1", *FEW)))


def test_a_checkpoint_that_has_changed_is_noticed(place, run_main, without_verification):
    write_bert(place / "changing")
    arguments = command(place, "changing", "changing", *FEW)
    result_of(run_main(place, *arguments))
    config = place / "changing" / "config.json"
    config.write_text(config.read_text() + "\n")
    assert_one_line(run_main(place, *arguments), "another --encoder: it has changed since")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--encoder", "hf://tiny"], "--encoder hf://tiny: write hf://ORG/NAME"),
        (["--encoder", "bert", "--preprocessor", "hf://tiny"], "--preprocessor hf://tiny: write hf://ORG/NAME"),
        (["--encoder", "bert", "--preprocessor", "nowhere"], "--preprocessor nowhere: there is no such folder"),
    ],
)
def test_a_mistake_is_one_line(place, run_main, flags, message):
    assert_one_line(run_main(place, "train", "transfer", "--data", "texts.csv", *flags, *where(place)), message)
