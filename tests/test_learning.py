"""The commands and links of docs/learning.md exist."""

import re
import shlex

import pytest

import main as main_module
from tests.command_line import ROOT

TEXT = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"`((?:learn|train|evaluate|predict|compare) [^`]+)`", TEXT)))


def test_the_commands_are_found():
    assert len(COMMANDS) > 40
    assert {"learn so-long-and", "learn attention", "learn scaling", "learn positions"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_accepted(command):
    parsed = main_module.parse(shlex.split(command))
    if command.startswith("train "):
        parsed.config.resolve().check()


def test_every_link_leads_to_a_heading():
    links = re.findall(r"\]\(([\w.-]+)(?:#([\w-]+))?\)", TEXT)
    assert links
    for name, anchor in links:
        headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / name).read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, f"{name}#{anchor}"


def test_every_named_file_and_class_exists():
    assert (ROOT / "layers" / "transformer.py").is_file() and (ROOT / "pipelines" / "learn").is_dir()
    import layers

    assert hasattr(layers, "HoistedGRU")
