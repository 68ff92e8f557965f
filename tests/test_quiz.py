"""The answers of docs/quiz.md exist."""

import ast
import re

from tests.command_line import ROOT


def symbols_of(path):
    """Names of the module's functions, classes, constants and methods (`Class.method`)."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
            names.update(f"{node.name}.{member.name}" for member in node.body if isinstance(member, ast.FunctionDef))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        if isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names


def test_every_question_has_an_answer_that_exists():
    questions, answers = (ROOT / "docs" / "quiz.md").read_text(encoding="utf-8").split("## Answers")
    numbers = re.findall(r"^(\d+)\. ", questions, re.MULTILINE)
    found = re.findall(r"^(\d+)\. `([^`:]+)::([^`]+)`$", answers, re.MULTILINE)
    assert numbers == [str(i) for i in range(1, 31)] == [number for number, _, _ in found]
    wrong = [f"{path}::{symbol}" for _, path, symbol in found if symbol not in symbols_of(ROOT / path)]
    assert wrong == []
