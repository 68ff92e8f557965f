import csv
import json

import numpy as np
import pytest

from pipelines.data import tagged_sentences
from pipelines.data.table_options import TableOptions
from pipelines.predicting import engine
from pipelines.predicting.output_forms import TABLES
from pipelines.predicting.typed_files import WRITERS
from pipelines.support.errors import UserError
from pipelines.tagging import predict
from pipelines.tagging.command import Predict
from pipelines.tagging.spans import spans_of
from tests.pipelines.predicting.parts import parts_of
from tests.pipelines.tagging.small import SENTENCES, SPAN_TAGS, WORD_TAGS


class FakeExport:
    """A tagger that is not saved."""

    title = "names/1"

    def __init__(self, tagger, tags=WORD_TAGS):
        self.signatures, self.tags = tagger.signatures(), tags

    def card(self):
        return {"config": {"column": "xpos"}, "classes": list(self.tags)}

    def load(self):
        return self


@pytest.mark.parametrize("suffix", sorted({*Predict.suffixes} - {*WRITERS}))  # those of text
@pytest.mark.parametrize("pretokenized", [False, True])
def test_the_parts_of_a_distributed_tagging_are_the_file_of_the_plain_command(
    make_small, tmp_path, monkeypatch, suffix, pretokenized
):
    monkeypatch.setattr(predict, "_CHUNK_LINES", 2)
    export, source, target = FakeExport(make_small("lstm").tagger), tmp_path / "in.txt", tmp_path / f"out{suffix}"
    source.write_text("".join(f"{' '.join(words)}\n" for words in SENTENCES) + "\nAnna sees . Is the sea near ?\n")
    steps = predict.file_steps(export, TableOptions(), suffix, pretokenized)
    counts = engine.predict_files(export, str(source), target, steps)
    parts = parts_of(steps, export, source)
    header = suffix in TABLES
    lines = [line for i, (part, _) in enumerate(parts) for line in part.decode().splitlines(True)[header and i > 0 :]]
    assert len(parts) == 2 and "".join(lines) == target.read_text()
    assert sum(record["counts"]["tokens"] for _, record in parts) == counts["tokens"]
    parts = parts_of(steps, export, source, fails_for="sees")
    assert [list(record["poisoned"]) for _, record in parts] == [[0, 3, 6], [0]]
    if suffix == ".jsonl":
        first = json.loads(parts[0][0].splitlines()[0])
        assert first["text"] == "Anna sees the sea ." and not first["tokens"]


TEXTS = ["Anna sees the sea .", "", "The sea 😀 is near! Anna is near.", "Anna sees the sea .", "Is the sea near ?"]


@pytest.fixture
def names(make_small):
    return FakeExport(make_small("lstm", spans=True).tagger, SPAN_TAGS)


