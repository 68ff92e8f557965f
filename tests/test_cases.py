"""Small files that once went wrong, each with its command. They are not a part of the repository."""

import csv
import json
import re

import pytest

from tests.command_line import ROOT, assert_one_line, train_here, where

CASES = ROOT.parent / "shared" / "cases"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not CASES.is_dir(), reason="the files are not here"),
]
QUICK = ("--preset", "quick", "--model", "bag", "--epochs", "1")
SMALL_TAGGER = ("--preset", "quick", "--model", "lstm", "--epochs", "1", "--hidden-size", "8", "--no-baseline")


def classify(place, file, *flags, name="case", data=True):
    """Trains a classifier; returns the process."""
    given = ["--data", CASES / file] if data else []
    return train_here(place, "train", "classification", *given, *QUICK, "--name", name, *flags, *where(place))


def rows_of(path) -> list[dict]:
    return list(csv.DictReader(path.read_text().splitlines()))


def result_of(process) -> dict:
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A folder with the exported classifier `reviews`."""
    place = tmp_path_factory.mktemp("reviews")
    result_of(classify(place, "reviews.csv", "--json", name="reviews"))
    return place


def test_a_first_row_with_too_many_cells(tmp_path, run_main):
    doctor = run_main(tmp_path, "doctor", CASES / "first-row-too-long.csv").stdout
    assert "too many cells in the row 1" in doctor
    process = classify(tmp_path, "first-row-too-long.csv", "--json")
    rows = list(csv.reader((CASES / "first-row-too-long.csv").read_text().splitlines()))
    whole = sum(len(row) == len(rows[0]) for row in rows[1:])
    result = result_of(process)
    assert result["notes"]["left out, too many cells in the row"] == len(rows) - 1 - whole == 1
    assert sum(result["rows"].values()) <= whole


def test_quotes_that_are_not_closed_swallow_no_rows(tmp_path, run_main):
    assert "texts           60" in run_main(tmp_path, "doctor", CASES / "quotes-open.tsv").stdout
    assert sum(result_of(classify(tmp_path, "quotes-open.tsv", "--json"))["rows"].values()) == 60


def test_columns_with_the_names_of_outputs(reviews, tmp_path, run_main):
    flags = ["--input", CASES / "own-columns.csv", "--output", tmp_path / "out.csv", "--name", "reviews"]
    process = run_main(reviews, "predict", "classification", *flags, "--saved-models", reviews / "saved")
    assert process.returncode == 0 and "stay as they are" in process.stderr
    before = rows_of(CASES / "own-columns.csv")
    after = rows_of(tmp_path / "out.csv")
    assert [{name: row[name] for name in before[0]} for row in after] == before
    assert {"model_predicted", "model_score"} < set(after[0])


def test_an_empty_column_of_groups_is_as_none(tmp_path):
    process = classify(tmp_path, "url-empty.csv", "--json")
    result = result_of(process)
    assert sum("'url'" in line for line in process.stderr.splitlines()) == 1
    (tmp_path / "without.csv").write_text(
        "\n".join(line.rpartition(",")[0] for line in (CASES / "url-empty.csv").read_text().splitlines()) + "\n"
    )
    header = (CASES / "url-empty.csv").read_text().splitlines()[0]
    assert header.endswith(",url")
    without = classify(tmp_path, tmp_path / "without.csv", "--json", name="without")
    assert result_of(without)["rows"] == result["rows"]


def test_running_numbers_are_no_tokens(tmp_path):
    flags = ["--data", CASES / "tokens-from-zero.tsv", *SMALL_TAGGER, "--name", "case", *where(tmp_path)]
    process = train_here(tmp_path, "train", "tagging", *flags)
    assert process.returncode == 0, process.stderr
    (run,) = (tmp_path / "runs" / "tagging").iterdir()
    words = {word for path in (run / "tokenizer").iterdir() for word in re.findall(r"\w+", path.read_text().lower())}
    assert {"anna", "berg"} <= words and "0" not in words


def test_spans_of_characters_are_read(tmp_path):
    flags = ["--data", CASES / "spans-doccano.jsonl", *SMALL_TAGGER, "--name", "case", "--json", *where(tmp_path)]
    process = train_here(tmp_path, "train", "tagging", *flags)
    result = result_of(process)
    assert sum(result["rows"].values()) == 40
    assert {tag[2:] for tag in result["classes"]} - {""} == {"PER", "LOC"}


def test_tags_that_the_tagger_does_not_have(tmp_path, run_main):
    train = (CASES / "tokens-from-zero.tsv").read_text()
    (tmp_path / "two.tsv").write_text(
        "".join(line.partition("\t")[2] if "\t" in line else line for line in train.splitlines(True))
    )
    flags = ["--data", tmp_path / "two.tsv", *SMALL_TAGGER, "--name", "two", *where(tmp_path)]
    assert train_here(tmp_path, "train", "tagging", *flags).returncode == 0
    measured = ["--data", CASES / "unknown-tags.tsv", "--name", "two", "--saved-models", tmp_path / "saved", "--json"]
    process = run_main(tmp_path, "evaluate", "tagging", *measured)
    tags = [line.split("\t")[1] for line in (CASES / "unknown-tags.tsv").read_text().splitlines() if "\t" in line]
    unknown = json.loads(process.stdout)["unknown_tags"]
    assert unknown and all(tags.count(tag) == number for tag, number in unknown.items())


@pytest.mark.parametrize(
    ("command", "messages"),
    [
        ("train tagging --data tag-first.tsv", ["is the tag the first column?"]),
        ("train tagging --data ids-from-zero.conllu", ["ids-from-zero.conllu, line ", "id is 0"]),
        ("train tagging --data reversed-range.conllu", ["reversed-range.conllu, line "]),
        (
            "train classification --data one-text-per-label.csv --label-column price",
            ["the labels are 60 different numbers"],
        ),
        ("train classification --data label-column-of-zeros.csv --label-columns warm,cold,never", ["'never'"]),
    ],
)
def test_files_that_are_refused_in_one_line(tmp_path, run_main, command, messages):
    words = [CASES / word if "." in word else word for word in command.split()]
    process = run_main(tmp_path, *words, *where(tmp_path))
    assert_one_line(process, *messages)
    assert "train classification" not in process.stderr


def test_pairs_with_a_header(tmp_path):
    flags = [
        "--preset",
        "quick",
        "--model",
        "rnn",
        "--epochs",
        "1",
        "--hidden-size",
        "8",
        "--vocabulary-size",
        "100",
        "--json",
    ]
    process = train_here(tmp_path, "train", "nmt", "--data", CASES / "pairs-with-header.tsv", *flags, *where(tmp_path))
    result = result_of(process)
    assert result["pair"] == "en-de" and sum(result["rows"].values()) == 100


def test_bars_in_labels_leave_tables_whole(tmp_path):
    result_of(classify(tmp_path, "labels-with-pipes.csv", "--json"))
    (report,) = (tmp_path / "runs").rglob("report.md")
    table: list[str] = []
    for line in [*report.read_text().splitlines(), ""]:
        if line.startswith("|"):
            table.append(line.replace("\\|", ""))
        else:
            assert len({row.count("|") for row in table}) <= 1, table
            table = []


def test_labels_with_underscores_are_text(tmp_path):
    assert len(result_of(classify(tmp_path, "labels-underscore.csv", "--json"))["classes"]) == 2


def test_labels_that_are_nearly_equal_are_named_with_the_remedy(tmp_path, run_main):
    doctor = run_main(tmp_path, "doctor", CASES / "labels-near-equal.csv").stdout
    trained = classify(tmp_path, "labels-near-equal.csv")
    for said in (doctor, trained.stderr + trained.stdout):
        said = " ".join(said.split())
        for part in ("Refund", "REFUND", "Transfer", "transfer", "n/a", "--fold-labels", "--missing-labels"):
            assert part in said


def test_new_texts_of_other_words_are_not_learned_silently(reviews):
    process = classify(reviews, "other-words.csv", "--from", "reviews", name="other")
    assert_one_line(process, "word")
    assert not (reviews / "saved" / "other").exists()


def test_a_setting_without_effect_when_training_continues(reviews):
    flags = ["--data", CASES / "reviews.csv", "--from", "reviews", "--vocabulary-size", "500", *where(reviews)]
    assert_one_line(train_here(reviews, "train", "classification", *flags), "--vocabulary-size")


def test_a_cross_validation_is_compared(reviews, run_main):
    flags = ["train", "classification", "--data", CASES / "reviews.csv", *QUICK]
    folds = train_here(reviews, *flags, "--folds", "3", "--run", "folds", *where(reviews)[:2])
    assert folds.returncode == 0, folds.stderr
    (other,) = (path.parent for path in (reviews / "runs").rglob("best.npz"))
    process = run_main(
        reviews, "compare", "classification/folds", f"classification/{other.parent.name}", *where(reviews)[:2]
    )
    assert "Traceback" not in process.stderr
    assert process.returncode in (0, 2)
