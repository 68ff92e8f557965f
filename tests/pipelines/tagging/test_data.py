import pytest

from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from pipelines.tagging import data, survey
from pipelines.tagging.config import TaggingConfig
from tests.pipelines.small_runs import write_run


def write(path, sentences):
    path.write_text("\n\n".join("\n".join(f"{token}\t{tag}" for token, tag in rows) for rows in sentences) + "\n")
    return str(path)


SENTENCES = [[(f"w{i}", "X"), ("v", "Y")] for i in range(20)]


def test_validation_is_split_off(tmp_path):
    splits = data.load(TaggingConfig(data=write(tmp_path / "a.tsv", SENTENCES), valid_fraction=0.2).resolve())
    assert (len(splits.train), len(splits.valid), splits.test) == (16, 4, None)
    assert splits.tags == ("X", "Y") and not splits.spans


def test_own_validation_sentences(tmp_path):
    train, valid = write(tmp_path / "a.tsv", SENTENCES[:15]), write(tmp_path / "b.tsv", SENTENCES[15:])
    splits = data.load(TaggingConfig(data=train, valid=valid).resolve())
    assert (len(splits.train), len(splits.valid)) == (15, 5)


def test_spans_are_recognized(tmp_path):
    sentences = [[(f"w{i}", "B-PER"), ("v", "I-PER"), ("z", "O")] for i in range(20)]
    splits = data.load(TaggingConfig(data=write(tmp_path / "a.tsv", sentences)).resolve())
    assert splits.spans and splits.tags == ("B-PER", "I-PER", "O")


def test_the_sample_has_more_than_one_tag():
    splits = data.load(TaggingConfig().resolve())
    assert len(splits.train) > len(splits.valid) > 100 and len(splits.tags) > 10


def test_a_single_tag_is_refused(tmp_path):
    one = write(tmp_path / "a.tsv", [[(token, "X") for token, _ in rows] for rows in SENTENCES])
    with pytest.raises(UserError, match="all tokens have the tag 'X'"):
        data.load(TaggingConfig(data=one).resolve())


@pytest.mark.parametrize("load", [data.load, survey.survey])
def test_a_file_with_the_tag_first_is_refused(tmp_path, load):
    swapped = [[(tag, f"{token}{i}") for token, tag in rows] for i, rows in enumerate(SENTENCES)]
    path = write(tmp_path / "a.tsv", swapped)
    with pytest.raises(
        UserError, match="a.tsv: .* different tags, but 2 different tokens: is the tag the first column"
    ):
        load(TaggingConfig(data=path).resolve())
    config = TaggingConfig(data=path, token_column="2", column="1", valid_fraction=0.2).resolve()
    assert load(config).tags == ("X", "Y")


def test_the_tags_of_the_run_to_continue_from_come_first(tmp_path):
    folder = write_run(tmp_path, "first", task="tagging", config={})
    write_record(folder / "result.json", read_record(folder / "result.json", "") | {"classes": ["Z", "X"]})
    start = str(folder / "checkpoints" / "best.npz")
    splits = data.load(TaggingConfig(data=write(tmp_path / "a.tsv", SENTENCES), start_weights=start).resolve())
    assert splits.tags == ("Z", "X", "Y")