@pytest.fixture
def pool(tmp_path):
    rows = [{"id": i, "body": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "pool.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "pool.jsonl"


def write(export, source, target, pretokenized=False, **options):
    steps = predict.file_steps(export, TableOptions(text_column="body"), target.suffix, pretokenized, **options)
    return engine.predict_files(export, str(source), target, steps)


@pytest.mark.long
@pytest.mark.parametrize("pretokenized", [False, True])
def test_the_least_sure_texts_come_first(names, pool, tmp_path, pretokenized):
    results = predict.predict_texts(names, [TEXTS[0], TEXTS[2], TEXTS[4]], pretokenized)
    unsure = {result["text"]: 1 - np.min(result["scores"]) for result in results}
    expected = sorted(unsure, key=unsure.get, reverse=True)
    counts = write(names, pool, tmp_path / "out.jsonl", pretokenized, sort=True)
    assert counts == {
        "rows": 3,
        "read": 5,
        "empty": 1,
        "tokens": sum(len(result["tokens"]) for result in results),
        "skipped": 0,
        "poisoned": 0,
    }
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [each["text"] for each in found] == expected
    assert [each["uncertainty"] for each in found] == pytest.approx([unsure[text] for text in expected], abs=1e-5)
    write(names, pool, tmp_path / "out.csv", pretokenized, sort=True)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    by_text: dict[str, set] = {}
    for row in rows:
        by_text.setdefault(row["text_number"], set()).add(row["uncertainty"])
    assert list(by_text.items()) == [(str(i), {f"{each['uncertainty']:.6f}"}) for i, each in enumerate(found, 1)]
    write(names, pool, tmp_path / "out.conllu", pretokenized, sort=True)
    comments = [line for line in (tmp_path / "out.conllu").read_text().splitlines() if "uncertainty" in line]
    assert comments == [f"# uncertainty = {each['uncertainty']}" for each in found]


@pytest.mark.long
def test_entities_of_the_least_sure_texts_come_first(names, pool, tmp_path):
    order = []
    for sort in (True, False):
        target = tmp_path / f"{sort}.jsonl"
        write(names, pool, target, sort=sort, tool="entities")
        order.append([json.loads(line)["id"] for line in target.read_text().splitlines()])
    results = predict.predict_texts(names, TEXTS, pretokenized=False)
    unsure = [predict.uncertainty(result["scores"]) for result in results]
    assert order[1] == sorted(order[1]) and len(set(order[0])) > 1
    assert order[0] == sorted(order[0], key=lambda row: -unsure[row])


@pytest.mark.parametrize("pretokenized", [False, True])
def test_what_doccano_gets_can_be_trained_on(names, pool, tmp_path, pretokenized):
    write(names, pool, tmp_path / "out.jsonl", pretokenized, tool="doccano")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [record["text"] for record in records] == TEXTS and [record["id"] for record in records] == list(range(5))
    assert sum(len(record["label"]) for record in records) > 3
    for record, result in zip(records, predict.predict_texts(names, TEXTS, pretokenized)):
        sentences: dict[int, list[int]] = {}
        for i in range(len(result["tokens"])):
            sentences.setdefault(result["sentence"][i] if "sentence" in result else 0, []).append(i)
        expected = [
            (span.label, "".join(result["tokens"][i] for i in positions[span.start : span.end]))
            for positions in sentences.values()
            for span in spans_of([result["tags"][i] for i in positions])
        ]
        surfaces = [(label, record["text"][start:end].replace(" ", "")) for start, end, label in record["label"]]
        assert surfaces == expected
    read = tagged_sentences.read(str(tmp_path / "out.jsonl"))["train"]
    labels = [span.label for tags in read.tags for span in spans_of(tags)]
    assert labels == [label for record in records for _, _, label in record["label"]]


def entities_read(path):
    """Returns (label, its tokens) of the spans of a file, as training reads them."""
    read = tagged_sentences.read(str(path))["train"]
    rows = zip(read.tokens, read.tags, strict=True)
    return [(each.label, tuple(words[each.start : each.end])) for words, tags in rows for each in spans_of(tags)]


@pytest.mark.parametrize("tool", ["doccano", "spacy", None])
@pytest.mark.parametrize("sort", [False, True])
def test_what_is_written_is_read_again_as_training_data(names, tmp_path, tool, sort):
    texts = ["", "Anna \N{GRINNING FACE}\N{GRINNING FACE} sees\tthe sea!", "\u05e9\u05dc\u05d5\u05dd Anna.", *TEXTS[2:]]
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"body": text}) for text in texts))
    write(names, tmp_path / "in.jsonl", tmp_path / "out.jsonl", tool=tool, sort=sort)
    results = predict.predict_texts(names, texts, False)
    expected = [
        (each["label"], tuple(word for word, start in zip(result["tokens"], result["start"]) if at(each, start)))
        for result in results
        for each in result["entities"]
    ]
    assert len(expected) > 5 and sorted(entities_read(tmp_path / "out.jsonl")) == sorted(expected)
    if tool != "spacy":
        return
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        text, annotation = json.loads(line)
        (result,) = [each for each in results if each["text"] == text]
        assert annotation == {"entities": [[each["start"], each["end"], each["label"]] for each in result["entities"]]}


def at(entity, start):
    return entity["start"] <= start < entity["end"]


@pytest.mark.parametrize("tool", [None, "spacy"])
def test_jsonl_has_the_entities_of_each_text_and_no_invalid_text(names, tmp_path, tool):
    (tmp_path / "in.txt").write_bytes("Anna sees the sea .\n\udcff Anna\n".encode("utf-8", "surrogateescape"))
    steps = predict.file_steps(names, TableOptions(), ".jsonl", tool=tool)
    counts = engine.predict_files(names, str(tmp_path / "in.txt"), tmp_path / "out.jsonl", steps)
    assert (counts["rows"], counts["poisoned"]) == (2, 1)
    first, *others = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    (expected,) = predict.predict_texts(names, ["Anna sees the sea ."], False)
    if tool:
        assert not others and len(first[1]["entities"]) == counts["entities"] == len(expected["entities"])
    else:
        assert first["entities"] == expected["entities"] and others[0]["entities"] == []


@pytest.mark.parametrize("tool", ["doccano", "spacy", "entities"])
def test_tags_of_words_are_no_spans(make_small, pool, tmp_path, tool):
    words = FakeExport(make_small("lstm").tagger)
    with pytest.raises(UserError, match=f"--for {tool}: the tags of names/1 are no spans"):
        write(words, pool, tmp_path / "out.jsonl", tool=tool)
    assert "entities" not in predict.predict_texts(words, TEXTS[:1], False)[0]


def test_the_uncertainty_of_a_text_is_that_of_its_least_sure_token():
    assert predict.uncertainty([1.0, 0.25, 0.5]) == 0.75 and predict.uncertainty([]) == 0
