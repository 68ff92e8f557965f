from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.data import conllu
from pipelines.support.errors import UserError

PATH = Path("a.conllu")


def read(text, column=None):
    return conllu.read(PATH, text, column)


def line(number, form, upos="X", misc="_", lemma="_", xpos="_", feats="_"):
    return "\t".join([str(number), form, lemma, upos, xpos, feats, "_", "_", "_", misc])


FRENCH = "\n".join(
    [
        "# newdoc id = a",
        "# text = Il va au marché.",
        line(1, "Il", "PRON"),
        line(2, "va", "VERB"),
        line("3-4", "au", "_"),
        line(3, "à", "ADP"),
        line(4, "le", "DET"),
        line(5, "marché", "NOUN", "SpaceAfter=No"),
        line(6, ".", "PUNCT"),
        "",
        "# newpar",
        "# text = Some other text",
        line("1-2", "Du", "_", "SpaceAfter=No|Foo=1"),
        line(1, "De", "ADP", "CorrectSpaceAfter=No"),
        line(2, "le", "DET", "SpaceAfter=No"),
        line(3, "!", "PUNCT", "CorrectSpaceAfter=No"),
        line("3.1", "vu", "VERB"),
        line(4, "Ha", "INTJ"),
        "",
        "#newdoc",
        line(1, "Fin", "NOUN"),
    ]
)


def test_words_of_ranges_have_tags_and_ranges_and_empty_nodes_have_none():
    tokens, tags, _, _, dropped = read(FRENCH)
    assert tokens == [["Il", "va", "à", "le", "marché", "."], ["De", "le", "!", "Ha"], ["Fin"]]
    assert tags == [["PRON", "VERB", "ADP", "DET", "NOUN", "PUNCT"], ["ADP", "DET", "PUNCT", "INTJ"], ["NOUN"]]
    assert dropped == {}


def test_the_text_is_that_of_the_comment_if_it_fits_and_else_made_of_forms_and_ranges():
    assert read(FRENCH)[2] == ["Il va au marché.", "Du! Ha", "Fin"]


def test_documents_start_with_their_comments():
    assert read(FRENCH)[3] == [0, 0, 1]
    assert read("\n\n".join([line(1, "a"), line(1, "b")]))[3] == [0, 0]
    assert read("\n\n".join([line(1, "a"), "# newdoc\n" + line(1, "b"), "# newdoc\n" + line(1, "c")]))[3] == [0, 1, 2]


CHARACTERS = "ab-_#.'|=/&1\u00e9\u0301\u6211\U0001f600"
FORMS = st.text(CHARACTERS, min_size=1, max_size=5)
# Units of the text: the forms of their words (several for a range) and whether a space is after them.
UNITS = st.tuples(st.lists(FORMS, min_size=1, max_size=3), st.booleans())
SENTENCES = st.lists(st.lists(UNITS, min_size=1, max_size=6), min_size=1, max_size=4)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sentences=SENTENCES, with_text=st.booleans(), with_empty_nodes=st.booleans())
def test_any_sentences_are_read_as_they_were_written(sentences, with_text, with_empty_nodes):
    lines, expected, texts = [], [], []
    for units in sentences:
        text = "".join("".join(words) + " " * has_space for words, has_space in units).strip()
        lines += [f"# text = {text}"] * with_text
        number = 1
        for words, has_space in units:
            misc = "_" if has_space else "A=b|SpaceAfter=No"
            if len(words) > 1:
                lines.append(line(f"{number}-{number + len(words) - 1}", "".join(words), "_", misc))
            for word in words:
                lines += [line(f"{number}.1", "empty")] * with_empty_nodes
                lines.append(line(number, word, f"T{number}", "_" if len(words) > 1 else misc))
                number += 1
        lines.append("")
        expected.append([word for words, _ in units for word in words])
        texts.append(text)
    tokens, tags, found_texts, _, dropped = read("\n".join(lines))
    assert (tokens, found_texts, dropped) == (expected, texts, {})
    assert tags == [[f"T{i}" for i in range(1, len(words) + 1)] for words in expected]
    assert conllu.is_conllu(lines)


def test_an_underscore_is_a_word_only_if_its_lemma_is_one_too():
    tokens, _, texts, _, dropped = read("\n".join([line(1, "_"), line(2, "_", lemma="be"), line(3, "a")]))
    assert tokens == [["_", "a"]] and dropped == {"words without a form": 1}
    assert texts == ["_ _ a"]


def test_a_sentence_without_words_is_left_out_and_counted():
    text = "\n".join([line(1, "_", lemma="be"), "", line("1.1", "a"), "", "# text = b", line(1, "b")])
    tokens, _, texts, _, dropped = read(text)
    assert (tokens, texts) == ([["b"]], ["b"])
    assert dropped == {"words without a form": 1, "sentences without words": 1}


