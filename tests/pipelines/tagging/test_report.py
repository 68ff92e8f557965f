import dataclasses

import pytest
from matplotlib.image import imread

from pipelines.support import charts, predictions
from pipelines.support.run_result import RunResult
from pipelines.tagging import metrics, report
from pipelines.tagging.measure import Details
from tests.pipelines.results import make_result

TOKENS = [["The", "dog", "barks", "."], ["It", "sees", "*the*", "cat", "."], ["A", "walk"]] * 8
EXPECTED = [["DET", "NOUN", "VERB", "PUNCT"], ["PRON", "VERB", "DET", "NOUN", "PUNCT"], ["DET", "NOUN"]] * 8
PREDICTED = [["DET", "NOUN", "NOUN", "PUNCT"], ["PRON", "VERB", "DET", "PROPN", "PUNCT"], ["DET", "VERB"]] * 8
PROBABILITIES = [[0.9, 0.8, 0.95, 1.0], [0.9, 0.9, 0.9, 0.999, 1.0], [0.9, 0.6]] * 8
DETAILS = Details(TOKENS, PREDICTED, EXPECTED, PROBABILITIES, 12345)


def with_baselines(scores: dict, spans: bool) -> dict:
    found = {name: scores[name] for name in scores if name not in ("tags", "confusion", "spans")}
    found |= {"accuracy_difference": 0.012, "accuracy_difference_interval": (-0.003, 0.027)}
    if spans:
        found |= {"span_f1_difference": 0.2, "span_f1_difference_interval": None}
    left_out = {"name": "hidden Markov model", "left_out": "the training sentences have more than 3 million tokens"}
    return scores | {"baselines": [{"name": "most frequent tag", **found}, left_out]}


def make(scores: dict, **changes) -> RunResult:
    epochs = [
        {"epoch": i, "loss": 0.5 / i, "val_loss": 0.6 / i, "val_accuracy": 0.5 + i / 10, "val_f1": 0.4} for i in (1, 2)
    ]
    values = {
        "task": "tagging",
        "config": {"model": "lstm", "data": "a.conllu"},
        "scores": scores,
        "epochs": epochs,
        "classes": ["DET", "NOUN", "PRON", "PUNCT", "SYM", "VERB"],
        "rows": {"train": 20, "valid": 24},
        "notes": {"tags that continue no span, changed to B-": 12},
        "window": {"max_tokens": 150, "max_bytes": 40_000},
    }
    return make_result(**values | changes)


@pytest.fixture
def result():
    known = {"The", "dog", "It", "sees", "A", "walk", "."}
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, known, False, ["SYM", "X|Y=_"])
    return make({"validation": with_baselines(scores, False) | {"loss": 0.25}})


@pytest.fixture
def without_pictures(monkeypatch):
    """The pictures are drawn but not written, which takes most of the time of a report."""
    monkeypatch.setattr(charts, "save", lambda figure, path: None)


def written(result, details, folder) -> str:
    report.write_report(result, details, folder)
    return (folder / "report.md").read_text()


def test_the_report_has_scores_baselines_tags_mistakes_and_data(result, tmp_path):
    text = written(result, DETAILS, tmp_path)
    kept = predictions.read(tmp_path)
    assert len(kept) == 24 and set(kept.predicted) == set(map("\t".join, PREDICTED))
    for part in (
        "# Tagging: lstm on a.conllu",
        "This model tags **72.7 % (",
        "most frequent tag, *DET*, would be correct for 27.3 %",
        "**24 validation sentences with 88 tokens are too few to judge a model**",
        "| tokens | 88 |",
        "| accuracy of unknown words | 33.3 % of 24 tokens |",
        "| loss | 0.250 |",
        "| most frequent tag | validation | 72.7 % (62.6 to 80.9) | +1.2 (-0.3 to +2.7) | 33.3 % | 0.780 |",
        "The baseline hidden Markov model is left out: the training sentences have more than 3 million tokens.",
        "| DET | 24 | 1.000 | 1.000 | 1.000 |",
        "| PROPN | 0 | 0.000 | - | - |",
        r"left out of the mean: PROPN, SYM, X\|Y=\_.",
        "| NOUN | PROPN | 8 | 33.3 % |",
        "The picture shows all tags.",
        "(the highest validation accuracy)",
        "![Loss and accuracy by epoch](curves.png)",
        "- 20 training sentences, 24 validation sentences; 12,345 training tokens; 6 tags.",
        "- Tags that continue no span, changed to B-: 12.",
        "at most 150 tokens at once",
        "--output FILE.conllu",
        "evaluate tagging",
    ):
        assert part in text, part
    assert "span" not in text.replace("continue no span", "")
    for name in ("confusion.png", "curves.png"):
        assert imread(tmp_path / name).shape[1] > 300


