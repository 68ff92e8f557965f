import pytest

from pipelines.data import text_flaws
from pipelines.data.text_flaws import Flaws


def names(texts, encoding=None, **options):
    flaws = Flaws("text", encoding, **options)
    return [finding.name for finding in text_flaws.find(((str(i), text) for i, text in enumerate(texts)), flaws)]


@pytest.mark.parametrize(
    "text",
    ["caf\u00e9", "\u00fcber", "don\u2019t", "5 \u00b0C", "\u041f\u0440\u0438\u0432\u0435\u0442", "\u4f60\u597d"],
)
@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
def test_utf8_that_was_read_in_another_encoding(text, wrong):
    try:
        broken = text.encode().decode(wrong)
    except UnicodeDecodeError:
        pytest.skip("it cannot be read so")
    assert names([f"a {broken} b"]) == ["mojibake"] and names([text]) == []


@pytest.mark.parametrize(
    "text",
    [
        "\u00abCAF\u00c9\u00bb et \u00ab\u00e9t\u00e9\u00bb",
        "\u201cMANH\u00c3\u201d",
        "\u201e\u00c4\u201c und \u201e\u00d6\u201c",
        "d\u00e9j\u00e0 vu \u2026 tomb\u00e9\u2026\u201d",
        "10 \u20ac, na\u00efve, \u00c2ngela, \u00e2\u2026",
        "if a < b and c > d, R&D &c.",
        "<unk> @-@ <s>",
        "21. 3. 2024",
        "+49 30 123456",
        "",
    ],
)
def test_usual_texts_have_no_flaws(text):
    assert names([text]) == []


def test_every_flaw_is_named():
    texts = ["a\ufffdb", "a\x07b", "a<br />b", "R&amp;D", "1234 5678 9012 3456 7890 1234 5678 9012 3456"]
    assert names(texts) == ["replacement-characters", "control-characters", "markup", "few-letters"]
    assert names(texts, markup=False, letters=False) == ["replacement-characters", "control-characters"]


def test_a_flaw_of_few_texts_is_not_named():
    assert names(["caf\u00c3\u00a9", *["text"] * 2000]) == []


def test_the_remedy_of_a_wrong_encoding_is_the_flag_that_was_given():
    flaws = Flaws("line", "cp1252")
    flaws.add("a.txt:1", "caf\u00c3\u00a9")
    (finding,) = flaws.findings()
    assert "--encoding cp1252" in finding.remedy and finding.examples == ("a.txt:1: caf\u00c3\u00a9",)
    assert finding.text.startswith("1 line with letters")


def test_the_command_for_a_wrong_encoding_is_there_only_if_it_mends_the_whole_file():
    def remedy(*texts):
        return text_flaws.find((("a", text) for text in texts), Flaws("text", None))[0].remedy

    assert remedy("caf\u00c3\u00a9", "plain", "don\u00e2\u20ac\u2122t").startswith("iconv")
    assert remedy("caf\u00c3\u00a9", "th\u00e9") == remedy("caf\u00c3\u00a9", "\u4f60") == ""
