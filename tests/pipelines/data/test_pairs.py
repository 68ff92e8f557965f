import gzip

import numpy as np
import pytest

from pipelines.data import pairs, sample_pairs
from pipelines.errors import UserError

EN, DE = "A man.\nA dog runs.\n\nTwo birds.\n", "Ein Mann.\nEin Hund l\u00e4uft.\nNichts.\nZwei V\u00f6gel.\n"


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())


def both(part):
    return list(zip(part.source.tolist(), part.target.tolist(), strict=True))


KEPT = [("A man.", "Ein Mann."), ("A dog runs.", "Ein Hund l\u00e4uft."), ("Two birds.", "Zwei V\u00f6gel.")]


def test_two_files(tmp_path):
    write(tmp_path, a__en=EN, a__de__gz=DE)
    part = pairs.read(str(tmp_path / "a.en"), str(tmp_path / "a.de.gz"), None)["train"]
    assert both(part) == KEPT and part.dropped == {"one side is empty": 1}
    assert pairs.language_pair("x/a.en", "x/a.de.gz", None) == "en-de"
    assert pairs.language_pair("x/a.txt", "x/b.txt", None) is None


@pytest.mark.parametrize(("pair", "flip"), [("en-de", False), ("de-en", True)])
def test_a_folder_in_either_direction(tmp_path, pair, flip):
    write(tmp_path, train__en=EN, train__de__gz=DE, val__en="Hi.\n", val__de="Na.\n", test_2016_flickr__en="Ho.\n", test_2016_flickr__de="Ha.\n")
    found = pairs.read(str(tmp_path), None, pair)
    assert both(found["train"]) == [pair[::-1] if flip else pair for pair in KEPT]
    assert len(found["valid"]) == len(found["test"]) == 1
    assert both(pairs.read(str(tmp_path), None, pair, "val")["train"]) == [("Na.", "Hi.") if flip else ("Hi.", "Na.")]


def test_endings_that_are_no_languages_and_a_folder_without_training_pairs(tmp_path):
    write(tmp_path, a__src=EN, a__tgt=DE, test__en="Ho.\n", test__de="Ha.\n")
    assert both(pairs.read(str(tmp_path / "a.src"), str(tmp_path / "a.tgt"), "en-de")["train"]) == KEPT
    assert {name: both(part) for name, part in pairs.read(str(tmp_path), None, "en-de").items()} == {"test": [("Ho.", "Ha.")]}


def test_a_table_with_and_without_a_header(tmp_path):
    write(tmp_path, plain__tsv="A man.\tEin Mann.\tCC\nno tab\n", head__tsv="id\tde\ten\n1\tEin Mann.\tA man.\n")
    plain = pairs.read(str(tmp_path / "plain.tsv"), None, None)["train"]
    assert both(plain) == KEPT[:1] and plain.dropped == {"no tab": 1}
    assert both(pairs.read(str(tmp_path / "head.tsv"), None, "en-de")["train"]) == KEPT[:1]
    assert both(pairs.read(str(tmp_path / "plain.tsv"), None, "en-de")["train"]) == KEPT[:1]
    write(tmp_path, upper__tsv="DE \tEN\nEin Mann.\tA man.\n")
    assert both(pairs.read(str(tmp_path / "upper.tsv"), None, "en-de")["train"]) == KEPT[:1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.en", "b.de", None), "have 4 and 1 lines"),
        (("a.en", "empty", None), "is empty"),
        (("a.en", "spaces", None), "no line has text on both sides"),
        (("a.en", "nowhere", None), "no such file or folder: .*nowhere.*multi30k"),
        (("a.en", None, None), "has no tabs"),
        ((".", None, None), "--pair, such as en-de .*there is de, en"),
        ((".", None, "en-fr"), "has no train.en and train.fr"),
        ((".", "a.en", None), "is a folder"),
        (("a.en", "a.de", "de-en"), "--pair de-en: --data a.en is of en by its name, where de"),
        (("a.en", "a.de", "en-fr"), "--target a.de is of de by its name, where fr"),
        (("a.en", "a.de", "en-de", "val"), "--split val: a.en and a.de are two files"),
        (("head.tsv", None, "en-fr"), "--pair en-fr: head.tsv has the columns id, en, de"),
        (("binary", "b.de", None), "not text"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a__en=EN, a__de=DE, head__tsv="id\ten\tde\n1\tA man.\tEin Mann.\n", b__de="Ein Mann.\n", empty="", spaces="  \n\t\n \n\n", binary="a\0b")
    with pytest.raises(UserError, match=said):
        pairs.read(*arguments)


def test_the_sample_is_the_same_for_the_same_seed_and_repeats_no_sentence():
    first, second, other = sample_pairs.generate(400), sample_pairs.generate(400), sample_pairs.generate(400, seed=2)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert len(set(first[0])) == 400 and not np.array_equal(first[0], other[0])
    assert {len(part) for part in pairs.read(None, None, None).values()} == {pairs.SAMPLE_SIZE}


def test_the_sample_agrees_and_reorders():
    made = dict(zip(*sample_pairs.generate(6000), strict=True))
    words = [(english.lower().rstrip(".").split(), spanish.lower().rstrip(".").split()) for english, spanish in made.items()]
    houses = [spanish for english, spanish in words if "red" in english and "house" in english[english.index("red") :][:2]]
    assert houses and all("roja" in spanish and spanish.index("casa") < spanish.index("roja") for spanish in houses)
    assert all(("no" in spanish) == ("not" in english) for english, spanish in words)
    for english, spanish in words:
        assert not {"dogs", "cows"} & set(english) or {"perros", "vacas"} & set(spanish)
        assert "trenes" in spanish or "trains" not in english
