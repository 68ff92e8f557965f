import dataclasses

import matplotlib.image
import numpy as np
import pytest
import tensorflow as tf

from pipelines.data.pairs import Pairs
from pipelines.support import charts, predictions, reports
from pipelines.support.run_result import RunResult
from pipelines.translation import metrics, report
from pipelines.translation.config import TranslationConfig

PAIRS = Pairs(np.array(["A dog | barks.", "A cow."], object), np.array(["Un perro | ladra.", "Una vaca."], object))
TRANSLATIONS = ["Un perro.", "Una vaca."]


@pytest.fixture
def result(tmp_path):
    config = TranslationConfig(data="pairs.tsv", model="transformer").resolve()
    scores = metrics.measures(PAIRS.source, TRANSLATIONS, PAIRS.target)
    row = {"loss": 2.0, "val_loss": 2.5, "val_bleu": 12.5}
    return RunResult.of(
        schema=4,
        run="0123456789abcdef",
        task="nmt",
        config=vars(config),
        data={"name": "pairs", "fingerprint": "abc"},
        modules={},
        versions={"python": "3"},
        machine="Linux",
        started="2026-01-01",
        sample=False,
        vocabulary_size=100,
        parameters=1000,
        precision="float32",
        epochs=[{"epoch": 1, **row}, {"epoch": 2, **row}],
        epoch_seconds=[1.0, 1.0],
        best_epoch=2,
        training_seconds=75.0,
        scores={"validation": scores, "test": scores},
        export=str(tmp_path / "saved" / "nmt-en-es" / "1"),
        model="nmt-en-es/1",
        report=str(tmp_path / "report.md"),
        rows={"train": 20, "valid": 2},
        notes={"left out, no tab": 3},
        pair="en-es",
    )


def align(text):
    return {
        "source_tokens": tf.constant([["\u2581A", "\u2581dog", "<end>", ""]]),
        "target_tokens": tf.constant([["\u2581Un", "<end>"]]),
        "weights": tf.fill([1, 2, 2, 4], 0.25),
    }


class StubTranslator:
    def align(self, text):
        return align(text)


DETAILS = {"valid": PAIRS, "translations": TRANSLATIONS, "servable": StubTranslator()}


def test_the_report_has_scores_examples_commands_and_pictures(result, tmp_path):
    report.write_report(result, DETAILS, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "# Translation: transformer, en-es, pairs.tsv" in text
    kept = predictions.read(tmp_path)
    assert set(kept.predicted) == set(TRANSLATIONS) and set(kept.label) == set(PAIRS.target)
    assert f"**BLEU {result.scores['validation']['bleu']:.2f}**" in text and "tok:13a" in text
    assert "| pairs | 2 | 2 |" in text and "Left out, no tab: 3" in text
    assert "| A dog \\| barks. | Un perro. | Un perro \\| ladra. |" in text
    assert "The weights of epoch 2 were kept (the highest validation BLEU; they are a moving average)" in text
    assert "python main.py predict nmt --input FILE --output FILE --name nmt-en-es" in text
    for picture in ("curves.png", "lengths.png", "attention.png"):
        assert f"]({picture})" in text and (tmp_path / picture).stat().st_size > 1000


def test_a_model_without_attention_has_no_picture_of_it(result, tmp_path):
    result.config |= {"model": "rnn", "monitor": "loss", "ema_momentum": 0.0}
    report.write_report(result, DETAILS | {"servable": None}, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "attention.png" not in text and not (tmp_path / "attention.png").exists()
    assert "were kept (the lowest validation loss)." in text


def test_the_summary_has_a_line_per_split_and_a_command_to_try(result):
    result = dataclasses.replace(result, example='"A dog barks."')
    lines = report.summarize(result).splitlines()
    assert lines[0] == "nmt en-es, transformer, pairs.tsv"
    assert [line.split()[0] for line in lines[1:3]] == ["validation", "test"] and "BLEU" in lines[1]
    assert lines[-1].endswith(f'predict nmt "A dog barks."{reports.model_flags(result)}')


def test_the_summary_without_a_language_pair(result):
    lines = report.summarize(dataclasses.replace(result, about={})).splitlines()
    assert lines[0] == "nmt, transformer, pairs.tsv"


def test_an_alignment_has_no_padding():
    alignment = report.read_alignment(align, tf.constant(["A dog"]))
    assert alignment.source_tokens == ["\u2581A", "\u2581dog", "<end>"] and alignment.target_tokens == [
        "\u2581Un",
        "<end>",
    ]
    assert alignment.weights.shape == (2, 2, 3)


def test_the_attention_is_drawn(tmp_path):
    figure = report.draw_attention(report.read_alignment(align, tf.constant(["A dog"])))
    charts.save(figure, tmp_path / "attention.png")
    assert matplotlib.image.imread(tmp_path / "attention.png").shape[1] > 100
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert labels == ["\u00b7A", "\u00b7dog", "<end>"]
