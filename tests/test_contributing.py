"""What CONTRIBUTING.md and SECURITY.md name exists, and what they say of the code is so."""

import re
import shlex

import pytest

from pipelines.data.corpora import CORPORA
from tests.command_line import ROOT
from tests.test_quiz import symbols_of

PAGES = ("CONTRIBUTING.md", "SECURITY.md")
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
TEXTS["dependencies.md"] = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
FOLDERS = r"layers|pipelines|serving|benchmarks|tests|docs|saved_models|\.github|\.ci"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_named_path_exists(name):
    paths = re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", TEXTS[name]) + re.findall(
        r"`([\w-]+\.(?:py|txt|toml))`", TEXTS[name]
    )
    in_tasks = {path.name for path in (ROOT / "pipelines").rglob("*.py")}
    assert [path for path in paths if not (ROOT / path).exists() and path not in in_tasks] == []


def test_every_named_symbol_is_in_its_file():
    named = re.findall(r"`(\w+)`\s+\(`([\w/]+\.py)`\)", TEXTS["CONTRIBUTING.md"])
    assert len(named) > 5
    assert [symbol for symbol, path in named if symbol not in symbols_of(ROOT / path)] == []
    assert "VIEWS" in symbols_of(ROOT / "pipelines" / "inspect" / "command.py")


@pytest.mark.parametrize("name", TEXTS)
def test_every_target_of_make_exists(name):
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"`(?:PYTHON=\S+ )?make ([\w-]+)`|^make ([\w-]+)$", TEXTS[name], re.MULTILINE))
    assert {first or second for first, second in named} <= targets


def test_the_commands_name_what_exists():
    commands = re.findall(
        r"(?:^|`)(?:KERAS_BACKEND=\w+ )?\.venv/bin/(python .*?|ruff .*?)(?:`|$)", TEXTS["CONTRIBUTING.md"], re.M
    )
    assert len(commands) > 5
    runs = {"char-lm", "nmt-attention"}
    for command in commands:
        words = shlex.split(command)
        for word in words[1:]:
            if word.endswith(".py") or word.startswith("tests/"):
                assert (ROOT / word).exists(), command
        if "--only" in words:
            assert runs <= set(words)
    from benchmarks.tiny_runs import RUNS

    assert runs <= set(RUNS)


def test_it_is_short():
    assert len(TEXTS["CONTRIBUTING.md"].splitlines()) < 150 and len(TEXTS["SECURITY.md"].splitlines()) < 60


def test_the_corpora_without_a_checksum_are_named():
    text = TEXTS["SECURITY.md"].partition("## Downloads")[2]
    assert {name for name in CORPORA if f"`{name}`" in text} == {
        name for name, each in CORPORA.items() if not each.sha256
    }


def test_the_api_that_loads_any_folder_is_that_of_grpc_alone():
    api = {name: (ROOT / "serving" / f"{name}.py").read_text(encoding="utf-8") for name in ("grpc_api", "rest")}
    assert "HandleReloadConfigRequest" in TEXTS["SECURITY.md"]
    assert "HandleReloadConfigRequest" in api["grpc_api"] and "manager.serve(" not in api["rest"]


def test_numpy_files_are_read_without_pickles():
    code = [path.read_text(encoding="utf-8") for path in (ROOT / "pipelines").rglob("*.py")]
    assert any("np.load(" in text for text in code)
    assert not [text for text in code if "allow_pickle=True" in text]


def test_the_readme_and_the_architecture_link_the_documents():
    readme, architecture = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/architecture.md"))
    for name in PAGES:
        assert f"]({name})" in readme and f"](../{name})" in architecture
    assert "](dependencies.md)" in architecture and "](docs/dependencies.md)" in TEXTS["CONTRIBUTING.md"]
