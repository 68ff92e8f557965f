"""The lock files: complete for every platform, with a checksum for every package, and resolved from the lists."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LISTS = {
    "requirements.txt": "requirements.lock",
    "requirements-dev.txt": "requirements-dev.lock",
    "requirements-ray.txt": "requirements-ray.lock",
    "requirements-encoders.txt": "requirements-encoders.lock",
    "requirements-docs.txt": "requirements-docs.lock",
}
PLATFORMS = [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")]
PYTHONS = ["3.11.0", "3.12.0", "3.13.0"]


def entries(lock: Path) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a lock file, each with its checksums."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found = []
    for line in text.splitlines():
        requirement, *hashes = line.split("--hash=")
        found.append((Requirement(requirement.strip()), [each.strip() for each in hashes]))
    return found


def pins(lock: Path) -> set[str]:
    return {f"{canonicalize_name(requirement.name)} {requirement.specifier}" for requirement, _ in entries(lock)}


def listed(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line.split("#")[0]) for line in lines if line and not line.startswith(("#", "-r"))]


@pytest.mark.parametrize("lock", LISTS.values())
def test_every_package_of_a_lock_has_one_version_and_a_checksum(lock):
    for requirement, hashes in entries(ROOT / lock):
        assert str(requirement.specifier).startswith("=="), requirement
        assert hashes and all(re.fullmatch("sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("platform", PLATFORMS, ids="-".join)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_lock_has_every_listed_package_for_every_platform_and_python(name, platform, python):
    system, machine = platform
    environment = {
        "sys_platform": system,
        "platform_machine": machine,
        "python_full_version": python,
        "python_version": python.rsplit(".", 1)[0],
    }
    locked = {}
    for requirement, _ in entries(ROOT / LISTS[name]):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            key = canonicalize_name(requirement.name)
            assert key not in locked, f"{key} has two versions on {environment}"
            locked[key] = str(requirement.specifier)
    for requirement in listed(name):
        assert locked[canonicalize_name(requirement.name)] == str(requirement.specifier)
    assert len(locked) > 2 * len(listed(name))  # the packages that these need are locked as well


@pytest.mark.parametrize("lock", ["requirements-dev.lock", "requirements-ray.lock"])
def test_tests_and_clusters_have_the_packages_that_users_have(lock):
    assert pins(ROOT / "requirements.lock") <= pins(ROOT / lock)


@pytest.mark.long
def test_make_lock_changes_no_version(tmp_path):
    """Without a change in the lists, resolving them again keeps every version that a lock has."""
    for name in (*LISTS, *LISTS.values(), "Makefile", "pyproject.toml", "requirements-test-all.txt"):
        shutil.copy(ROOT / name, tmp_path)
    uv = Path(sys.executable).with_name("uv")
    # In a make of its own: one that knows it was called by `make test-all` prints the names of its folders as well.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    commands = subprocess.run(
        ["make", "--dry-run", "lock", "DEV_READY="],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert commands.stdout.count(".venv/bin/uv pip compile") == len(LISTS)
    subprocess.run(
        ["sh", "-e"], input=commands.stdout.replace(".venv/bin/uv", str(uv)), text=True, cwd=tmp_path, check=True
    )
    for lock in LISTS.values():
        assert pins(tmp_path / lock) == pins(ROOT / lock)
