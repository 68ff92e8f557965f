import pytest

from pipelines.data import sources
from pipelines.data.pair_options import PairOptions
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.translation.evaluate import Source, evaluate, format_table
from tests.pipelines.translation.stub import write_export


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a dog runs in the park\tA DOG RUNS IN THE PARK\na cat\t\none two three\tONE TWO THREE\n")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    for split, text in (("train", "a dog"), ("val", "a cat"), ("test", "the house")):
        (path / f"{split}.en").write_text(f"{text}\n")
        (path / f"{split}.es").write_text(f"{text.upper()}\n")
    return path


def test_the_translations_are_scored_and_written(tmp_path, pairs_file):
    output = tmp_path / "out.txt"
    measures = evaluate(write_export(tmp_path, "nmt-en-es"), Source(str(pairs_file)), output)
    assert measures["bleu"] == pytest.approx(100) and measures["rows"] == 2 and measures["model"] == "nmt-en-es/1"
    assert measures["left_out"] == {"one side is empty": 1} and not measures["trained_on"]
    assert output.read_text() == "A DOG RUNS IN THE PARK\nONE TWO THREE\n"
    table = format_table(measures)
    assert "nmt-en-es/1 on pairs: 2 pairs" in table and "tok:13a" in table and "left out, one side is empty: 1" in table
    assert "was trained on these pairs" not in table


@pytest.mark.parametrize(("split", "name"), [(None, "test"), ("val", "val")])
def test_of_a_folder_the_test_set_or_the_given_split_is_measured(tmp_path, folder, split, name):
    measures = evaluate(write_export(tmp_path, "nmt-en-es"), Source(str(folder), split=split))
    assert measures["split"] == name and measures["rows"] == 1
    assert f"on folder {name}: 1 pair\n" in format_table(measures)


def test_the_pairs_of_the_training_are_reported_as_such(tmp_path, pairs_file):
    fingerprint = sources.fingerprint(str(pairs_file), TASKS["nmt"])
    exported = write_export(tmp_path, "nmt-en-es", data={"name": "pairs", "fingerprint": fingerprint})
    measures = evaluate(exported, Source(str(pairs_file)))
    assert measures["trained_on"] and "The model was trained on these pairs" in format_table(measures)


def test_a_model_of_the_embedded_sample_is_measured_on_new_pairs_of_it(tmp_path):
    measures = evaluate(write_export(tmp_path, "nmt-en-es-sample", sample=True), Source())
    assert measures["rows"] == 500 and measures["data"] == "sample" and not measures["trained_on"]
    with pytest.raises(UserError, match="--split dev: the embedded sample has no splits"):
        evaluate(write_export(tmp_path, "nmt-sample", sample=True), Source(split="dev"))


def test_a_model_of_real_pairs_needs_data(tmp_path):
    with pytest.raises(
        UserError, match="nmt-en-es/1 was trained on real pairs: give pairs to measure it on with --data"
    ):
        evaluate(write_export(tmp_path, "nmt-en-es"), Source())


def test_an_existing_file_is_not_overwritten(tmp_path, pairs_file):
    with pytest.raises(UserError, match="exists already"):
        evaluate(write_export(tmp_path, "nmt-en-es"), Source(str(pairs_file)), pairs_file)


def test_the_columns_are_those_of_the_training_unless_they_are_given(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,c\na dog runs in the park,A DOG RUNS IN THE PARK,nothing\n")
    config = {"source_column": "a", "target_column": "b"}
    exported = write_export(tmp_path, "nmt-en-es", config=config)
    assert evaluate(exported, Source(str(path)))["bleu"] == pytest.approx(100)
    given = PairOptions(source_column="1", target_column="c")
    assert (
        evaluate(exported, Source(str(path), options=given))["bleu"]
        < 1
        == evaluate(exported, Source(str(path)))["rows"]
    )
    for language, text in (("en", "a dog"), ("es", "A DOG")):
        (tmp_path / f"train.{language}").write_text(f"{text}\n")
    files = (str(tmp_path / "train.en"), str(tmp_path / "train.es"))
    assert evaluate(exported, Source(*files))["rows"] == 1
