import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.data import sample_tags, tagged_sentences
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError
from tests.conftest import CORPORA

CONLLU = "# newdoc\n# text = I can't.\n" + "".join(
    f"{cells}\n"
    for cells in (
        "1\tI\tI\tPRON\tPRP\t_\t_\t_\t_\tNER=O",
        "2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        "2\tca\tcan\tAUX\tMD\t_\t_\t_\t_\t_",
        "3\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_",
        "4\t.\t.\tPUNCT\t.\t_\t_\t_\t_\t_",
    )
)
CONLL = "Jim\tB-PER\nBo\tI-PER\nsings\tO\n\nAcme\tB-ORG\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text, encoding="utf-8"):
    with open(name, "wb") as file:
        file.write(text.encode(encoding))


@pytest.mark.parametrize("name", ["a.conllu", "a.txt"])
def test_conllu_is_known_by_its_name_or_its_content(name):
    write(name, CONLLU)
    found = tagged_sentences.read(name)
    assert set(found) == {"train"}
    assert found["train"].tokens == [["I", "ca", "n't", "."]]
    assert found["train"].tags == [["PRON", "AUX", "PART", "PUNCT"]]
    assert found["train"].texts == ["I can't."]
    assert tagged_sentences.read(name, TokenOptions("xpos"))["train"].tags == [["PRP", "MD", "RB", "."]]


@pytest.mark.parametrize("name", ["a.conll", "a.tsv", "a"])
def test_other_files_have_columns(name):
    write(name, CONLL)
    found = tagged_sentences.read(name)["train"]
    assert found.tokens == [["Jim", "Bo", "sings"], ["Acme"]]
    assert found.tags == [["B-PER", "I-PER", "O"], ["B-ORG"]] and found.texts == ["Jim Bo sings", "Acme"]


def test_several_files_are_one_split_with_different_documents():
    write("a.conllu", CONLLU)
    write("b.conll", "ca\tNN\n\t\n\tNN\n-DOCSTART-\tO\nb\tNN\n")
    found = tagged_sentences.read(("a.conllu", "b.conll"))["train"]
    assert found.tokens == [["I", "ca", "n't", "."], ["ca"], ["b"]]
    assert found.documents == [0, 1, 2] and found.dropped == {"lines without a token": 1}


@pytest.mark.parametrize(
    "names",
    [
        {"train": "en_ewt-ud-train.conllu", "valid": "en_ewt-ud-dev.conllu", "test": "en_ewt-ud-test.conllu"},
        {"train": "wnut17.train.conll.xz", "valid": "wnut17.dev.conll.xz"},
        {"train": "train.iob2", "valid": "valid.iob2"},
        {"train": "train.txt", "valid": "valid.txt", "test": "test.txt"},
        {"train": "eng.train", "valid": "eng.dev", "test": "eng.test"},
        {"test": "xx-test.conllu"},
    ],
)
def test_a_folder_has_splits_by_the_names_of_its_files(folder, names):
    for part, name in names.items():
        content = f"1\t{part}\t_\tX\t_\t_\t_\t_\t_\t_\n" if ".conllu" in name else f"{part} X\n"
        (folder / name).write_bytes(lzma.compress(content.encode()) if name.endswith(".xz") else content.encode())
    (folder / "README.txt").write_text("train")
    (folder / "latest.txt").write_text("about")
    if any("conll" in name for name in names.values()):
        (folder / "en_ewt-ud-train.txt").write_text("raw text")
    found = tagged_sentences.read(".")
    assert {part: sentences.tokens for part, sentences in found.items()} == {part: [[part]] for part in names}


def test_several_training_files_of_one_treebank_are_joined(folder):
    for name in ("cs_pdt-ud-train-c.conllu", "cs_pdt-ud-train-a.conllu"):
        write(name, CONLLU.replace("I", name[-8]))
    assert [tokens[0] for tokens in tagged_sentences.read(str(folder))["train"].tokens] == ["a", "c"]


