"""A tagger whose words have the vectors of a checkpoint of Hugging Face."""

import json

import pytest

from tests.command_line import train_here, where
from tests.pipelines.pretrained.checkpoints import write_bert

pytestmark = pytest.mark.long

SMALL = ["--model", "lstm", "--hidden-size", "8", "--embedding-size", "4", "--character-size", "4", "--epochs", "1"]


def test_a_tagger_reads_the_vectors_of_a_checkpoint(tmp_path, run_main):
    write_bert(tmp_path / "bert")
    sentences = ["the\tD\ncat\tN\nsat\tV\n.\tP\n", "a\tD\nbig\tA\ndog\tN\n"]
    (tmp_path / "tags.tsv").write_text("\n".join(f"x{i}\tX\n{sentences[i % 2]}" for i in range(40)))
    flags = ["--data", "tags.tsv", "--encoder", "bert", "--preset", "quick", "--no-baseline", "--json"]
    process = train_here(tmp_path, "train", "tagging", *flags, *SMALL, *where(tmp_path))
    assert process.returncode == 0, process.stderr
    card = json.loads((tmp_path / "saved" / "tags" / "1" / "model_card.json").read_text())
    assert card["config"]["encoder"] == "bert"
    flags = ["--name", "tags", "--saved-models", tmp_path / "saved", "--json"]
    process = run_main(tmp_path, "predict", "tagging", "the cat sat .", *flags)
    (found,) = json.loads(process.stdout)["predictions"]
    assert found["tokens"] == ["the", "cat", "sat", "."] and len(found["tags"]) == 4
