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
    name: set(re.findall(r"`((?:learn|train|tune|evaluate|predict|compare|inspect) [^`]+)`", text))
    for name, text in TEXTS.items()
}


def test_the_commands_are_found():
    assert len(COMMANDS["learning.md"]) > 40 and len(COMMANDS["equations.md"]) > 20
    assert {"learn so-long-and", "learn attention", "learn scaling", "learn positions"} <= COMMANDS["learning.md"]


@pytest.mark.parametrize("command", sorted(set.union(*COMMANDS.values())))
def test_every_command_is_accepted(command):
    parsed = main_module.parse(shlex.split(command))
    if command.startswith(("train ", "tune ")):
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


NEED_NO_MODEL = ("inspect positions", "inspect cost")
ELSEWHERE = re.compile(r"--data|--vectors|--recipe|--preset base|\b[A-Z]{3,}\b(?!\])")  # own files, downloads, hours


def page_commands():
    """Returns the commands of learning.md as often and in the order as they stand there."""
    return re.findall(r"`((?:learn|train|tune|evaluate|predict|compare|inspect) [^`]+)`", TEXTS["learning.md"])


def exports_of(command):
    """Returns the name that the export of a training with the embedded sample has."""
    words = shlex.split(command)
    return (words[words.index("--name") + 1] if "--name" in words else words[1]) + "-sample"


def test_every_model_that_is_inspected_was_trained_before_on_the_page():
    trained, runs, inspected = set(), set(), 0
    for command in page_commands():
        words = shlex.split(command)
        if words[0] == "train":
            trained.add(exports_of(command))
            runs |= {words[words.index("--run") + 1]} if "--run" in words else set()
        if words[0] == "inspect" and command not in NEED_NO_MODEL:
            flag = "--run" if words[1] == "clipping" else "--models"
            assert flag in words, f"{command}: with several models, it asks for {flag}"
            named = [word for word in words[words.index(flag) + 1 :] if not word.startswith("-")]
            known = runs if flag == "--run" else trained | {"NAME"}
            assert named and set(named) <= known, f"{command}: no command before it makes {set(named) - known}"
            inspected += 1
    assert inspected > 10


def test_an_encoder_is_named_as_it_is_exported():
    named = set(re.findall(r"--encoder (saved_models/\S+)", TEXTS["learning.md"]))
    assert named == {f"saved_models/{exports_of('train encoder')}/1"}


def test_the_page_names_the_exercises_and_tune():
    assert "](tune.md" in TEXTS["learning.md"]
    section = TEXTS["learning.md"].partition("## Exercises")[2].partition("\n## ")[0]
    assert set(range(1, 13)) <= set(map(int, re.findall(r"\d+", " ".join(re.findall(r"^\| ([^:|]+):", section, re.M)))))


# The commands of the page train for minutes each.
SMALLER = ("--epochs", "1", "--hidden-size", "16")


@pytest.mark.exhaustive  # takes five minutes; tests/pipelines/inspect tests the figures one by one
@pytest.mark.usefixtures("small_samples", "without_verification")
def test_the_commands_on_the_inside_of_models_run_in_order_in_a_fresh_folder(tmp_path, run_main):
    section = TEXTS["learning.md"].partition("## Inside the models")[2].partition("\n## ")[0]
    commands = re.findall(r"`((?:train|inspect) [^`]+)`", section)
    offline = [command for command in dict.fromkeys(commands) if not ELSEWHERE.search(command)]
    assert len(offline) > 12
    for command in offline:
        folders = [] if command in NEED_NO_MODEL else ["--saved-models", tmp_path / "saved_models"]
        if command.startswith("train ") or " clipping " in command:
            folders = ["--runs", tmp_path / "runs", *folders * command.startswith("train ")]
        smaller = SMALLER if command.startswith("train ") else ()
        done = run_main(tmp_path, *shlex.split(command), *smaller, *folders)
        assert done.returncode == 0, f"{command}: {done.stderr[-800:]}"


def test_no_page_and_no_message_installs_the_project_of_the_registry():
    """The registry's `unroll` is another project."""
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "main.py", ROOT / "unroll.py"]
    for folder in ("pipelines", "layers", "serving", "benchmarks"):
        files += (ROOT / folder).rglob("*.py")
    wrong = re.compile(r"pip install [^`\n]*?(?<![\w./-])unroll\b(?!-env)")
    assert [str(path) for path in files if wrong.search(path.read_text(encoding="utf-8"))] == []
