import dataclasses

from pipelines.encoder import report
from pipelines.encoder.config import EncoderConfig
from pipelines.support.run_result import RunResult
from tests.pipelines.report_pages import text_of_page


def make_result(tmp_path, **flags):
    return RunResult.of(
        schema=4,
        run="0123456789abcdef",
        task="encoder",
        config=dataclasses.asdict(EncoderConfig(data="reviews.csv", **flags).resolve()),
        data={"name": "reviews", "fingerprint": "abc"},
        modules={},
        versions={"keras": "3"},
        machine="Linux",
        started="2026",
        sample=False,
        vocabulary_size=60,
        parameters=1000,
        precision="float32",
        epochs=[{"epoch": 1, "loss": 2.0, "val_loss": 1.5}],
        epoch_seconds=[1.0],
        best_epoch=1,
        training_seconds=1.0,
        scores={"validation": {"tokens": 1200, "loss": 1.5, "perplexity": 4.48}},
        rows={"train": 900, "valid": 100},
        unit="texts",
        notes={"left out, empty text": 3},
        export=str(tmp_path / "saved" / "encoder" / "1"),
        model="encoder/1",
        report=str(tmp_path / "report.md"),
    )


def test_the_summary_has_the_scores_and_the_command_that_fine_tunes(tmp_path):
    text = report.summarize(make_result(tmp_path))
    assert "encoder, causal lstm, reviews.csv" in text and "loss 1.5000 nats   perplexity 4.48" in text
    assert "python main.py train transfer --encoder" in text


def test_the_report_has_objective_scores_and_what_was_left_out(tmp_path):
    report.write_report(make_result(tmp_path, direction="bidirectional"), {}, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "What to do next:" in text_of_page(tmp_path)
    for part in (
        "to predict masked tokens from those on both sides",
        "**4.48**",
        "- Training: 900 texts; validation: 100.",
        "- Left out, empty text: 3.",
        "`pooled_output`",
    ):
        assert part in text, part
    assert (tmp_path / "curves.png").stat().st_size > 1000
