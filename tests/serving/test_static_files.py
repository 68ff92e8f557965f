import pytest

from serving import static_files


def test_the_names_are_those_of_the_files_in_the_folder():
    paths = [path for path in static_files.FOLDER.rglob("*") if path.is_file()]
    names = {str(path.relative_to(static_files.FOLDER)) for path in paths}
    assert names - {"index.html"} == static_files.NAMES - {static_files.VEGA}


@pytest.mark.parametrize("name", sorted(static_files.NAMES - {static_files.VEGA}))
def test_a_file_is_read_once(name):
    file = static_files.read(name)
    assert file is static_files.read(name) and file.content == (static_files.FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", ["", "index.html", "../rest.py", "figures/../page.js", "/etc/passwd", "figures"])
def test_nothing_else_is_a_file(name):
    with pytest.raises(KeyError):
        static_files.read(name)


def test_no_file_of_the_page_writes_html_or_needs_another_server():
    for name in static_files.NAMES - {static_files.VEGA}:
        text = (static_files.FOLDER / name).read_text(encoding="utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert forbidden not in text, name
        if name.endswith(".js"):
            assert '"use strict";' in text and "https://" not in text
