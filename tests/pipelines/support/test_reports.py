from pathlib import Path

import pytest

from pipelines.support import charts, reports
from tests.pipelines.results import make_result


def test_the_summary_names_scores_report_export_and_a_command():
    result = make_result()
    text = reports.summary(result, "classification, bag, reviews.csv", ["  validation 0.7"], "python main.py predict")
    lines = text.splitlines()
    assert lines[:2] == ["classification, bag, reviews.csv", "  validation 0.7"]
    assert lines[2] == "  note        the validation loss still fell in the last epoch: --epochs 4 may help"
    assert lines[3] == f"  report      {result.report}"
    assert lines[4] == f"  model       {result.export}"
    assert lines[5] == "  try it      python main.py predict"


@pytest.mark.parametrize(
    ("losses", "best_epoch", "epochs", "falls"),
    [
        ([1.0, 0.9], 2, 2, True),
        ([1.0, 0.995], 2, 2, False),  # by less than one percent
        ([1.0, 0.9], 2, 3, False),  # the training stopped earlier
        ([0.8, 0.9], 1, 2, False),
        ([0.9], 1, 1, False),  # a solver
    ],
)
def test_more_epochs_are_recommended_while_the_loss_falls(losses, best_epoch, epochs, falls):
    rows = [{"epoch": i + 1, "loss": 1.0, "val_loss": loss} for i, loss in enumerate(losses)]
    result = make_result(epochs=rows, best_epoch=best_epoch, config=make_result().config | {"epochs": epochs})
    assert bool(reports.still_falling(result)) == falls
    assert any("still fell" in line for line in reports.header_lines(result, "title", "result")) == falls


def test_a_model_that_is_not_exported_says_how_to_export_it():
    result = make_result(export="", model="", below_baseline=["words"])
    text = reports.summary(result, "title", [], "command")
    assert "not exported" in text and "--force" in text and "try it" not in text
    assert "--force" in reports.use_lines(result, ["a command"])[2]
    assert "estimator" in reports.use_lines(make_result(export="", model=""), ["a command"])[2]


def test_a_sample_is_called_a_sample():
    sample = make_result(sample=True)
    assert reports.SAMPLE_WARNING in reports.summary(sample, "title", [], "command", product="encoder")
    assert any(reports.SAMPLE_WARNING in line for line in reports.header_lines(sample, "title", "result"))
    assert reports.data_name(sample) == "the embedded sample"
    assert not any(reports.SAMPLE_WARNING in line for line in reports.header_lines(make_result(), "title", "result"))
    assert reports.data_name(make_result()) == "reviews.csv"


def test_the_score_table_has_a_column_per_split():
    lines = reports.score_table(make_result(), [("accuracy", "{accuracy:.3f}"), ("rows", "{rows:,}")])
    assert lines == [
        "## Scores",
        "",
        "| | validation | test |",
        "|---|---:|---:|",
        "| accuracy | 0.700 | 0.650 |",
        "| rows | 100 | 200 |",
    ]


def test_a_task_without_a_report_of_its_own_has_one(tmp_path):
    result = make_result(rows={"train": 90, "valid": 10}, notes={"empty": 3})
    reports.write_plain(result, tmp_path)
    report = (tmp_path / "report.md").read_text()
    for part in (
        "# classification: bag on reviews.csv",
        "| accuracy | 0.7 | 0.65 |",
        "- Rows: train 90, valid 10.",
        "Empty: 3",
    ):
        assert part in report
    assert (tmp_path / "curves.png").is_file() and "predict classification" in report
    lines = reports.summarize_plain(result).splitlines()
    assert lines[:2] == ["classification, bag, reviews.csv", "  validation  rows 100   accuracy 0.7"]


def test_the_learning_section_says_which_weights_were_kept_and_why():
    text = "\n".join(reports.learning_lines(make_result(), "the lowest validation loss", "Loss by epoch"))
    assert "2 epochs in 2 min 5 s. The weights of epoch 2 were kept (the lowest validation loss)." in text
    assert "![Loss by epoch](curves.png)" in text


def test_the_use_section_has_the_export_and_the_commands():
    text = "\n".join(reports.use_lines(make_result(), ["python main.py predict classification", "second"]))
    assert "`/home/me/saved_models/classification/3`: a SavedModel that takes strings" in text
    assert "```\npython main.py predict classification\nsecond\n```" in text
    assert ": an encoder." in "\n".join(reports.use_lines(make_result(), [], "an encoder"))


def test_notes_are_sentences():
    result = make_result(notes={"empty texts": 1200, "seen in training": 3})
    assert reports.note_lines(result) == ["- Empty texts: 1,200.", "- Seen in training: 3."]


def test_the_weights_are_listed_with_their_shapes_and_their_sum():
    weights = {"tokens/embeddings": [1000, 64], "recurrent_1/cell/bias": [128], "scale": []}
    lines = reports.weight_lines(make_result(weights=weights))
    assert "| tokens/embeddings | 1,000 x 64 | 64,000 |" in lines and "| scale |  | 1 |" in lines
    assert lines[-2] == "| all | | 64,129 |"