@pytest.mark.usefixtures("without_pictures")
def test_mistakes_are_shown_in_their_sentences(result, tmp_path):
    text = written(result, DETAILS, tmp_path)
    assert (
        r"- predicted *PROPN* with 99.9 %, true tag *NOUN*: “It sees \*the\* **cat** .”" in text
        and "- predicted *NOUN* with 95.0 %, true tag *VERB*: “The dog **barks** .”" in text
    )


def test_the_mistake_with_the_highest_probability_is_first_and_each_sentence_has_one():
    details = Details([["a", "b"], ["c"]], [["X", "X"], ["X"]], [["Y", "Y"], ["Y"]], [[0.5, 0.7], [0.9]], 0)
    assert report.worst_mistakes(details) == [
        {"sentence": 1, "position": 0, "probability": 0.9},
        {"sentence": 0, "position": 1, "probability": 0.7},
    ]


@pytest.mark.usefixtures("without_pictures")
def test_of_a_long_sentence_the_words_around_the_mistake_are_shown(result, tmp_path):
    words = [f"w{i}" for i in range(50)]
    right = [["A"] * 50]
    details = Details([words], [["A"] * 30 + ["B"] + ["A"] * 19], right, [[0.9] * 50], 0)
    text = written(result, details, tmp_path)
    assert f"“... {' '.join(words[18:30])} **w30** {' '.join(words[31:43])} ...”" in text


@pytest.mark.usefixtures("without_pictures")
def test_without_mistakes_there_is_no_section_on_them(tmp_path):
    scores = metrics.score(TOKENS, EXPECTED, EXPECTED, set(), False)
    details = DETAILS._replace(predicted=EXPECTED)
    text = written(make({"validation": scores}), details, tmp_path)
    assert "Mistakes" not in text and "of all mistakes" not in text
    assert "## Baselines" not in text and "| loss |" not in text


@pytest.mark.usefixtures("without_pictures")
def test_tags_that_mark_spans_have_scores_of_spans(tmp_path):
    tokens = [["Ann", "sees", "New", "York"], ["so", "it", "is", "."]] * 300
    expected = [["B-PER", "O", "B-LOC", "I-LOC"], ["O"] * 4] * 300
    predicted = [["B-PER", "O", "B-LOC", "O"], ["O"] * 4] * 300
    scores = metrics.score(tokens, predicted, expected, {"Ann"}, True)
    scores = {"validation": with_baselines(scores, True), "test": with_baselines(scores, True)}
    probabilities = [[0.9] * 4] * 600
    text = written(make(scores), Details(tokens, predicted, expected, probabilities, 12345), tmp_path)
    for part in (
        "finds the spans of 600 validation sentences with an F1 of **0.500 (0.460 to 0.540)**",
        "| | validation | test |",
        "| precision of spans | 0.500 | 0.500 |",
        "| baseline | split | F1 of spans | better by, points | accuracy |",
        "| most frequent tag | test | 0.500 (0.460 to 0.540) | +20.0 | 87.5 % (",
        "| PER | 300 | 1.000 | 1.000 | 1.000 |",
        "| I-LOC | 300 | - | 0.000 | 0.000 |",
        "(the highest validation F1 of spans)",
    ):
        assert part in text, part
    assert "too few" not in text
    summary = report.summarize(make(scores)).splitlines()
    assert summary[1].startswith(
        "  validation    2,400 tokens   F1 of spans 0.500 (0.460 to 0.540)   accuracy 87.5 % ("
    )
    assert summary[2] == "  baseline    most frequent tag: F1 of spans 0.500 (0.460 to 0.540); this model +20.0 points"


