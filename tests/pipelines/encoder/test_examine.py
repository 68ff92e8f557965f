from pipelines.encoder import examine
from pipelines.encoder.config import EncoderConfig
from tests.pipelines.made_sentences import sentences


def examined(data, **options):
    return examine.examine(EncoderConfig(data=str(data), **options).resolve())


def test_a_clean_table_a_text_and_a_folder_have_no_findings(tmp_path):
    texts = sentences(600)
    (tmp_path / "a.csv").write_text("text\n" + "".join(f"{text} <br />\n" for text in texts))
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts))
    (tmp_path / "folder").mkdir()
    for number in range(30):
        (tmp_path / "folder" / f"{number}.txt").write_text(" ".join(texts[20 * number : 20 * number + 20]))
    for name, noun, count in (("a.csv", "text", 600), ("a.txt", "line", 600), ("folder", "text", 30)):
        found = examined(tmp_path / name)
        assert found.findings == [] and found.facts["texts"] == count and f"{count} {noun}s" in found.lines[0]


def test_what_is_planted_is_named(tmp_path):
    texts = sentences(600)
    planted = [
        "a caf\u00c3\u00a9 in town",
        "a lost \ufffd letter",
        "a \x07 bell",
        "1234 5678 9012 3456 7890 | 1234 5678 9012 3456",
        *texts[:20],
        " ".join(sentences(1000, seed=3)),
        "",
    ]
    path = tmp_path / "a.csv"
    path.write_text("text,n\n" + "".join(f"{text},1\n" for text in [*texts, *planted]))
    names = [finding.name for finding in examined(path).findings]
    assert names == [
        "left-out",
        "cut",
        "mojibake",
        "replacement-characters",
        "control-characters",
        "few-letters",
        "repeated",
    ]
    path.write_text("text,n\n" + "".join(f"{number} {number},1\n" for number in range(19)))
    assert {finding.name for finding in examined(path).findings} >= {
        "hardly-letters",
        "few-documents",
        "few-characters",
    }


def test_what_training_would_refuse(tmp_path):
    (tmp_path / "a.csv").write_text("text\nsame\nsame\n")
    found = examined(tmp_path / "a.csv")
    assert "one group" in found.facts["refusal"] and any("would be refused" in line for line in found.lines)
