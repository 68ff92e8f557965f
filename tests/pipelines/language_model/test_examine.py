import pytest

from pipelines.language_model import examine
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError
from tests.command_line import ROOT
from tests.pipelines.made_sentences import sentences

DATA = ROOT.parent / "shared" / "data"


def examined(data, **options):
    return examine.examine(LanguageModelConfig(data=str(data), **options).resolve())


def names(data, **options):
    return [finding.name for finding in examined(data, **options).findings]


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_a_clean_text_has_no_findings(tmp_path):
    text, valid = write(tmp_path / "a.txt", sentences(600)), write(tmp_path / "b.txt", sentences(60, seed=9))
    assert names(text, valid=str(valid)) == [] == names(text, documents="line")


def test_what_is_planted_is_named(tmp_path):
    lines = sentences(600)
    planted = [
        "a caf\u00c3\u00a9 in town",
        "a lost \ufffd letter",
        "a \x07 bell",
        "a <div>block</div>",
        "1234 5678 9012 3456 7890 | 1234 5678 9012 3456",
        *lines[:20],
        " ".join(sentences(400, seed=3)),
    ]
    by_name = {finding.name: finding for finding in examined(write(tmp_path / "a.txt", [*lines, *planted])).findings}
    assert set(by_name) == {
        "mojibake",
        "replacement-characters",
        "control-characters",
        "markup",
        "few-letters",
        "repeated",
        "no-line-ends",
    }
    assert by_name["mojibake"].examples == ("a.txt:601: a caf\u00c3\u00a9 in town",)
    assert all(by_name[name].remedy for name in ("control-characters", "markup", "repeated"))
    assert by_name["mojibake"].remedy == ""  # U+FFFD is in no other encoding


def test_documents_of_a_table_and_a_table_without_them(tmp_path):
    table = write(tmp_path / "a.csv", ["text,n", *(f"{text},1" for text in sentences(600))])
    assert names(table) == ["table"]
    read = examined(table, documents="row")
    assert read.findings == [] and read.facts["texts"] == 600 and "600 rows" in read.lines[0]


def test_few_files_and_what_training_would_refuse(tmp_path):
    text = write(tmp_path / "a.txt", sentences(600))
    one = examined(text, documents="file")
    assert [finding.name for finding in one.findings] == ["few-documents"]
    assert "1 file" in one.facts["refusal"] and "--documents line" in one.findings[0].remedy
    with pytest.raises(UserError, match="no such file"):
        names(tmp_path / "b.txt")


def test_a_wrong_encoding_is_mended_by_its_flag(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{text} caf\u00e9\n" for text in sentences(600)), encoding="utf-8")
    (finding,) = examined(path, encoding="cp1252").findings
    assert finding.name == "mojibake" and "--encoding cp1252" in finding.remedy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "valid"), [("tinyshakespeare/input.txt", None), ("wikitext-2/train.txt.xz", "wikitext-2/valid.txt.xz")]
)
def test_real_texts_have_no_findings(train, valid):
    if not (DATA / train).is_file():
        pytest.skip("the corpus is not here")
    assert names(DATA / train, valid=valid and str(DATA / valid)) == []


def test_a_folder_needs_files_as_documents(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text(f"text {i} with some words\n")
    assert examined(tmp_path, documents="file").facts["texts"] == 3
    with pytest.raises(UserError, match="is a folder: add --documents file"):
        examined(tmp_path)
