import pytest

from pipelines.inspect.sentences import AgreementSentence
from pipelines.inspect.treebank import pairs_from_conllu
from pipelines.support.errors import UserError
from tests.conftest import CORPORA

SING, PLUR = "Number=Sing", "Number=Plur"
PRESENT = "Mood=Ind|Tense=Pres|VerbForm=Fin|Person=3"
PAST = "Mood=Ind|Tense=Past|VerbForm=Fin|Person=3"
KEYS = [
    # form, lemma, upos, features, head, relation
    ("The", "the", "DET", "_", 2, "det"),
    ("keys", "key", "NOUN", PLUR, 7, "nsubj"),
    ("near", "near", "ADP", "_", 5, "case"),
    ("the", "the", "DET", "_", 5, "det"),
    ("table", "table", "NOUN", SING, 2, "nmod", "SpaceAfter=No"),
    (",", ",", "PUNCT", "_", 2, "punct"),
    ("open", "open", "VERB", f"{PRESENT}|{PLUR}", 0, "root"),
    ("doors", "door", "NOUN", PLUR, 7, "obj", "SpaceAfter=No"),
    (".", ".", "PUNCT", "_", 7, "punct"),
]
OPENS = [("It", "it", "PRON", SING, 2, "nsubj"), ("opens", "open", "VERB", f"{PRESENT}|{SING}", 0, "root")]


def clause(noun, number, verb, lemma, features, upos="AUX", **other):
    """Noun, verb, adjective: "cats were small"."""
    return [
        (noun, noun.rstrip("s"), "NOUN", number, 3, other.get("relation", "nsubj")),
        (verb, lemma, upos, features, 3, "cop"),
        ("small", "small", "ADJ", "_", 0, "root"),
    ]


def write(tmp_path, *sentences, name="made.conllu"):
    lines = []
    for sentence in sentences:
        for i, (form, lemma, upos, features, head, relation, *misc) in enumerate(sentence, 1):
            cells = (i, form, lemma, upos, "_", features, head, relation, "_", misc[0] if misc else "_")
            lines.append("\t".join(map(str, cells)))
        lines.append("")
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_other_form_comes_from_the_treebank(tmp_path):
    assert pairs_from_conllu(write(tmp_path, KEYS, OPENS)) == [
        AgreementSentence("The keys near the table,", "open", "opens", 4, 1)
    ]
    with pytest.raises(UserError, match="no noun before its verb"):  # it has no other form
        pairs_from_conllu(write(tmp_path, KEYS))


def test_several_files_have_one_lexicon(tmp_path):
    paths = (str(write(tmp_path, KEYS, name="a.conllu")), str(write(tmp_path, OPENS, name="b.conllu")))
    assert len(pairs_from_conllu(paths)) == 1


def test_spaced_tokens_have_an_index_of_the_subject(tmp_path):
    (pair,) = pairs_from_conllu(write(tmp_path, KEYS, OPENS), spaced=True)
    assert pair.prefix == "The keys near the table ,"
    assert pair.prefix.split(" ")[pair.subject] == "keys"


@pytest.mark.parametrize(
    ("noun", "number", "verb", "lemma", "features", "wrong"),
    [
        ("cats", PLUR, "were", "be", f"{PAST}|{PLUR}", "was"),
        ("cat", SING, "Was", "be", f"{PAST}|{SING}", "were"),
        ("cat", SING, "is", "be", f"{PRESENT}|{SING}", "are"),
        ("cats", PLUR, "have", "have", f"{PRESENT}|{PLUR}", "has"),
        ("cat", SING, "does", "do", f"{PRESENT}|{SING}", "do"),
    ],
)
def test_auxiliaries_and_copulas(tmp_path, noun, number, verb, lemma, features, wrong):
    (pair,) = pairs_from_conllu(write(tmp_path, clause(noun, number, verb, lemma, features)))
    assert pair == AgreementSentence(noun, verb.lower(), wrong, 0, 0)


@pytest.mark.parametrize(
    ("noun", "number", "verb", "lemma", "features"),
    [
        ("cats", PLUR, "was", "be", f"{PAST}|{SING}"),  # does not agree, as with coordinated subjects
        ("cat", SING, "'s", "be", f"{PRESENT}|{SING}"),
        ("cat", SING, "became", "become", f"{PAST}|{SING}"),
        ("cats", PLUR, "can", "can", "VerbForm=Fin"),
        ("cat", SING, "were", "be", f"Mood=Sub|Tense=Past|VerbForm=Fin|{SING}"),
    ],
)
def test_what_is_no_pair(tmp_path, noun, number, verb, lemma, features):
    with pytest.raises(UserError, match="no noun before its verb"):
        pairs_from_conllu(write(tmp_path, clause(noun, number, verb, lemma, features)))


def test_a_range_is_shown_once(tmp_path):
    lines = [
        "1\tI\tI\tPRON\t_\tNumber=Sing\t4\tnsubj\t_\t_",
        "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_",
        "2\tdo\tdo\tAUX\t_\t_\t4\taux\t_\t_",
        "3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_",
        "3.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_",
        "4\tknow\tknow\tVERB\t_\t_\t0\troot\t_\t_",
        "5\tcats\tcat\tNOUN\t_\tNumber=Plur\t7\tnsubj\t_\t_",
        f"6\twere\tbe\tAUX\t_\t{PAST}|Number=Plur\t7\tcop\t_\t_",
        "7\tsmall\tsmall\tADJ\t_\t_\t4\tccomp\t_\t_",
    ]
    path = tmp_path / "range.conllu"
    path.write_text("\n".join(lines))
    assert [pair.prefix for pair in pairs_from_conllu(path)] == ["I don't know cats"]
    assert [pair.prefix for pair in pairs_from_conllu(path, spaced=True)] == ["I do n't know cats"]


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "damaged.conllu"
    path.write_text("1\tcats\n")
    with pytest.raises(UserError, match="line 1: not ten columns"):
        pairs_from_conllu(path)
    path.write_text("\t".join(["2", "cats", *"abcdefgh"]))
    with pytest.raises(UserError, match="expected word 1"):
        pairs_from_conllu(path)
    with pytest.raises(UserError):
        pairs_from_conllu(tmp_path / "missing.conllu")


def test_pairs_of_ewt():
    path = CORPORA / "ud_ewt" / "en_ewt-ud-dev.conllu.xz"
    if not path.exists():
        pytest.skip("UD EWT is not on this machine")
    pairs = pairs_from_conllu(path)
    assert len(pairs) == 382
    assert sum(pair.attractors > 0 for pair in pairs) == 18
    assert sum(pair.distance >= 4 for pair in pairs) == 34