COLUMNS = "\n".join(
    [
        line(1, "Jim", "PROPN", "NER=B-PER|Id=1", xpos="NNP", feats="Number=Sing"),
        line(2, "Bo", "PROPN", "NER=I-PER|SpaceAfter=No", xpos="NNP", feats="Number=Sing"),
        line(3, "!", "PUNCT", "_", xpos="_"),
    ]
)


@pytest.mark.parametrize(
    ("column", "tags"),
    [
        (None, ["PROPN", "PROPN", "PUNCT"]),
        ("UPOS", ["PROPN", "PROPN", "PUNCT"]),
        ("xpos", ["NNP", "NNP", "_"]),
        ("feats", ["Number=Sing", "Number=Sing", "_"]),
        ("NER", ["B-PER", "I-PER", "O"]),  # outside of the spans there is no value
        ("ner", ["B-PER", "I-PER", "O"]),
        ("Id", ["1", "_", "_"]),
    ],
)
def test_the_tags_are_those_of_the_column_or_of_the_key(column, tags):
    assert read(COLUMNS, column)[1] == [tags]


def test_words_without_upos_or_xpos_are_counted():
    assert read(COLUMNS, "xpos")[4] == {"words without a tag in XPOS, tagged _": 1}
    assert read(COLUMNS, "feats")[4] == read(COLUMNS, "NER")[4] == {}


def test_values_that_do_not_mark_spans_have_an_underscore_where_they_are_missing():
    text = "\n".join([line(1, "a", misc="K=B-x"), line(2, "b", misc="K=other"), line(3, "c")])
    assert read(text, "K")[1] == [["B-x", "other", "_"]]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (
            COLUMNS + "\n4\tx\tX",
            None,
            r"^a.conllu, line 4: 3 columns \('4.*'\), but CoNLL-U has ten, with tabs between",
        ),
        ("# a\n1 Jim PROPN", None, r"line 2: 1 column \('1 Jim PROPN'\), but CoNLL-U has ten"),
        (COLUMNS + "\n" + line("x", "y"), None, "line 4: 'x' is not an id of CoNLL-U, such as 1, 1-2 or 1.1"),
        (COLUMNS + "\n" + line(1, "y"), None, "line 4: the id 1 comes after 3: put a blank line between sentences"),
        (
            line(0, "a") + "\n" + line(1, "b"),
            None,
            "^a.conllu, line 1: the id is 0, but the first word .* has the id 1",
        ),
        (
            line("3-2", "ab") + "\n" + line(1, "a"),
            None,
            "^a.conllu, line 1: the range 3-2 ends before it starts: write",
        ),
        (line(1, "a") + "\n" + line("1-2", "ab"), None, "line 2: the range 1-2 comes after the word 1: put it before"),
        (line("1-3", "ab") + "\n" + line("2-4", "bc"), None, "line 2: the range 2-4 starts in the range before it, "),
        (
            line("1-3", "ab") + "\n" + line(1, "a") + "\n\n",
            None,
            "line 1: the range 1-3 has words up to 3, .* ends with 1",
        ),
        (line("1-3", "ab") + "\n" + line(1, "a"), None, "line 1: the range 1-3 has words up to 3, .* ends with 1"),
        (COLUMNS, "NE", r"--column NE: no word of a.conllu has the key 'NE' in MISC; did you mean NER\?: give upos,"),
        (COLUMNS, "lemma", r"--column lemma: .*: give upos, xpos, feats, or a key of MISC \(NER, Id, SpaceAfter\)$"),
        (COLUMNS, "4", "--column 4: a.conllu is CoNLL-U, whose columns have names: give upos, xpos"),
        (line(1, "a"), "Foo", r"or a key of MISC \(it has none\)$"),
        (line(1, "a", "_", "K=v", xpos="NN"), None, r"no word has a tag in UPOS: name another .*--column \(xpos, K\)$"),
        (line(1, "a", "_"), None, "no word has a tag in UPOS: give a file with tags"),
        (line(1, "a"), "xpos", r"no word has a tag in XPOS: name another one with --column \(upos\)"),
        ("# text = a\n\n", None, "a.conllu has no sentences"),
    ],
)
def test_text_that_cannot_be_read_is_an_error_that_names_the_line_and_the_remedy(text, column, message):
    with pytest.raises(UserError, match=message) as error:
        read(text, column)
    assert "\n" not in str(error.value)


def test_conllu_is_known_by_its_columns():
    assert conllu.is_conllu(["", "# text", line(1, "a")])
    assert conllu.is_conllu([line("1-2", "a")])
    assert not conllu.is_conllu(["a\tB-PER"])
    assert not conllu.is_conllu([line("a", "b")])
    assert not conllu.is_conllu(["# only a comment"])