def test_many_weights_are_summed_by_layer():
    weights = {f"{layer}/kernel_{i}": [2, 3] for layer in ("encoder", "head") for i in range(40)}
    lines = reports.weight_lines(make_result(weights=weights))
    assert "| encoder | 40 | 240 |" in lines and lines[-2] == "| all | | 480 |"
    assert reports.weight_lines(make_result()) == []


def test_the_record_has_what_is_needed_to_repeat_the_run():
    text = "\n".join(reports.record_lines(make_result()))
    for part in (
        "Started 2026-01-02T03:04:05+00:00 on Linux x86_64, training in float32.",
        "python 3.11.9, tensorflow 2.21.0",
        "Data: reviews, fingerprint `0123abcd`",
        "56,789 parameters, 1,234 tokens in the vocabulary.",
        "model bag, epochs 2.",
    ):
        assert part in text
    assert "dropout" not in text
    assert "56,789 parameters." in "\n".join(reports.record_lines(make_result(vocabulary_size=None)))


def test_the_report_is_a_file(tmp_path):
    reports.write(tmp_path, ["# Title", "", "text"])
    assert (tmp_path / "report.md").read_text() == "# Title\n\ntext\n"
    assert "<h1>Title</h1>\n<p>text</p>" in (tmp_path / "report.html").read_text()


def test_a_run_of_an_earlier_version_has_no_page(tmp_path):
    reports.write(tmp_path, ["# Title"])
    assert reports.page_of(tmp_path / "report.md") == tmp_path / "report.html"
    (tmp_path / "report.html").unlink()
    assert reports.page_of(tmp_path / "report.md") == tmp_path / "report.md"


def test_the_summary_in_words_comes_first():
    compared = [
        {"name": "words", "difference_interval": [0.01, 0.03]},
        {"name": "pairs", "difference_interval": [0.02, 0.03]},
        {"features": "characters", "difference_interval": [-0.01, 0.03]},
        {"name": "linear", "left_out": "too large"},
    ]
    scores = {"validation": {"rows": 100, "accuracy": 0.7, "baselines": compared}}
    result = make_result(scores=scores, best_epoch=1)
    lines = reports.header_lines(result, "A <b> title", "89 % are right.", ["Add texts."])
    assert lines == [
        "# A \\<b\\> title",
        "",
        "89 % are right.",
        "",
        "Compared with the baselines, it is better than *words* and *pairs*, beyond chance; about as good as "
        "*characters*.",
        "",
        "What to do next:",
        "",
        "- Add texts.",
        "- Try the model on texts that it has not seen: the commands are under “Use”.",
        "",
    ]
    compared[0]["difference_interval"] = [-0.3, -0.1]
    lines = reports.header_lines(result, "title", "result")
    assert any("worse than *words*, beyond chance" in line for line in lines)
    assert "- Another model, more epochs or `tune` may be better." in lines
    assert "- Train on data of your own: `python main.py train classification --data FILE`." in reports.header_lines(
        make_result(sample=True), "title", "result"
    )
    encoded = make_result(sample=True, config={**result.config, "encoder": "an encoder/1"})
    with_encoder = "train classification --encoder 'an encoder/1' --data FILE`."
    assert any(with_encoder in line for line in reports.header_lines(encoded, "title", "result"))


def test_the_record_has_the_command():
    assert "python main.py train classification" in reports.record_lines(
        make_result(command="python main.py train classification")
    )


def test_curves_have_a_panel_per_measure_and_mark_the_kept_epoch(tmp_path):
    figure = reports.curves(make_result(), {"loss": "loss, nats", "accuracy": "accuracy"})
    loss, accuracy = figure.axes
    assert loss.get_title() == "loss, nats" and accuracy.get_title() == "accuracy"
    labels = [[line.get_label() for line in axes.lines] for axes in (loss, accuracy)]
    assert labels == [["training", "validation", "kept"], ["validation", "kept"]]  # no training accuracy is known
    assert loss.lines[1].get_ydata().tolist() == [0.8, 0.6]
    assert list(loss.lines[2].get_xdata()) == [2, 2]
    assert loss.get_ylim()[0] == accuracy.get_ylim()[0] == 0
    charts.save(figure, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, ""),
        ({"model": "films/3"}, " --name films"),
        ({"export": "/elsewhere/classification/3"}, " --saved-models /elsewhere"),
        ({"model": "films/3", "export": "/elsewhere/films/3"}, " --name films --saved-models /elsewhere"),
    ],
)
def test_model_flags_are_those_that_find_the_export(changes, flags):
    default = Path(reports.__file__).parents[2] / "saved_models" / "classification" / "3"
    assert reports.model_flags(make_result(**{"export": str(default)} | changes)) == flags


@pytest.mark.parametrize(
    ("formatted", "expected"),
    [
        (reports.percent(0.1234), "12.3 %"),
        (reports.number(0.12345), "0.123"),
        (reports.number(None), "-"),
        (reports.duration(59.4), "59 s"),
        (reports.duration(59.6), "1 min 0 s"),
        (reports.duration(125), "2 min 5 s"),
    ],
)
def test_numbers_are_formatted(formatted, expected):
    assert formatted == expected
