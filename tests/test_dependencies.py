"""docs/dependencies.md names every file that uses a private API of Keras or TensorFlow, and what it names exists."""

import re

import pytest

from tests.command_line import ROOT

PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
PRIVATE = re.compile(r"keras\.src|tensorflow\.python|raw_ops|ray\._private|from \S+\._\w+ import")
FOLDERS = ("layers", "pipelines", "serving", "benchmarks", "tests")
FILES = [
    ROOT / "main.py",
    ROOT / "setup.py",
    ROOT / "unroll.py",
    *(path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py"))),
]
USERS = [
    str(path.relative_to(ROOT))
    for path in FILES
    if path.name != "test_dependencies.py" and PRIVATE.search(path.read_text(encoding="utf-8"))
]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| what |")
]


def test_the_users_are_found():
    assert len(USERS) > 15 and {"layers/backend_rnn.py", "serving/servable.py", "tests/conftest.py"} <= set(USERS)


@pytest.mark.parametrize("path", USERS)
def test_every_file_with_a_private_api_is_named(path):
    assert f"`{path}`" in PAGE, f"{path} uses a private API: add a row to docs/dependencies.md"


def test_every_named_file_exists():
    named = re.findall(r"`((?:layers|pipelines|serving|benchmarks|tests)/[\w/.]*)`", PAGE)
    assert len(named) > 40
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_every_row_has_files_with_its_names_a_reason_a_test_and_a_way_out(row):
    what, where, why, tests, way_out = row
    assert why and way_out
    assert re.findall(r"`(tests/[\w/]+\.py)`", tests)
    text = "".join((ROOT / path).read_text(encoding="utf-8") for path in re.findall(r"`([\w/]+\.(?:py|txt))`", where))
    names = [re.split(r"\.|::", re.sub(r"\(.*", "", name))[-1] for name in re.findall(r"`([^`]+)`", what)]
    assert names and [name for name in names if name not in text] == []
