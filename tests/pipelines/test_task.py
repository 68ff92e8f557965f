"""The contract between runs and tasks, and what may be imported before TensorFlow."""

import ast
import importlib
import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest

from pipelines import task
from pipelines.task import TASKS, Task
from tests.command_line import ROOT

PACKAGES = sorted({entry.package for entry in TASKS.values()})
MEMBERS = {name: value for name, value in vars(Task).items() if not name.startswith("_") and inspect.isfunction(value)}
FILES = {"config.py", "command.py", "data.py", "task.py", "networks.py", "servable.py"}
RUN = [
    ast.parse((ROOT / "pipelines" / "runs" / name).read_text()) for name in ("run.py", "fitting.py", "continuing.py")
]
HEAVY = ("tensorflow", "keras", "sklearn", "scipy", "matplotlib", "openpyxl")  # packages that take long to import


def arguments(function, skip=0):
    """Returns (name, kind, default) of every argument, as a caller sees them."""
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def imported_modules(path):
    """Yields the full names of everything that a file imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(*folders):
    """Yields (file, imported module) of all files in the folders."""
    for folder in folders:
        files = sorted((ROOT / folder).rglob("*.py"))
        assert files, folder
        for path in files:
            for module in imported_modules(path):
                yield path.relative_to(ROOT), module


def test_the_contract_lists_what_a_run_calls():
    attributes = [node for tree in RUN for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    called = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "task"}
    assert called == set(MEMBERS) - {"load", "summarize"} | {"UNIT"}


def test_a_run_uses_no_getattr():
    run, fitting, _ = RUN  # of configs, `continuing` looks at the fields that are named elsewhere
    names = {node.id for tree in (run, fitting) for node in ast.walk(tree) if hasattr(node, "id")}
    assert "task" in names and not {"getattr", "hasattr", "setattr"} & names


@pytest.mark.parametrize("package", PACKAGES)
def test_every_member_has_the_signature_of_the_contract(package):
    task = importlib.import_module(f"pipelines.{package}.task")
    assert "load" in MEMBERS and "summarize" in MEMBERS
    for name, member in MEMBERS.items():
        assert hasattr(task, name), f"{package} has no {name}"
        assert arguments(getattr(task, name)) == arguments(member, skip=1), f"{package}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_unit_is_a_plural_noun(package):
    unit = importlib.import_module(f"pipelines.{package}.task").UNIT
    assert isinstance(unit, str) and unit.isalpha() and unit.endswith("s")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_task_has_the_same_files(package):
    files = {path.name for path in (ROOT / "pipelines" / package).glob("*.py")}
    assert files >= FILES, f"missing: {FILES - files}"


@pytest.mark.slow
def test_reading_the_data_of_a_task_imports_no_tensorflow():
    imports = "; ".join(f"import pipelines.{package}.data" for package in PACKAGES)
    code = f"import sys, pipelines.runs.run; {imports}; print({set(HEAVY)} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert process.stdout.strip() == "set()", process.stderr


def test_the_usual_example_requests_have_unusual_texts():
    servable = types.SimpleNamespace(signatures=lambda: {"serving_default": None, "trace": None})
    requests = task.example_requests(servable)
    texts = requests["trace"]["text"]
    assert requests["serving_default"] == {"text": texts}
    assert "" in texts and any(not text.isascii() for text in texts) and any(len(text) > 2000 for text in texts)


def test_nothing_imports_the_entry_point():
    assert not [each for each in imports_of("pipelines", "layers", "serving") if each[1].split(".")[0] == "main"]


def light_modules():
    """Yields the files that `main.py --help` imports: they may import nothing heavy at the top level."""
    todo, seen = [ROOT / "main.py"], set()
    todo += [ROOT / "pipelines" / package / name for package in PACKAGES for name in ("command.py", "config.py")]
    while todo:
        path = todo.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        yield path
        for module in top_level_imports(path):
            parts = module.split(".")
            todo += [ROOT / Path(*parts[:end]).with_suffix(".py") for end in (len(parts), len(parts) - 1) if end]


def top_level_imports(path):
    """Yields what a file imports when it is imported: not in functions, not for type checkers alone."""
    todo = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def test_the_help_imports_nothing_heavy():
    files = list(light_modules())
    assert ROOT / "pipelines" / "settings" / "config.py" in files
    found = [
        (path.relative_to(ROOT), module)
        for path in files
        for module in top_level_imports(path)
        if module.split(".")[0] in HEAVY
    ]
    assert not found
