from pathlib import Path

from pipelines.data import text_findings
from tests.pipelines.made_sentences import sentences


def find(texts, noun=text_findings.LINE, valid=None, **options):
    rows = [(f"a:{number}", text) for number, text in enumerate(texts, 1)]
    others = None if valid is None else (lambda: [("v", text) for text in valid])
    return text_findings.find(rows, noun, None, noun == text_findings.LINE, valid=others, **options)


def names(*arguments, **options):
    return [finding.name for finding in find(*arguments, **options).findings]


def test_a_clean_text_has_no_findings():
    read = find(sentences(600), valid=sentences(50, seed=1))
    assert read.findings == [] and read.texts == 600 and read.letters > 0.9


def test_repeated_long_and_few_lines():
    lines = sentences(600)
    repeated = find([*lines, *lines[:60]]).findings
    assert [finding.name for finding in repeated] == ["repeated"] and "a:601: " in repeated[0].examples[0]
    assert "awk" in repeated[0].remedy
    assert names([*lines, " ".join(sentences(400))]) == ["no-line-ends"]
    assert names(sentences(20)) == ["few-characters"]
    assert names(["one two three four five" for _ in range(4000)]) == []  # short lines may repeat


def test_numbers_are_no_text():
    assert "hardly-letters" in names([f"{number} {number} {number}" for number in range(5000)])


def test_few_documents():
    documents = [" ".join(sentences(100, seed=seed)) for seed in range(9)]
    assert names(documents, "file") == ["few-documents"]


def test_validation_text_that_is_in_training():
    lines = sentences(600)
    (finding,) = find(lines, valid=[*sentences(40, seed=3), *lines[:10]]).findings
    assert finding.name == "leak" and "--valid" in finding.remedy and "lines of --valid" in finding.text


def test_lines_have_their_file_and_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("one\n\ntwo\n")
    Path("b.txt").write_text("three\n")
    assert list(text_findings.lines_of(("a.txt", "b.txt"), None)) == [
        ("a.txt:1", "one"),
        ("a.txt:3", "two"),
        ("b.txt:1", "three"),
    ]


def test_a_table_is_not_read_as_a_text(tmp_path):
    (tmp_path / "a.csv").write_text("text\nx\n")
    (tmp_path / "a.txt").write_text("x\n")
    (finding,) = text_findings.is_a_table(str(tmp_path / "a.csv"))
    assert finding.remedy.startswith("--documents row")
    assert text_findings.is_a_table(str(tmp_path / "a.txt")) == []
