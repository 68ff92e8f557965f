import io
import json

import pytest
import udtools

from pipelines.tagging.output import conllu_column, writer

TEXT = "Ann lives in New York. She's  fine 😀!"
TOKENS = ["Ann", "lives", "in", "New", "York", ".", "She", "'s", "fine", "😀", "!"]
START = [TEXT.index(token) for token in TOKENS]
RESULT = {
    "text": TEXT,
    "tokens": TOKENS,
    "tags": ["PROPN", "VERB", "ADP", "PROPN", "PROPN", "PUNCT", "PRON", "AUX", "ADJ", "SYM", "PUNCT"],
    "scores": [0.5] * 11,
    "start": START,
    "end": [start + len(token) for start, token in zip(START, TOKENS)],
    "sentence": [0] * 6 + [1] * 5,
}
EMPTY = {"text": " ", "tokens": [], "tags": [], "scores": [], "start": [], "end": [], "sentence": []}
SPANS = RESULT | {"tags": ["B-PER", "O", "O", "B-LOC", "I-LOC", *["O"] * 6]}


def written(suffix, results, column=None, tags=("NOUN",)) -> str:
    file = io.StringIO()
    write = writer(file, suffix, column, tags)
    for result in results:
        write([result])
    return file.getvalue()


def test_conllu():
    assert written(".conllu", [RESULT]).split("\n")[:10] == [
        "# newpar",
        "# sent_id = 1.1",
        "# text = Ann lives in New York.",
        "1\tAnn\t_\tPROPN\t_\t_\t_\t_\t_\tTokenRange=0:3",
        "2\tlives\t_\tVERB\t_\t_\t_\t_\t_\tTokenRange=4:9",
        "3\tin\t_\tADP\t_\t_\t_\t_\t_\tTokenRange=10:12",
        "4\tNew\t_\tPROPN\t_\t_\t_\t_\t_\tTokenRange=13:16",
        "5\tYork\t_\tPROPN\t_\t_\t_\t_\t_\tSpaceAfter=No|TokenRange=17:21",
        "6\t.\t_\tPUNCT\t_\t_\t_\t_\t_\tTokenRange=21:22",
        "",
    ]
    second = written(".conllu", [RESULT]).split("\n\n")[1].split("\n")
    assert second[:2] == ["# sent_id = 1.2", "# text = She's fine 😀!"]
    assert [line.split("\t")[9] for line in second[2:4]] == ["SpaceAfter=No|TokenRange=23:26", "TokenRange=26:28"]


@pytest.mark.parametrize(
    ("column", "tags", "found"),
    [
        (None, ("NOUN", "X", "_"), "upos"),
        (None, ("NN", "NNP"), "xpos"),
        (None, ("B-PER", "I-PER", "O"), "NER"),
        ("2", ("B-PER", "O"), "NER"),
        ("UPOS", ("N",), "upos"),
        ("xpos", ("NOUN",), "xpos"),
        ("feats", ("Case=Nom",), "feats"),
        ("Sense", ("a", "b"), "Sense"),
    ],
)
def test_the_column_of_the_tags_is_that_of_the_training_data(column, tags, found):
    assert conllu_column(column, tags) == found


def test_spans_are_in_the_last_column():
    lines = written(".conllu", [SPANS], None, ["B-PER", "B-LOC", "I-LOC", "O"]).split("\n")
    assert lines[3] == "1\tAnn\t_\t_\t_\t_\t_\t_\t_\tNER=B-PER|TokenRange=0:3"
    assert lines[7] == "5\tYork\t_\t_\t_\t_\t_\t_\t_\tNER=I-LOC|SpaceAfter=No|TokenRange=17:21"


def test_pretokenized_texts_are_one_sentence_with_spaces():
    result = {"text": "So it is .", "tokens": ["So", "it", "is", "."], "tags": ["X"] * 4, "scores": [0.5] * 4}
    lines = written(".conllu", [result]).split("\n")
    assert lines[1:4] == ["# sent_id = 1.1", "# text = So it is .", "1\tSo\t_\tX\t_\t_\t_\t_\t_\t_"]


def test_an_invisible_character_between_tokens_is_no_space():
    text = "a\u200b-\ufeff b"
    result = {"text": text, "tokens": ["a", "-", "b"], "tags": ["X"] * 3, "scores": [1.0] * 3}
    result |= {"start": [0, 2, 5], "end": [1, 3, 6], "sentence": [0] * 3}
    assert "# text = a- b\n" in written(".conllu", [result])


def test_the_ids_of_sentences_have_the_number_of_their_text():
    text = written(".conllu", [RESULT, EMPTY, RESULT])
    assert [line for line in text.split("\n") if "sent_id" in line] == [
        f"# sent_id = {number}" for number in ("1.1", "1.2", "3.1", "3.2")
    ]


def test_tokens_cannot_end_a_line():
    result = {"text": "", "tokens": ["a\tb\nc", "\n", "\u2028", "\xa0x"], "tags": ["X"] * 4, "scores": [0.5] * 4}
    lines = written(".conllu", [result]).split("\n")
    assert [line.split("\t")[:4] for line in lines[3:7]] == [
        ["1", "a b c", "_", "X"],
        ["2", "_", "_", "X"],
        ["3", "_", "_", "X"],
        ["4", "\xa0x", "_", "X"],
    ]


@pytest.mark.parametrize("result", [RESULT, SPANS])
def test_conllu_is_valid(tmp_path, result):
    """By the first level of the official validator: the second one needs a tree."""
    path, validator = tmp_path / "tagged.conllu", udtools.Validator(lang="en", level=1, output=None)
    text = written(".conllu", [result, EMPTY, result], None, set(result["tags"]))
    path.write_text(text, encoding="utf-8")
    state = validator.validate_files([str(path)])
    assert not state.error_counter and state.sentence_id == "3.2"
    path.write_text(text.replace("2\t", "3\t"), encoding="utf-8")
    assert validator.validate_files([str(path)]).error_counter


def test_json_lines_have_a_result_each():
    text = written(".jsonl", [RESULT, EMPTY])
    assert [json.loads(line) for line in text.splitlines()] == [RESULT, EMPTY]
    assert "😀" in text