@pytest.mark.usefixtures("without_pictures")
def test_the_share_of_tokens_that_the_tokenizer_gives(result, tmp_path):
    details = DETAILS._replace(tokenizers={"english": 0.9812, "unicode": 0.9, "whitespace": 0.8}, tokenizer="english")
    text = written(result, details, tmp_path)
    assert "with `--tokenizer english`, which gives 98.1 % of the training tokens" in text
    assert "(unicode 90.0 %, whitespace 80.0 %)" in text
    assert "--tokenizer" not in written(result, DETAILS, tmp_path)


@pytest.mark.usefixtures("without_pictures")
def test_hundreds_of_tags_are_not_all_listed(tmp_path):
    tags = [f"T{i:03}" for i in range(100)]
    scores = metrics.score([tags], [tags], [tags], set(), False, [f"U{i}" for i in range(30)])
    details = Details([tags], [tags], [tags], [[1.0] * 100], 0)
    text = written(make({"validation": scores}), details, tmp_path)
    assert "| T059 | 1 | 1.000 |" in text and "| T060 |" not in text
    assert "40 rarer ones are in `result.json`." in text
    assert "U0, U1, U10, U11, U12, U13, U14, U15, U16, U17 and 20 more." in text
    assert "The picture shows the 20 of 100 tags that are confused most often." in text


def test_without_any_baseline_there_is_no_table_of_them(result, without_pictures, tmp_path):
    valid = result.scores["validation"]
    left_out = [{"name": each["name"], "left_out": "a reason"} for each in valid["baselines"]]
    text = written(make({"validation": valid | {"baselines": left_out}}), DETAILS, tmp_path)
    assert "| baseline |" not in text and "may be chance" not in text
    assert "\n\nThe baseline most frequent tag is left out: a reason.\n\nThe baseline hidden Markov" in text


def test_the_summary_names_scores_baselines_report_and_model(result):
    lines = report.summarize(result).splitlines()
    assert lines[0] == "tagging, lstm, a.conllu"
    assert lines[1] == "  validation       88 tokens   accuracy 72.7 % (62.6 to 80.9)   unknown words 33.3 %"
    assert lines[2] == (
        "  baseline    most frequent tag: accuracy 72.7 % (62.6 to 80.9); this model +1.2 (-0.3 to +2.7) points"
    )
    assert lines[3].endswith("hidden Markov model: left out, the training sentences have more than 3 million tokens")
    assert lines[-1].startswith('  try it      python main.py predict tagging "TEXT"')
    example = dataclasses.replace(result, example='"Run."')
    assert 'predict tagging "Run."' in report.summarize(example)


def test_scores_of_an_evaluation_as_text():
    scores = metrics.score(TOKENS, PREDICTED, EXPECTED, None, False)
    about = {"model": "tagging/1", "data": "a.conllu", "split": "test", "trained_on": False, "notes": {"repaired": 3}}
    lines = report.format_scores(about | scores).splitlines()
    assert lines[0] == "tagging/1 on a.conllu (test): 24 sentences, 88 tokens"
    assert lines[2].split()[:2] == ["accuracy", "0.7273"]
    assert [line.split() for line in lines if "PROPN" in line] == [["PROPN", "0", "0.0000", "-", "-"]]
    assert lines[-1] == "  repaired: 3"
    assert not any("span" in line or "unknown" in line for line in lines)


def test_an_evaluation_on_training_sentences_is_said_to_be_one():
    scores = metrics.score([["a"]], [["O"]], [["O"]], {"b"}, True)
    about = {"model": "tagging/1", "data": "a.conllu", "split": None, "trained_on": True, "notes": {}}
    text = report.format_scores(about | scores)
    assert "the model was trained on these sentences" in text
    assert "F1 of spans                 -\n" in text
    assert "accuracy of unknown words   1.0000   (1 token)" in text


def test_a_tag_with_a_line_separator_keeps_its_row_of_a_table_together():
    scores = {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 2}
    lines = report._table("tag", "tokens", {"a\u2028b|c": scores})
    assert [len(line.replace("\\|", "").split("|")) for line in "\n".join(lines).splitlines()[:3]] == [7, 7, 7]
