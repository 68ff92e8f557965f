import pytest

from pipelines.support import paths
from pipelines.support.errors import UserError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("b.csv", "a.csv", "c[1].csv", "in/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text,label\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, None),
        ("imdb", "imdb"),
        ("missing.csv", "missing.csv"),
        (("a.csv",), "a.csv"),
        (("b.csv", "a.csv"), ("b.csv", "a.csv")),
        ("?.csv", ("a.csv", "b.csv")),
        ("[a]*.csv", "a.csv"),
        ("c[1].csv", "c[1].csv"),
        (("b.csv", "?.csv", "b.csv"), ("b.csv", "a.csv")),
        ("**/*.csv", ("a.csv", "b.csv", "c[1].csv", "in/d.csv")),
        ("*", ("a.csv", "b.csv", "c[1].csv")),
    ],
)
def test_patterns_are_replaced_by_the_files_that_match(folder, data, expected):
    assert paths.expanded(data) == expected
    assert paths.expanded(paths.expanded(data)) == expected


def test_a_pattern_without_a_match_is_refused(folder):
    with pytest.raises(UserError, match=r"no file matches z\*.csv: give a file, or a pattern such as 'reviews/\*.csv'"):
        paths.expanded(("a.csv", "z*.csv"))


def test_a_name_for_messages():
    assert [paths.shown(data) for data in (None, "-", "a.csv", ("a.csv", "b.csv", "c.csv"))] == [
        "the embedded sample",
        "stdin",
        "a.csv",
        "a.csv and 2 more",
    ]
    assert paths.each("a.csv") == ("a.csv",) and paths.each(("a", "b")) == ("a", "b")


def test_a_flag_without_a_value_is_one_line():
    with pytest.raises(UserError, match="a flag of files, such as --data, has no value: give a path"):
        paths.expanded(())


@pytest.mark.parametrize(
    ("path", "found"),
    [("review.csv", "reviews.csv"), ("Reviews.CSV", "reviews.csv"), ("other.txt", None), ("no/reviews.csv", None)],
)
def test_a_wrong_name_has_a_suggestion(tmp_path, monkeypatch, path, found):
    (tmp_path / "reviews.csv").write_text("text")
    (tmp_path / "dates.json").mkdir()
    monkeypatch.chdir(tmp_path)
    assert paths.suggested(path) == ("" if found is None else f"; did you mean {found}?")
    whole = str(tmp_path / path)
    assert paths.suggested(whole) == ("" if found is None else f"; did you mean {tmp_path / found}?")
    assert paths.suggested("a\0b") == ""
