"""Names from tables in source files, read without an import: importing a layer imports Keras, which takes seconds."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def table_keys(path: str, table: str) -> tuple[str, ...]:
    """Returns the keys of a dict that a source file defines, so that the command line can list them.

    Args:
        path: of the file, from the project's root.
        table: name of the module-level dict; its keys are string literals.
    """
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        if [ast.unparse(target) for target in node.targets] == [table]:
            return tuple(ast.literal_eval(key) for key in node.value.keys if key)
    raise ValueError(f"{path} defines no dict {table}")
