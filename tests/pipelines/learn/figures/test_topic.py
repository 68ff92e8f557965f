"""The command `learn figures`."""

import json

import pytest

from pipelines.learn.figures.registry import FIGURES, figure
from pipelines.learn.figures.topic import FigureOf
from pipelines.learn.page import render
from pipelines.support.errors import UserError


def test_the_list(capsys):
    FigureOf()()
    printed = capsys.readouterr().out
    assert all(name in printed for name in FIGURES) and "learn figures NAME" in printed
    FigureOf(json=True)()
    assert json.loads(capsys.readouterr().out)["cell-lstm"]["number"] == "5.10"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"name": "cell-lstm", "text": "a b"}, "--text has an effect only on the figure unrolled"),
        ({"name": "unrolled", "truncate": 2}, "--truncate has an effect only on the figure bptt"),
        ({"name": "unrolled", "text": "word"}, "--text 'word': it needs 2 to 12 words"),
        ({"name": "unrolled", "text": "a " * 13}, "it needs 2 to 12 words"),
        ({"name": "bptt", "truncate": 0}, "--truncate 0: it must be from 1 to 5"),
    ],
)
def test_mistakes_are_one_line(flags, message):
    with pytest.raises(UserError, match=message):
        FigureOf(**flags)()


def test_a_file_needs_the_name_of_a_figure(tmp_path):
    with pytest.raises(UserError, match="--output needs the name of a figure"):
        FigureOf(output=tmp_path / "a.html")()
    with pytest.raises(UserError, match="must end in .html, .ipynb or .svg"):
        FigureOf(name="cell-lstm", output=tmp_path / "a.png")()


def test_files(tmp_path, capsys):
    for suffix, content in ((".html", "<svg"), (".ipynb", "data:image/svg+xml"), (".svg", "background:white")):
        FigureOf(name="cell-simple", output=tmp_path / f"cell{suffix}")()
        assert content in (tmp_path / f"cell{suffix}").read_text("utf-8")
    assert capsys.readouterr().out.count("cell.") == 3


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1280])
def test_the_pages_fit_and_have_no_errors(width, tmp_path, browser):
    page = browser.new_page(viewport={"width": width, "height": 800})
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in ("cell-lstm", "unrolled", "bptt", "gate-surface", "encoder-decoder", "summary"):
        path = tmp_path / f"{name}.html"
        path.write_text(render(figure(name, "the green <witch> & others", None)), encoding="utf-8")
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    assert errors == []
