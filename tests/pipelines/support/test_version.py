"""The version is a release number, and the changelog begins with it."""

import re
from pathlib import Path

from pipelines.support.version import VERSION

ROOT = Path(__file__).resolve().parents[3]


def test_the_version_is_a_release_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_the_newest_entry_of_the_changelog_is_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [heading for heading in headings if heading != "Unreleased"][0] == VERSION


def test_no_other_file_states_the_version():
    stating = [
        path.relative_to(ROOT)
        for folder in ("pipelines", "layers", "serving")
        for path in (ROOT / folder).rglob("*.py")
        if f'"{VERSION}"' in path.read_text(encoding="utf-8")
    ]
    assert list(map(str, stating)) == ["pipelines/support/version.py"]
