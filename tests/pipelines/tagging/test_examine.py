import pytest

from pipelines.support.errors import UserError
from pipelines.tagging import examine
from pipelines.tagging.config import TaggingConfig
from tests.command_line import ROOT
from tests.pipelines.made_sentences import sentences

DATA = ROOT.parent / "shared" / "data"


def written(rows):
    """Returns CoNLL lines of sentences of (token, tag)."""
    return "".join("".join(f"{token}\t{tag}\n" for token, tag in row) + "\n" for row in rows)


def tagged(count, seed=0):
    """Sentences of tokens, some of which are names of two tokens."""
    rows = []
    for text in sentences(count, seed):
        tokens = text.split()
        tags = ["O"] * len(tokens)
        tags[1:3] = ["B-PER", "I-PER"]
        tags[5] = "B-LOC"
        rows.append(list(zip(tokens, tags, strict=True)))
    return rows


def found(path, **options):
    return examine.examine(TaggingConfig(data=str(path), **options).resolve()).findings


def names(path, **options):
    return [finding.name for finding in found(path, **options)]


@pytest.fixture
def rows():
    return tagged(300)


def test_a_clean_file_has_no_findings(tmp_path, rows):
    (tmp_path / "a.conll").write_text(written(rows))
    (tmp_path / "b.conll").write_text(written(tagged(60, seed=9)))
    assert names(tmp_path / "a.conll", valid=str(tmp_path / "b.conll")) == []


def test_what_is_planted_is_named(tmp_path, rows):
    plain = [(token, "O") for token in rows[0] for token in token[:1]]
    planted = [
        [("Anna", "B-PRE"), ("sings", "O")],  # a misspelled tag
        [("In", "O"), ("Oslo", "I-LOC"), (".", "O")],  # continues no span
        [("caf\u00c3\u00a9", "O"), ("open", "O")],  # wrong encoding
        [("nobody", "B-n/a"), ("knows", "O")],  # a missing tag
        *rows[:20],  # repeated
        *([(token, "O") for token, _ in row] for row in rows[20:24]),  # with other tags
        plain * 60,  # without ends
    ]
    path = tmp_path / "a.conll"
    path.write_text(written([*rows, *planted]))
    by_name = {finding.name: finding for finding in found(path)}
    assert set(by_name) == {
        "misspelled-tag",
        "broken-scheme",
        "mojibake",
        "missing-tag",
        "repeated",
        "contradicting",
        "no-sentence-ends",
    }
    assert "'PRE' (1 token) is nearly 'PER'" in by_name["misspelled-tag"].text
    assert by_name["misspelled-tag"].examples == ("a.conll, sentence 301: Anna B-PRE, in: Anna sings",)
    assert "a.conll, sentence 302: Oslo/I-LOC" in by_name["broken-scheme"].examples
    assert "blank line" in by_name["no-sentence-ends"].remedy


def test_tags_that_are_no_spans_among_spans(tmp_path, rows):
    path = tmp_path / "a.conll"
    path.write_text(written([*rows, [("Anna", "b-PER"), ("sings", "o")]]))
    misspelled, mixed = found(path)
    assert misspelled.name == "misspelled-tag" and "'o' (1 token) is nearly 'O'" in misspelled.text
    assert mixed.name == "mixed-schemes" and "b-PER" in mixed.text and "Anna b-PER" in mixed.examples[0]
    path.write_text(written([*rows, [("Anna", "L-PER"), ("sings", "E-PER")]]))
    assert names(path) == ["mixed-schemes"]


def test_spans_without_an_end_where_others_have_one(tmp_path, rows):
    bioes = [[(token, {"I-PER": "E-PER", "B-LOC": "S-LOC"}.get(tag, tag)) for token, tag in row] for row in rows]
    path = tmp_path / "a.conll"
    path.write_text(written(bioes))
    assert names(path) == []
    path.write_text(written([*bioes, *rows[:1]]))
    assert names(path) == ["broken-scheme"]


def test_one_tag_numbers_and_texts_in_place_of_tokens(tmp_path, rows):
    path = tmp_path / "a.conll"
    path.write_text(written([[(token, "O") for token, _ in row] for row in rows] + [[("Anna", "B-PER"), ("is", "O")]]))
    (finding,) = found(path)
    assert finding.name == "one-tag" and finding.remedy.startswith("--column")
    path.write_text(written([[(str(i), tag) for i, (_, tag) in enumerate(row)] for row in rows]))
    assert "numbers" in names(path)
    path.write_text(written([[(token, "1" if tag == "O" else "0") for token, tag in row] for row in rows]))
    (finding,) = found(path)
    assert finding.name == "numbered-tags" and finding.remedy.startswith("--tag-names")
    assert names(path, tag_names="B-PER,O") != ["numbered-tags"]
    path.write_text(written([[(token, tag.replace("PER", "3")) for token, tag in row] for row in rows]))
    (finding,) = found(path)
    assert finding.name == "numbered-labels" and "label" in finding.text and "3" in finding.text
    path.write_text(written([[("a whole text", tag) for _, tag in row] for row in rows]))
    assert "spaces" in names(path)


def test_leaks_and_tags_that_only_validation_has(tmp_path, rows):
    (tmp_path / "a.conll").write_text(written(rows))
    (tmp_path / "b.conll").write_text(written([*rows[:5], *tagged(60, seed=9), [("Nato", "B-ORG"), ("is", "O")]]))
    leak, unknown = found(tmp_path / "a.conll", valid=str(tmp_path / "b.conll"))
    assert leak.name == "leak" and "5 sentences" in leak.text and "--valid" in leak.remedy
    assert unknown.name == "unknown-tags" and "Nato B-ORG" in unknown.examples[0]


def test_spans_that_the_reader_leaves_out_are_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    label = '[[0, 4, "PER"], [0, 10, "LOC"]]'
    path.write_text("".join(f'{{"text": "Anna sings in Oslo {i}", "label": {label}}}\n' for i in range(50)))
    left_out = [finding for finding in found(path) if finding.name == "left-out"]
    assert len(left_out) == 1 and "50" in left_out[0].text and "overlap" in left_out[0].text
    assert len(left_out[0].examples) == 3 and left_out[0].examples[1].startswith("record 2: ")


def test_what_training_would_refuse(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(written([[("a", "O"), ("b", "O")], [("c", "O"), ("d", "O")]]))
    examined = examine.examine(TaggingConfig(data=str(path)).resolve())
    assert "all tokens have the tag 'O'" in examined.facts["refusal"]
    assert any("would be refused" in line for line in examined.lines)
    with pytest.raises(UserError, match="no such file"):
        found(tmp_path / "b.conll")


@pytest.mark.slow
@pytest.mark.parametrize("column", ["upos", "xpos"])
def test_a_treebank_has_no_findings(column):
    if not (DATA / "ud_ewt").is_dir():
        pytest.skip("the corpus is not here")
    train, dev = (DATA / "ud_ewt" / f"en_ewt-ud-{split}.conllu.xz" for split in ("train", "dev"))
    assert names(train, valid=str(dev), column=column) == []


@pytest.mark.slow
def test_tweets_have_entities_of_html_and_nothing_else():
    if not (DATA / "ner").is_dir():
        pytest.skip("the corpus is not here")
    train, dev = (DATA / "ner" / f"wnut17.{split}.conll.xz" for split in ("train", "dev"))
    assert names(train, valid=str(dev)) == ["markup"]
