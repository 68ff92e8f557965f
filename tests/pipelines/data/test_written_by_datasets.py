"""Data that the package `datasets` of Hugging Face wrote (requirements-test-all.txt), in each of its formats."""

import warnings

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load as load_texts
from pipelines.data import pairs
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.data import load as load_tags

TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
ROWS = 40


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hf")))
        warnings.simplefilter("ignore")
        yield pytest.importorskip("datasets")


def tagged(datasets):
    text = datasets.Value("string")
    features = {"tokens": datasets.List(text), "ner_tags": datasets.List(datasets.ClassLabel(names=TAGS))}
    tokens = [["Anna", "Lind", "left", "Oslo", str(i)] for i in range(ROWS)]
    rows = {"tokens": tokens, "ner_tags": [[1, 2, 0, 3, 0]] * ROWS}
    return datasets.Dataset.from_dict(rows, features=datasets.Features(features))


WRITERS = {
    "ner.parquet": lambda data, path: data.to_parquet(path),
    "ner": lambda data, path: data.save_to_disk(path),
    "ner.jsonl": lambda data, path: data.to_json(path),
    "ner.json": lambda data, path: data.to_json(path, lines=False),
}


@pytest.mark.long
@pytest.mark.parametrize("name", WRITERS)
def test_tokens_with_tags(datasets, tmp_path, name):
    path = str(tmp_path / name)
    WRITERS[name](tagged(datasets), path)
    names = ",".join(TAGS) if "json" in name else None  # JSON has no names of classes
    splits = load_tags(TaggingConfig(data=path, tag_names=names).resolve())
    rows = [row for part in (splits.train, splits.valid) for row in zip(part.tokens, part.tags, strict=True)]
    assert len(rows) == ROWS
    assert all(list(tokens[:4]) == ["Anna", "Lind", "left", "Oslo"] for tokens, _ in rows)
    assert all(list(tags) == ["B-PER", "I-PER", "O", "B-LOC", "O"] for _, tags in rows)


@pytest.mark.long
def test_labelled_texts_with_names_of_classes(datasets, tmp_path):
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["ham", "spam"])}
    rows = {"text": [f"text {i}" for i in range(ROWS)], "label": [i % 2 for i in range(ROWS)]}
    data = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
    data.to_parquet(str(tmp_path / "texts.parquet"))
    data.save_to_disk(str(tmp_path / "texts"))
    for name in ("texts.parquet", "texts"):
        splits = load_texts(ClassificationConfig(data=str(tmp_path / name)).resolve())
        assert splits.classes == ("ham", "spam") and len(splits.train) + len(splits.valid) == ROWS


@pytest.mark.long
def test_translations(datasets, tmp_path):
    features = datasets.Features({"id": datasets.Value("string"), "translation": datasets.Translation(["en", "de"])})
    translations = [{"en": f"dog {i}", "de": f"Hund {i}"} for i in range(ROWS)]
    rows = {"id": list(map(str, range(ROWS))), "translation": translations}
    data = datasets.Dataset.from_dict(rows, features=features)
    data.to_parquet(str(tmp_path / "pairs.parquet"))
    data.to_json(str(tmp_path / "pairs.jsonl"))
    for name in ("pairs.parquet", "pairs.jsonl"):
        found = pairs.read(str(tmp_path / name), None, "en-de")["train"]  # the package sorts the languages
        assert list(found.source) == [each["en"] for each in translations]
        assert list(found.target) == [each["de"] for each in translations]
