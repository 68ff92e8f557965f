import dataclasses

import numpy as np

from pipelines.language_model import report
from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.kneser_ney import estimate
from pipelines.support.run_result import RunResult


def make_result(tmp_path, unknown_tokens=0):
    scores = {
        "tokens": 1200,
        "characters": 2400,
        "unknown_tokens": unknown_tokens,
        "loss": 1.5,
        "perplexity": 4.48,
        "bits_per_character": 1.08,
    }
    return RunResult.of(
        schema=4,
        run="0123456789abcdef",
        task="char-lm",
        config=dataclasses.asdict(LanguageModelConfig(data="poems.txt").resolve()),
        data={"name": "poems", "fingerprint": "abc"},
        modules={},
        versions={"keras": "3"},
        machine="Linux",
        started="2026",
        sample=False,
        vocabulary_size=65,
        parameters=1000,
        precision="float32",
        epochs=[{"epoch": 1, "loss": 2.0, "val_loss": 1.6}],
        epoch_seconds=[1.0],
        best_epoch=1,
        training_seconds=1.0,
        scores={"validation": scores},
        rows={"train": 9000, "valid": 1200},
        characters={"train": 18000, "valid": 2400},
        export=str(tmp_path / "saved" / "mine" / "1"),
        model="mine/1",
        report=str(tmp_path / "report.md"),
        example='"so long lives"',
    )


def test_the_summary_has_the_scores_and_a_command_that_finds_the_model(tmp_path):
    text = report.summarize(make_result(tmp_path))
    assert "char-lm, lstm, poems.txt" in text and "perplexity 4.48" in text and "1.080 bits per character" in text
    assert 'predict char-lm "so long lives" --name mine --saved-models' in text


def test_the_report_has_scores_data_and_generated_text(tmp_path):
    samples = [{"prompt": "", "text": "Once upon"}, {"prompt": "A day ", "text": "is long"}]
    report.write_report(make_result(tmp_path, unknown_tokens=7), {"samples": samples, "ngrams": None}, tmp_path)
    text = (tmp_path / "report.md").read_text()
    for part in (
        "**4.48**",
        "| bits per character | 1.0800 |",
        "7 of its tokens are not in the vocabulary",
        "Once upon",
        "A day is long",
        "- Training: 9,000 tokens, 18,000 characters.",
        "evaluate char-lm --data FILE --name mine",
        "1,000 parameters",
    ):
        assert part in text, part
    assert (tmp_path / "curves.png").stat().st_size > 1000
    report.write_report(make_result(tmp_path), {"samples": samples, "ngrams": None}, tmp_path)
    assert "not in the vocabulary" not in (tmp_path / "report.md").read_text()


def test_the_report_of_an_ngram_model_has_its_counts_and_no_learning_curve(tmp_path):
    tables = estimate(np.array([5, 6, 5, 6, 7] * 20, np.int32), 3, 9)
    report.write_report(make_result(tmp_path), {"samples": [], "ngrams": tables}, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| 1 | 3 |" in text and "| 3 | 7 |" in text and "Kneser-Ney" in text
    assert "epoch" not in text.split("## Counts")[1].split("## Data")[0] and not (tmp_path / "curves.png").exists()
