import pytest

from pipelines.support.errors import UserError
from pipelines.translation import examine
from pipelines.translation.config import TranslationConfig
from tests.command_line import ROOT
from tests.pipelines.made_sentences import sentences

DATA = ROOT.parent / "shared" / "data"
SPANISH = {
    "red": "rojo", "green": "verde", "blue": "azul", "old": "viejo", "new": "nuevo", "large": "grande",
    "house": "casa", "river": "rio", "tree": "arbol", "cloud": "nube", "street": "calle", "window": "ventana",
    "music": "musica", "paper": "papel", "stone": "piedra", "light": "luz", "water": "agua", "bread": "pan",
}  # fmt: skip


def translated(count, seed=0):
    texts = sentences(count, seed, " ".join(SPANISH))
    return [(text, " ".join(SPANISH[word] for word in text.split())) for text in texts]


def write(path, pairs):
    path.write_text("".join("\t".join(pair) + "\n" for pair in pairs))
    return str(path)


def examined(data, **options):
    return examine.examine(TranslationConfig(data=data, **options).resolve())


def names(data, **options):
    return [finding.name for finding in examined(data, **options).findings]


def test_a_clean_file_has_no_findings(tmp_path):
    data, valid = write(tmp_path / "a.tsv", translated(500)), write(tmp_path / "b.tsv", translated(50, seed=9))
    assert names(data, valid=valid) == []


def test_what_is_planted_is_named(tmp_path):
    pairs = translated(500)
    planted = [
        (pairs[0][0] + " then", "pan"),  # lengths
        ("a copy of this sentence", "a copy of this sentence"),
        ("only a source", ""),
        pairs[1][::-1],  # exchanged
        ("the water", "\u0432\u043e\u0434\u0430 \u0440\u0435\u043a\u0430"),  # another script
        ("a coffee", "un caf\u00c3\u00a9"),
        *pairs[2:10],  # repeated
        ("no target here",),
        ("a <b>house</b>", "una <b>casa</b>"),
    ]
    findings = examined(write(tmp_path / "a.txt", [*pairs, *planted])).findings
    by_name = {finding.name: finding for finding in findings}
    expected = {"left-out", "lengths", "copies", "exchanged", "script", "repeated", "mojibake", "markup"}
    assert set(by_name) == expected
    assert sum(finding.name == "left-out" for finding in findings) == 2  # the empty side, and the line without a tab
    assert any("--separator" in finding.remedy for finding in findings)
    assert by_name["copies"].examples == ("a.txt, pair 502: a copy of this sentence | a copy of this sentence",)
    assert pairs[1][1] in by_name["exchanged"].examples[0] and "Cyrillic" in by_name["script"].text


def test_a_side_without_letters(tmp_path):
    rows = [(source, str(number % 7)) for number, (source, _) in enumerate(translated(500))]
    (finding,) = examined(write(tmp_path / "a.tsv", rows)).findings
    assert finding.name == "no-letters" and finding.remedy.startswith("--target-column")


def test_several_translations_are_counted_and_no_finding(tmp_path):
    pairs = translated(500)
    data = examined(write(tmp_path / "a.tsv", [*pairs, (pairs[0][0], pairs[0][1] + " pan")]))
    assert data.facts["several_translations"] == 1 and data.findings == []


def test_lines_that_are_moved_on_one_side(tmp_path):
    pairs = translated(500)
    moved = [(source, target) for (source, _), (_, target) in zip(pairs, [*pairs[1:], pairs[0]], strict=True)]
    assert names(write(tmp_path / "a.tsv", moved)) == ["unaligned"]


def test_sources_of_validation_that_are_also_in_training(tmp_path):
    pairs = translated(500)
    data, valid = write(tmp_path / "a.tsv", pairs), write(tmp_path / "b.tsv", [*pairs[:3], *translated(50, seed=9)])
    (finding,) = examined(data, valid=valid).findings
    assert finding.name == "leak" and "--valid" in finding.text and pairs[0][0] in finding.examples[0]


def test_two_files_and_what_training_would_refuse(tmp_path):
    pairs = translated(300)
    for side, ending in enumerate(("en", "es")):
        (tmp_path / f"a.{ending}").write_text("".join(pair[side] + "\n" for pair in pairs))
    found = examined(str(tmp_path / "a.en"), target=str(tmp_path / "a.es"))
    assert found.facts["languages"] == "en-es" and found.findings == []
    for name in ("a.en", "a.es"):
        (tmp_path / name).write_text((tmp_path / name).read_text() * 2)
    (repeated,) = examined(str(tmp_path / "a.en"), target=str(tmp_path / "a.es")).findings
    assert repeated.name == "repeated" and repeated.remedy == ""  # each file would be sorted out on its own
    (tmp_path / "a.es").write_text("uno\n")
    with pytest.raises(UserError, match="600 and 1 lines"):
        examined(str(tmp_path / "a.en"), target=str(tmp_path / "a.es"))
    one = examined(write(tmp_path / "one.tsv", [("a b", "c d"), ("a b", "c e")]))
    assert "one group" in one.facts["refusal"] and any("would be refused" in line for line in one.lines)


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "data"), [("tatoeba", "spa.txt.xz"), ("multi30k", "")])
def test_real_pairs_have_no_findings(folder, data):
    if not (DATA / folder).is_dir():
        pytest.skip("the corpus is not here")
    assert names(str(DATA / folder / data), pair=None if data else "en-de") == []
