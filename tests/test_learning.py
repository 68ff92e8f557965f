"""The commands, links and symbols of docs/learning.md and docs/equations.md exist."""

import re
import shlex

import keras
import pytest

import main as main_module
from tests.command_line import ROOT
from tests.test_quiz import symbols_of

TEXTS = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("learning.md", "equations.md")}
COMMANDS = {
    name: set(re.findall(r"`((?:learn|train|evaluate|predict|compare|inspect) [^`]+)`", text))
    for name, text in TEXTS.items()
}


def test_the_commands_are_found():
    assert len(COMMANDS["learning.md"]) > 40 and len(COMMANDS["equations.md"]) > 20
    assert {"learn so-long-and", "learn attention", "learn scaling", "learn positions"} <= COMMANDS["learning.md"]


@pytest.mark.parametrize("command", sorted(set.union(*COMMANDS.values())))
def test_every_command_is_accepted(command):
    parsed = main_module.parse(shlex.split(command))
    if command.startswith("train "):
        parsed.config.resolve().check()


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_to_a_heading(name):
    links = re.findall(r"\]\(([\w.-]+)(?:#([\w-]+))?\)", TEXTS[name])
    assert links
    for target, anchor in links:
        headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / target).read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, f"{target}#{anchor}"


@pytest.mark.parametrize("name", TEXTS)
def test_every_named_symbol_exists(name):
    files = re.findall(r"`([\w/]+(?:\.py|/))`", TEXTS[name])
    assert [path for path in files if not (ROOT / path).exists()] == []
    symbols = re.findall(r"`([\w/]+\.py)::(\w+)`", TEXTS[name])
    assert [symbol for symbol in symbols if symbol[1] not in symbols_of(ROOT / symbol[0])] == []
    layers = re.findall(r"`keras\.layers\.(\w+)`", TEXTS[name])
    assert [layer for layer in layers if not hasattr(keras.layers, layer)] == []


def test_every_row_of_the_equations_has_its_code_and_its_test():
    rows = re.findall(r"^\|(?! what |---)(.+)\|$", TEXTS["equations.md"], re.MULTILINE)
    assert len(rows) > 30
    for row in rows:
        _, equation, code, _, test = (cell.strip() for cell in row.split("|"))
        assert equation and ("::" in code or "keras.layers." in code) and "`tests/" in test