def test_a_folder_of_other_files_or_of_several_data_sets_is_refused(folder):
    write("a.conllu", CONLLU)
    with pytest.raises(UserError, match="has no files of tagged sentences with train, dev or test in their names"):
        tagged_sentences.read(str(folder))
    write("en_ewt-ud-train.conllu", CONLLU)
    write("en_gum-ud-train.conllu", CONLLU)
    with pytest.raises(UserError, match=r"several data sets \(en_ewt-ud, en_gum-ud\): give the files"):
        tagged_sentences.read(str(folder))


def test_tags_of_iob1_and_bioes_are_converted_and_repairs_are_counted():
    write("iob1.conll", "Jim I-PER\nBo I-PER\nAnn B-PER\n")
    found = tagged_sentences.read("iob1.conll")["train"]
    assert found.tags == [["B-PER", "I-PER", "B-PER"]] and found.dropped == {"tags converted from IOB1 to IOB2": 1}
    write("bioes.conll", "Jim B-PER\nBo E-PER\nAnn S-PER\nsaw O\nAcme I-ORG\n")
    found = tagged_sentences.read("bioes.conll")["train"]
    assert found.tags == [["B-PER", "I-PER", "B-PER", "O", "B-ORG"]]
    assert found.dropped == {"tags converted from BIOES to IOB2": 2, "tags that continue no span, changed to B-": 1}
    write("iob2.conll", "Jim B-PER\nBo I-PER\nand O\nAnn B-PER\nsaw O\nAcme I-ORG\n")
    found = tagged_sentences.read("iob2.conll")["train"]
    assert found.tags[0][-1] == "B-ORG" and found.dropped == {"tags that continue no span, changed to B-": 1}


def test_the_scheme_is_that_of_all_splits_together(folder):
    write("train.conll", "Jim I-PER\nBo I-PER\nis O\n")
    write("dev.conll", "Jim O\nAnn B-PER\nBo B-PER\n")  # alone, it is IOB2
    write("test.conll", "Jim I-PER\n")
    found = tagged_sentences.read(str(folder))
    assert [part.tags for part in found.values()] == [[["O", "B-PER", "B-PER"]], [["B-PER"]], [["B-PER", "I-PER", "O"]]]


def test_the_chunks_of_files_are_what_is_read_at_once(monkeypatch):
    sentences = ["".join(f"w{i}\tB-X\n" for i in range(1 + count % 4)) for count in range(30)]
    write("a.conll", "\n".join(sentences[:20]) + "\n\tB-X\n")
    write("b.conll", "-DOCSTART-\tO\n" + "\n-DOCSTART-\tO\n\n".join(sentences[20:]))
    expected = tagged_sentences.read(("a.conll", "b.conll"))["train"]
    monkeypatch.setattr(tagged_sentences, "_CHUNK_TOKENS", 7)
    chunks = list(tagged_sentences.read_chunks([Path("a.conll"), Path("b.conll")]))
    assert len(chunks) > 5 and max(map(len, chunks)) < 10
    assert tagged_sentences.joined(chunks) == expected
    assert expected.documents == [0] * 20 + list(range(1, 11)) and expected.dropped == {"lines without a token": 1}


def test_other_tags_stay_as_they_are():
    tags = ["B-PER", "NOUN", "I-ORG", "S-x"]
    write("a.conll", "".join(f"a {tag}\n" for tag in tags))
    found = tagged_sentences.read("a.conll")["train"]
    assert (found.tags, found.dropped) == ([tags], {})


def test_without_data_it_is_the_sample_with_its_validation():
    found = tagged_sentences.read(None)
    assert {name: len(part) for name, part in found.items()} == {"train": 4000, "valid": 500}
    assert found["valid"].tokens == sample_tags.generate()["valid"][0]
    with pytest.raises(UserError, match="--column xpos has no effect: the embedded sample"):
        tagged_sentences.read(None, TokenOptions("xpos"))


