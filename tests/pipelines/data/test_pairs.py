import gzip

import pytest

from pipelines.data import corpora, pairs
from pipelines.support.errors import UserError

EN, DE = "A man.\nA dog runs.\n\nTwo birds.\n", "Ein Mann.\nEin Hund l\u00e4uft.\nNichts.\nZwei V\u00f6gel.\n"
NON_EMPTY = [("A man.", "Ein Mann."), ("A dog runs.", "Ein Hund l\u00e4uft."), ("Two birds.", "Zwei V\u00f6gel.")]


def write(folder, **files):
    """Writes files; in their names __ stands for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())


def as_tuples(part):
    return list(zip(part.source.tolist(), part.target.tolist(), strict=True))


def test_two_files_are_read_line_by_line_without_empty_sides(tmp_path):
    write(tmp_path, a__en=EN, a__de__gz=DE)
    part = pairs.read(str(tmp_path / "a.en"), str(tmp_path / "a.de.gz"), None)["train"]
    assert as_tuples(part) == NON_EMPTY and part.dropped == {"one side is empty": 1}


@pytest.mark.parametrize("arguments", [("a.en", "a.de", None), ("a.tsv", None, None), (".", None, "en-de")])
def test_chunks_have_the_pairs_and_the_counts_of_reading_all_at_once(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    lines = [("  " if i % 10 == 3 else f"source {i}", f"target {i}") for i in range(100)]
    sides = ["\n".join(side) + "\n" for side in zip(*lines, strict=True)]
    table = "\n".join("no tab" if i % 10 == 7 else "\t".join(line) for i, line in enumerate(lines))
    write(tmp_path, a__en=sides[0], a__de=sides[1], train__en=sides[0], train__de=sides[1], a__tsv=table)
    whole = pairs.read(*arguments)["train"]
    monkeypatch.setattr(pairs, "_CHUNK_PAIRS", 7)
    read_again = pairs.find(*arguments)["train"]
    for _ in range(2):
        chunks = list(read_again())
        assert len(chunks) == 15 and max(map(len, chunks)) <= 7
        joined = pairs.joined(chunks)
        assert as_tuples(joined) == as_tuples(whole) and joined.dropped == whole.dropped
    assert whole.dropped == {"one side is empty": 20 if arguments[0] == "a.tsv" else 10}


def test_files_of_different_length_are_refused_after_the_last_line_that_both_have(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "_CHUNK_PAIRS", 2)
    write(tmp_path, a__en="a\nb\nc\nd\ne\n", a__de="A\nB\nC\n")
    for arguments, counts in ((("a.en", "a.de"), "5 and 3"), (("a.de", "a.en"), "3 and 5")):
        chunks = pairs.find(*(str(tmp_path / name) for name in arguments), None)["train"]()
        assert as_tuples(next(chunks)) in ([("a", "A"), ("b", "B")], [("A", "a"), ("B", "b")])
        with pytest.raises(UserError, match=f"have {counts} lines: they must be translations line by line"):
            list(chunks)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("x/a.en", "x/a.de.gz", None), "en-de"),
        (("x/a.txt", "x/b.txt", None), None),
        (("x/a.txt", "x/b.txt", "fr-de"), "fr-de"),
        (("multi30k", None, None), "en-de"),
        (("tatoeba-spa-eng", None, None), "en-es"),
        (("pairs.tsv", None, None), None),
        ((None, None, None), "en-es"),
    ],
)
def test_the_languages_are_the_given_ones_or_those_of_the_data(arguments, expected):
    assert pairs.language_pair(*arguments) == expected


@pytest.mark.parametrize(("pair", "is_reversed"), [("en-de", False), ("de-en", True)])
def test_a_folder_is_read_in_either_direction(tmp_path, pair, is_reversed):
    write(tmp_path, train__en=EN, train__de__gz=DE, val__en="Hi.\n", val__de="Na.\n")
    write(tmp_path, test_2016_flickr__en="Ho.\n", test_2016_flickr__de="Ha.\n")
    parts = pairs.read(str(tmp_path), None, pair)
    assert as_tuples(parts["train"]) == [each[::-1] if is_reversed else each for each in NON_EMPTY]
    assert len(parts["valid"]) == len(parts["test"]) == 1
    named = pairs.read(str(tmp_path), None, pair, "val")
    assert as_tuples(named["train"]) == [("Na.", "Hi.") if is_reversed else ("Hi.", "Na.")]


def test_a_folder_needs_no_training_pairs(tmp_path):
    write(tmp_path, test__en="Ho.\n", test__de="Ha.\n")
    parts = pairs.read(str(tmp_path), None, "en-de")
    assert {name: as_tuples(part) for name, part in parts.items()} == {"test": [("Ho.", "Ha.")]}


def test_endings_that_are_not_languages_do_not_contradict_the_pair(tmp_path):
    write(tmp_path, a__src=EN, a__tgt=DE)
    assert as_tuples(pairs.read(str(tmp_path / "a.src"), str(tmp_path / "a.tgt"), "en-de")["train"]) == NON_EMPTY


@pytest.mark.parametrize("pair", [None, "en-de"])
def test_a_table_without_a_header_has_source_and_target_in_its_first_columns(tmp_path, pair):
    write(tmp_path, plain__tsv="A man.\tEin Mann.\tCC\nno tab\n")
    part = pairs.read(str(tmp_path / "plain.tsv"), None, pair)["train"]
    assert as_tuples(part) == NON_EMPTY[:1] and part.dropped == {"one side is empty": 1}


@pytest.mark.parametrize("header", ["id\tde\ten", "ID\tDE \tEN"])
def test_a_table_with_a_header_is_read_by_the_names_of_its_columns(tmp_path, header):
    write(tmp_path, head__tsv=f"{header}\n1\tEin Mann.\tA man.\n")
    assert as_tuples(pairs.read(str(tmp_path / "head.tsv"), None, "en-de")["train"]) == NON_EMPTY[:1]
    assert as_tuples(pairs.read(str(tmp_path / "head.tsv"), None, "de-en")["train"]) == [NON_EMPTY[0][::-1]]


def test_the_columns_of_tatoeba_are_known(tmp_path, monkeypatch):
    write(tmp_path, spa__txt="A man.\tUn hombre.\n")
    monkeypatch.setattr(corpora, "fetch", lambda name: tmp_path)
    assert as_tuples(pairs.read("tatoeba-spa-eng", None, None)["train"]) == [("A man.", "Un hombre.")]
    assert as_tuples(pairs.read("tatoeba-spa-eng", None, "es-en")["train"]) == [("Un hombre.", "A man.")]
    with pytest.raises(UserError, match="--pair en-de: .*spa.txt has the columns en, es"):
        pairs.read("tatoeba-spa-eng", None, "en-de")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.en", "b.de", None), "have 4 and 1 lines"),
        (("a.en", "empty", None), "is empty"),
        (("a.en", "spaces", None), "no line has text on both sides"),
        (("a.en", "nowhere", None), "no such file or folder: .*nowhere.*multi30k"),
        (("a.en", None, None), "has no tabs"),
        ((".", None, None), "--pair, such as en-de .it has de, en"),
        ((".", None, "en-fr"), "has no train.en and train.fr"),
        ((".", "a.en", None), "is a folder"),
        (("a.en", "a.de", "de-en"), "--pair de-en: --data a.en is en by its name, but de is expected"),
        (("a.en", "a.de", "en-fr"), "--target a.de is de by its name, but fr is expected"),
        (("a.en", "a.de", "en-de", "val"), "--split val: a.en and a.de are two files"),
        (("head.tsv", None, "en-de", "val"), "--split val: head.tsv is one file"),
        (("head.tsv", None, "en-fr"), "--pair en-fr: head.tsv has the columns id, en, de"),
        (("binary", "b.de", None), "not text"),
        ((None, None, "en-de"), "--pair en-de: the embedded sample is en-es"),
    ],
)
def test_data_that_cannot_be_read_is_an_error_that_names_it(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a__en=EN, a__de=DE, b__de="Ein Mann.\n", empty="", spaces="  \n\t\n \n\n", binary="abc\0d")
    write(tmp_path, head__tsv="id\ten\tde\n1\tA man.\tEin Mann.\n")
    with pytest.raises(UserError, match=message):
        pairs.read(*arguments)


def test_without_data_the_embedded_sample_is_read():
    parts = pairs.read(None, None, None)
    assert {name: len(part) for name, part in parts.items()} == {"train": pairs.SAMPLE_SIZE}


def test_take_keeps_the_chosen_rows_and_what_was_dropped(tmp_path):
    write(tmp_path, a__en=EN, a__de=DE)
    part = pairs.read(str(tmp_path / "a.en"), str(tmp_path / "a.de"), None)["train"]
    taken = part.take([2, 0])
    assert as_tuples(taken) == [NON_EMPTY[2], NON_EMPTY[0]] and taken.dropped == part.dropped
