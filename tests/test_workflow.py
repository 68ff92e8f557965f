"""The workflow of GitHub and the hooks of pre-commit run what README.md and the Makefile name."""

import re

import yaml

from tests.command_line import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def read(name):
    return yaml.load((ROOT / name).read_text(encoding="utf-8"), yaml.BaseLoader)  # all values as they are written


def job():
    (found,) = read(".github/workflows/tests.yml")["jobs"].values()
    return found


def test_the_workflow_runs_the_two_commands_of_the_readme():
    commands = re.search(r"^```\n((?:make .*\n)+)```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [step["run"] for step in job()["steps"] if "run" in step] == commands[1].splitlines()
    assert commands[1].splitlines() == ["make demo", "make test"]


def test_the_workflow_has_the_pythons_of_the_makefile():
    matrix = job()["strategy"]["matrix"]
    chosen = re.search(r"for p in (.*?) python3 ", MAKEFILE)[1].split()
    assert sorted(f"python{each}" for each in matrix["python"]) == sorted(chosen)
    lowest, highest = re.search(r"not \((3, \d+)\) <= sys\.version_info\[:2\] <= \((3, \d+)\)", MAKEFILE).groups()
    ends = [f"3, {each.partition('.')[2]}" for each in sorted(matrix["python"])]
    assert (lowest, highest) == (ends[0], ends[-1])
    assert "PYTHON ?=" in MAKEFILE and job()["env"] == {"PYTHON": "${{ matrix.python }}"}


def test_the_workflow_has_the_systems_of_the_makefile():
    systems = job()["strategy"]["matrix"]["system"]
    assert [each.partition("-")[0] for each in systems] == ["ubuntu", "macos"]
    assert int(systems[1].partition("-")[2]) >= 14  # the older images are Intel
    assert r"Linux\ *|Darwin\ arm64" in MAKEFILE


def test_the_hooks_call_what_make_lint_calls():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"  # no network, and one version: that of requirements-dev.lock
    entries = {hook["id"]: hook["entry"].replace(" --force-exclude", " .") for hook in repository["hooks"]}
    lint = re.search(r"^lint: \$\(DEV_READY\)\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    wanted = [line.strip("\t@") for line in lint.splitlines()]
    assert [entries[name] for name in ("ruff-check", "ruff-format", "imports", "types")] == wanted
    assert re.search(r"^ruff==", (ROOT / "requirements-dev.lock").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_hook_finds_markers_of_a_merge_conflict():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    marker = next(re.compile(hook["entry"]) for hook in repository["hooks"] if hook["language"] == "pygrep")
    assert marker.search("<" * 7 + " HEAD") and marker.search(">" * 7 + " branch")
    assert not marker.search("a >>> b") and not marker.search("=" * 7)