def test_the_fresh_sample_has_no_sentence_of_the_sample():
    fresh = set(tagged_sentences.fresh_sample().texts)
    assert len(fresh) == 500
    assert not any(fresh & set(part.texts) for part in tagged_sentences.read(None).values())


@pytest.mark.parametrize("rows", [np.array([True, False, True]), np.array([0, 2]), [0, 2]])
def test_sentences_are_taken_with_all_that_belongs_to_them(rows):
    sentences = TaggedSentences([["a"], ["b"], ["c"]], [["A"], ["B"], ["C"]], ["a", "b", "c"], [0, 0, 1], {"x": 1})
    assert sentences.take(rows) == TaggedSentences([["a"], ["c"]], [["A"], ["C"]], ["a", "c"], [0, 1], {"x": 1})


TABLE = "is a table of texts with their labels: train on it with `train classification`, or give a file with one token"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "empty.conllu",
            "",
            "^empty.conllu is empty: expected one token and its tag .*, CoNLL-U, or JSON of an annotation tool$",
        ),
        ("blank.txt", " \n\n", "^blank.txt is empty"),
        ("comments.conllu", "# a\n", "comments.conllu has no sentences"),
        ("comments.txt", "# some text here\n", "comments.txt has no sentences"),
        ("short.conllu", "1\ta\tX\n", "short.conllu, line 1: 3 columns .* CoNLL-U has ten"),
        ("raw.txt", "Just a text.\nWith more lines of it.\n", r"raw.txt, line 2: 5 columns .*, but most lines have 3"),
        ("a.csv", "text,label\nA good film,pos\n", f"a.csv {TABLE}"),
        ("a.txt", "label,text\npos,A good film\n", f"a.txt {TABLE}"),
        ("a.tsv", "A good film\tpos\nA bad film\tneg\n", f"a.tsv {TABLE}"),
        ("a.tsv", "pos\tA good film\nneg\tA bad film\n", f"a.tsv {TABLE}"),
        ("a.jsonl", '{"text": "a", "label": 1}\n', f"a.jsonl {TABLE}"),
        ("a.txt", '{"text": "a", "label": 1}\n', f"a.txt {TABLE}"),
        ("a.parquet", "PAR1", "a.parquet is damaged, or no Parquet file"),
        ("a.txt", '{"text": "a b", "entities": [{"start": 0, "end": 1}]}\n', "record 1: .* is no span"),
        ("a.json", '[\n  {"text": "a b", "spans": [\n    {"start": 0}]}]', "a.json, record 1: .* is no span: expected"),
        (
            "a.jsonl",
            '{"tokens": ["a", "b"], "ner_tags": [0, 1]}\n',
            "a.jsonl: the tags are numbers: name them .*--tag-names",
        ),
        ("a.csv", "Word,POS,Tag\na,NN,O\n", "a.csv has a token and its tag in each row, and no column that tells"),
        ("zip.conll", "PK\x03\x04", "zip.conll is an Excel file .* or a zip archive"),
        ("zero.conll", "a\tO\n" * 9 + "\0\tO\n", "zero.conll has bytes of zero, so it is not text"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_of_one_line(name, content, message):
    write(name, content)
    with pytest.raises(UserError, match=message) as error:
        tagged_sentences.read(name)
    assert "\n" not in str(error.value)


LINES = st.one_of(
    st.sampled_from(
        ["", " ", "#", "# text = a b", "# newdoc", "-DOCSTART- O", "a O", "# O", "\tO", "a\tb\tO", '{"a": 1}']
    ),
    st.sampled_from(["1\ta" + "\t_" * 8, "2\tb\tb\tX" + "\t_" * 6, "1-2" + "\t_" * 9, "1.1\tc" + "\t_" * 8, "1\tx"]),
    st.text(max_size=8),
)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(LINES, max_size=12), name=st.sampled_from(["a.txt", "a.conllu", "a.csv"]))
def test_any_file_gives_sentences_with_a_tag_for_each_token_or_an_error_of_one_line(lines, name):
    write(name, "\n".join(lines).encode("utf-8", "replace").decode())
    try:
        found = tagged_sentences.read(name)["train"]
    except UserError as error:
        assert "\n" not in str(error)
        return
    assert len(found) == len(found.tags) == len(found.texts) == len(found.documents) > 0
    for tokens, tags, text in zip(found.tokens, found.tags, found.texts, strict=True):
        assert len(tokens) == len(tags) > 0 and all(tokens) and all(tags) and text
    assert found.documents == sorted(found.documents)


