"""`make pictures` knows every picture of the pages, and the commands that draw them are understood."""

import importlib

import pytest

import main as main_module
from tests.command_line import ROOT


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("benchmarks.pictures")


def test_every_picture_can_be_made_again(pictures):
    names = {path.stem for path in (ROOT / "docs" / "images").iterdir()}
    assert names == {"terminal", "report", "live-page", *pictures.inspections(), *pictures.PLOTS}


def test_the_commands_below_the_pictures_are_understood(pictures):
    for name, arguments in pictures.inspections().items():
        assert main_module.parse(arguments), name


def test_the_texts_are_those_of_the_readme(pictures):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    texts = " ".join(f'"{text}"' for text in pictures.TEXTS)
    assert f"predict classification --name support {texts}\n" in readme and str(pictures.EXAMPLE) in readme


def test_a_picture_without_its_model_is_left_as_it_is(pictures, tmp_path):
    reason = pictures.inspection(["inspect", "gates", "a text", "--models", "none"], tmp_path, tmp_path / "gates.png")
    assert "no model in saved_models" in reason and not (tmp_path / "gates.png").exists()


def test_the_lines_of_a_terminal_are_without_bars_and_colours(pictures):
    assert pictures.lines_of("\x1b[1mrun\x1b[0m\r\n  1 %\r 99 %\rdone  \r\n\r\n") == ["run", "done"]
