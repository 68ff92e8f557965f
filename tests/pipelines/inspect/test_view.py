import json

import pytest

from tests.pipelines.inspect.exports import assert_refused, run

TEXT = "to be or not"


@pytest.mark.long
def test_a_picture(exports, tmp_path, capsys):
    path = tmp_path / "out.png"
    arguments = ("gates", TEXT, "--models", "small", "--saved-models", exports, "--output", path)
    assert run(capsys, *arguments)[0] == 0 and path.read_bytes().startswith(b"\x89PNG")
    assert_refused(capsys, "exists already", *arguments)


def test_another_kind_of_file_is_refused(capsys):
    assert_refused(capsys, "the name must end in .html or .png", "positions", "--output", "a.pdf")


@pytest.mark.long
def test_without_output_the_page_is_in_the_current_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "positions", "--length", 8, "--size", 4)[0] == 0
    assert run(capsys, "positions", "--length", 9, "--size", 4)[0] == 0, "the next call replaces it"
    assert "9 positions" in (tmp_path / "inspect-positions.html").read_text()


def test_json_has_the_numbers(exports, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, printed = run(capsys, "gates", TEXT, "--models", "small", "--saved-models", exports, "--json")
    values = json.loads(printed.out)
    assert status == 0 and len(values["gates"]["data"]["tokens"]["token"]) == len(TEXT) + 1
    assert not list(tmp_path.iterdir())