def test_a_file_in_another_encoding_is_refused_and_read_with_its_encoding():
    write("a.conll", "Caf\u00e9\tB-ORG\nnaïve\tO\n" * 20, "cp1252")
    with pytest.raises(UserError, match="a.conll is not UTF-8 .*give its encoding with --encoding cp1252"):
        tagged_sentences.read("a.conll")
    assert tagged_sentences.read("a.conll", TokenOptions(encoding="cp1252"))["train"].tokens[0][:2] == ["Café", "naïve"]
    write("a.conll", CONLL, "utf-16-le")
    with pytest.raises(UserError, match="is probably UTF-16: give --encoding utf-16-le"):
        tagged_sentences.read("a.conll")
    assert tagged_sentences.read("a.conll", TokenOptions(encoding="utf-16-le"))["train"].tokens[1] == ["Acme"]


def test_a_missing_file_is_an_error_that_names_the_corpora(folder):
    for data in ("nowhere.conllu", ("nowhere.conllu", "a")):
        with pytest.raises(UserError, match="no such file or folder: nowhere.conllu .*ud-ewt"):
            tagged_sentences.read(data)
    write("a.conll", CONLL)
    with pytest.raises(UserError, match="is a folder: give one folder, or several files"):
        tagged_sentences.read(("a.conll", str(folder)))


def real(*names):
    path = CORPORA.joinpath(*names)
    if not path.exists():
        pytest.skip("the corpus is not on this machine")
    return tagged_sentences.read(str(path))


def test_the_english_web_treebank_has_its_published_numbers_and_every_word_is_in_its_text():
    """The training file has 204,577 lines with a plain id, 37 with an empty node and 2,614 with a range."""
    parts = real("ud_ewt")
    for part, num_sentences, num_words, num_documents in (
        ("train", 12_544, 204_577, 540),
        ("valid", 2_001, 25_147, 318),
    ):
        sentences = parts[part]
        assert (len(sentences), sum(map(len, sentences.tokens))) == (num_sentences, num_words)
        assert sentences.documents[-1] + 1 == num_documents and sentences.dropped == {}
        assert len({tag for tags in sentences.tags for tag in tags}) == 17
        for tokens, text in zip(sentences.tokens, sentences.texts, strict=True):
            spans = tagged_sentences.character_spans(tokens, text)
            assert [span and text[span[0] : span[1]] for span in spans] == tokens
    assert sum(" ".join(tokens) == text for tokens, text in zip(parts["train"].tokens, parts["train"].texts)) == 1378


@pytest.mark.parametrize(
    ("name", "num_sentences", "num_spans", "num_labels"),
    [
        ("wnut17.train.conll.xz", 3_394, 1_975, 6),
        ("wnut17.dev.conll.xz", 1_009, 836, 6),
        ("wikiann-en.dev.conll.xz", 10_000, 14_146, 3),
    ],
)
def test_corpora_of_names_have_their_published_numbers(name, num_sentences, num_spans, num_labels):
    sentences = real("ner", name)["train"]
    starts = [tag for tags in sentences.tags for tag in tags if tag.startswith("B-")]
    assert (len(sentences), len(starts), len(set(starts))) == (num_sentences, num_spans, num_labels)
    assert sentences.dropped == {}
