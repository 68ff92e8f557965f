import json

import pytest

import main
from pipelines.inspect.command import VIEWS

TEXT = ["to be or not"]


def run(capsys, *arguments):
    status = main.main(["inspect", *map(str, arguments)])
    return status, capsys.readouterr()


@pytest.mark.parametrize(
    "arguments",
    [
        ("gates", *TEXT, "--models", "small", "--top", "3"),
        ("states", *TEXT, "--models", "small", "--surface", "o"),
        ("attention", *TEXT, "--models", "attentive"),
        ("neurons", "--models", "small"),
        ("embeddings", "--models", "small", "--words", "o", "t"),
        ("size", "--models", "small", "attentive"),
        ("agreement", "to be or", "--models", "small", "--candidates", "not", "be"),
        ("memory", "--models", "small", "--tokens", "500", "--back", "1", "2"),
        ("gradients", "--models", "small", "--window", "8", "--places", "4", "--untrained", "--forget-bias", "0", "3"),
    ],
)
def test_each_inspection_writes_a_page(exports, tmp_path, capsys, arguments):
    path = tmp_path / "out.html"
    status, printed = run(capsys, *arguments, "--saved-models", exports, "--output", path)
    assert status == 0, printed.err
    assert f"page: {path}" in printed.out and path.read_text().startswith("<!doctype html>")


def test_a_picture(exports, tmp_path, capsys):
    path = tmp_path / "out.png"
    arguments = ("gates", *TEXT, "--models", "small", "--saved-models", exports, "--output", path)
    assert run(capsys, *arguments)[0] == 0 and path.read_bytes().startswith(b"\x89PNG")
    status, printed = run(capsys, *arguments)
    assert status == 2 and "exists already" in printed.err


def test_without_output_the_page_is_in_the_current_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "positions", "--length", 8, "--size", 4)[0] == 0
    assert run(capsys, "positions", "--length", 9, "--size", 4)[0] == 0, "the next call replaces it"
    assert "9 positions" in (tmp_path / "inspect-positions.html").read_text()


def test_json_has_the_numbers(exports, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, printed = run(capsys, "gates", *TEXT, "--models", "small", "--saved-models", exports, "--json")
    values = json.loads(printed.out)
    assert status == 0 and len(values["gates"]["data"]["tokens"]["token"]) == len(TEXT[0]) + 1
    assert not list(tmp_path.iterdir())


def test_several_models_are_on_one_page(exports, tmp_path, capsys):
    path = tmp_path / "page.html"
    arguments = ("gates", *TEXT, "--models", "small", "small/1", "--saved-models", exports, "--output", path)
    assert run(capsys, *arguments)[0] == 0
    assert 'id="gates-1"' in path.read_text() and 'id="gates-2"' in path.read_text()


def test_a_text_that_is_cut_is_named(exports, tmp_path, capsys):
    path = tmp_path / "page.html"
    _, printed = run(
        capsys, "attention", "a" * 99, "--models", "attentive", "--saved-models", exports, "--output", path
    )
    assert "attentive/1 reads only a part of the text" in printed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gate", "x"), "no inspection 'gate'; did you mean gates?"),
        (("gates", "x", "--models", "attentive"), "attentive/1 has attention, not gates: use `inspect attention`"),
        (("gates", "x", "--models", "counts"), "counts/1 has no trace"),
        (
            ("gates", "x", "--models", "small", "--unit", "99"),
            "the layers of small/1 have the units 0 to 15",
        ),
        (("gates", "x", "--models", "small", "--top", "0"), "--top 0: it must be from 1"),
        (("gates", "x", "--models", "small", "--output", "a.pdf"), "the name must end in .html or .png"),
        (("states", "x", "--models", "small"), "fewer than three tokens"),
        (("states", "to be", "--models", "small", "--data", "absent"), "--data absent: no such file"),
        (("attention", "x", "--models", "small"), "small/1 has no attention"),
        (("neurons", "--models", "attentive"), "attentive/1 has no recurrent layer"),
        (("embeddings", "--models", "small", "--words", "zebra"), "does not know this token"),
        (("embeddings", "--models", "small", "--neighbours", "0"), "--neighbours 0: it must be from 1 to 50"),
        (("positions", "--size", "5"), "--size 5: it must be an even number"),
        (("positions", "--length", "1"), "--length 1: it must be from 4"),
        (("cost", "--lengths", "8"), "give two lengths or more"),
        (("training", "x"), "--run is missing"),
        (("agreement", " ", "--models", "small"), "give a text of at least one word"),
        (("agreement", "--models", "small", "--treebank", "absent"), "--treebank absent: no such file"),
        (("memory", "--models", "attentive"), "so it has no states"),
        (("memory", "--models", "small", "--tokens", "1"), "--tokens 1: it must be from 500"),
        (("memory", "--models", "small", "--back", "0"), "--back: give steps from 1 to 200"),
        (("gradients", "--models", "attentive"), "carries no state from token to token"),
        (("gradients", "--models", "small", "--window", "2"), "--window 2: it must be from 4"),
        (("gradients", "--models", "small", "--places", "0"), "--places 0: it must be from 1"),
        (("training", "x", "--run", "absent"), "no run 'absent'"),
    ],
)
def test_mistakes_are_one_line(exports, capsys, arguments, message):
    needs_models = arguments[0] not in ("positions", "cost", "gate", "training")
    status, printed = run(capsys, *arguments, *(("--saved-models", exports) if needs_models else ()))
    assert status == 2 and message in printed.err and printed.err.count("\n") == 1


def test_every_inspection_has_a_line_of_help():
    for name, view in VIEWS.items():
        assert name == view.NAME and len(view.__doc__.splitlines()[0]) < 120
