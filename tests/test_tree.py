"""The tests mirror the code: the tests of `<folder>/<module>.py` are in `tests/<folder>/test_<module>.py`."""

import subprocess

import pytest

from tests.command_line import ROOT

PACKAGES = ("layers", "pipelines", "serving")
MODULES = [
    path.relative_to(ROOT)
    for path in (
        ROOT / "main.py",
        ROOT / "unroll.py",
        *(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))),
    )
    if path.name != "__init__.py"
]


def test_modules_of_every_package_are_found():
    assert {module.parts[0] for module in MODULES} == {"main.py", "unroll.py", *PACKAGES}


def test_every_module_has_a_test_file_at_the_same_place():
    for module in MODULES:
        test_file = ROOT / "tests" / module.parent / f"test_{module.name}"
        assert test_file.is_file(), f"{module} has no tests: write {test_file.relative_to(ROOT)}"
        assert "\ndef test_" in test_file.read_text(encoding="utf-8"), test_file


def test_git_ignores_no_source_file():
    # A pattern such as `runs/` also names the folder pipelines/runs: the file is missing in every clone.
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    folders = ("*.py", *PACKAGES, "tests", "benchmarks", "docs")
    ignored = subprocess.run(
        ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [path for path in ignored.splitlines() if "__pycache__" not in path and not path.startswith(".")] == []
