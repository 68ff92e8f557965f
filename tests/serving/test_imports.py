"""`serving` needs none of the training code: this proves that a SavedModel is complete."""

import ast
from pathlib import Path

import serving

FILES = sorted(Path(serving.__file__).parent.rglob("*.py"))


def imported_packages(path):
    packages = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            packages.update(alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            packages.add(node.module.split(".")[0])
    return packages


def test_no_file_of_serving_imports_the_training_code():
    packages = {path.name: imported_packages(path) for path in FILES}
    assert "serving" in packages["server.py"] and "tensorflow" in packages["servable.py"]
    forbidden = {"pipelines", "layers", "main", "unroll", "keras"}
    assert {name: found & forbidden for name, found in packages.items() if found & forbidden} == {}


def test_every_module_of_serving_has_a_test_file():
    root = Path(serving.__file__).parent
    modules = [path.relative_to(root) for path in FILES if path.name != "__init__.py"]
    tests = Path(__file__).parent
    assert [str(m) for m in modules if not (tests / m.parent / f"test_{m.name}").is_file()] == []
