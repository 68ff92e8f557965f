import csv
import json
import math

import numpy as np
import pytest
import tensorflow as tf

from pipelines.data.table_options import TableOptions
from pipelines.language_model import scores
from pipelines.language_model.scores import file_steps, format_scores, score_texts, score_texts_on_server
from pipelines.predicting import engine
from tests.pipelines.language_model.models import FakeExport, FakeServer, make
from tests.pipelines.predicting.parts import parts_of

TEXTS = ["To be", "", "that is the question", "T\u00e9", "not"]


@pytest.fixture(params=["lstm", pytest.param("transformer", marks=pytest.mark.long)])
def generator(request):
    return make(request.param)[-1]


@pytest.mark.long
def test_the_surprisals_of_the_tokens_sum_to_the_score_of_the_text(generator):
    results = score_texts(FakeExport(generator), TEXTS)
    expected = {name: value.numpy() for name, value in generator.score(tf.constant(TEXTS)).items()}
    for i, result in enumerate(results):
        assert result["text"] == TEXTS[i] and result["tokens"] == expected["tokens"][i] == len(TEXTS[i])
        assert result["log_probability"] == pytest.approx(expected["log_probability"][i], abs=1e-3)
        assert result["perplexity"] == pytest.approx(expected["perplexity"][i], rel=1e-4)
        bits = sum(surprisal for _, surprisal in result["surprisal"])
        assert bits * math.log(2) == pytest.approx(-result["log_probability"], abs=0.05)
        assert bits == pytest.approx(result["bits_per_token"] * result["tokens"], abs=0.05)
        assert ("note" in result) == ("\u00e9" in TEXTS[i])
    assert "".join(token for token, _ in results[2]["surprisal"]) == TEXTS[2]


@pytest.mark.long
def test_the_order_and_the_size_of_the_batches_change_nothing(lstm, monkeypatch):
    texts = [TEXTS[i % 5][: i % 7] for i in range(20)]
    expected = score_texts(FakeExport(lstm[-1]), texts)
    monkeypatch.setattr(scores, "_BATCH_TOKENS", 12)
    monkeypatch.setattr(scores, "_BATCH_TEXTS", 7)
    for one, other in zip(score_texts(FakeExport(lstm[-1]), texts), expected, strict=True):
        assert one["text"] == other["text"]
        assert one["log_probability"] == pytest.approx(other["log_probability"], abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("documents", [None, "line"])
def test_a_server_gives_the_same(documents):
    generator = make("lstm", documents=documents)[-1]
    export, server = FakeExport(generator, config={"documents": documents}), FakeServer(generator)
    own, served = score_texts(export, TEXTS), score_texts_on_server(server, "mine", TEXTS)
    for one, other in zip(own, served, strict=True):
        one.pop("note", None)
        assert [token for token, _ in one["surprisal"]] == [token for token, _ in other["surprisal"]]
        assert one["log_probability"] == pytest.approx(other["log_probability"], abs=1e-3)
    assert score_texts_on_server(server, "mine", [""])[0]["tokens"] == (1 if documents else 0)


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_file_has_a_row_per_text(lstm, tmp_path, suffix):
    (tmp_path / "in.txt").write_text('To be\nnot, "or"\n')
    target = tmp_path / f"out{suffix}"
    counts = engine.predict_files(
        FakeExport(lstm[-1]), str(tmp_path / "in.txt"), target, file_steps(TableOptions(), suffix, {})
    )
    assert counts == {"rows": 2, "skipped": 0, "poisoned": 0}
    if suffix == ".csv":
        rows = list(csv.DictReader(target.read_text().splitlines()))
    else:
        rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["text"] for row in rows] == ["To be", 'not, "or"'] and tuple(rows[0]) == ("text", *scores.MEASURES)
    expected = score_texts(FakeExport(lstm[-1]), ["To be"])[0]
    assert float(rows[0]["log_probability"]) == pytest.approx(expected["log_probability"], abs=1e-3)


def test_the_terminal_shows_the_surprisal_of_each_token():
    result = {"text": "a b", "log_probability": -1.0, "perplexity": 2.0, "tokens": 3, "bits_per_token": 1.0}
    one = result | {"surprisal": [["a", 0.2], [" ", 5.0], ["b", 9.0]]}
    other = result | {"text": "c", "bits_per_token": 0.5, "surprisal": []}
    plain = format_scores([one, other], color=False)
    assert plain.startswith("a(0.2) ␣(5.0) b(9.0)\n") and "(no tokens)" in plain
    assert plain.endswith("the most likely per token: 'c'")
    colored = format_scores([one], color=True)
    assert "\033[32ma\033[0m\033[33m␣\033[0m\033[91mb\033[0m" in colored
    words = format_scores([result | {"surprisal": [["the", 0.2], ["cat", 0.3]]}], color=True)
    assert "\033[32mthe\033[0m \033[32mcat\033[0m" in words
    assert "8 bits and more" in scores.legend()


def test_groups_have_at_most_the_tokens_of_a_batch(monkeypatch):
    monkeypatch.setattr(scores, "_BATCH_TOKENS", 10)
    lengths = np.array([0, 0, 3, 3, 4, 12])
    groups = [group.tolist() for group in scores._groups(np.arange(6), lengths)]
    assert groups == [[0, 1, 2], [3, 4], [5]]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_the_parts_of_a_distributed_scoring_are_the_file_of_the_plain_command(lstm, tmp_path, suffix):
    export, source, target = FakeExport(lstm[-1]), tmp_path / "in.txt", tmp_path / f"out{suffix}"
    source.write_text('To be\nnot, "or"\n\nthe question\n')
    steps = file_steps(TableOptions(), suffix, {})
    engine.predict_files(export, str(source), target, steps)
    ((part, record),) = parts_of(steps, export, source)
    assert part.decode() == target.read_text() and record == {"counts": {"rows": 4, "skipped": 0}, "poisoned": {}}
    ((part, record),) = parts_of(steps, export, source, fails_for="not")
    line = part.decode().splitlines()[1 + (suffix == ".csv")]
    assert list(record["poisoned"]) == [1]
    if suffix == ".csv":
        assert line == '"not, ""or""",,,,'
    else:
        assert json.loads(line) == dict.fromkeys(scores.MEASURES) | {"text": 'not, "or"'}
