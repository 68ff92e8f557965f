"""Where the code is that a lesson runs, or that a term means."""

import ast

from pipelines.support.installation import ROOT


def located(code: str) -> str:
    """Returns the file and the lines of some code. The file is read, not imported.

    Args:
        code: `file.py:function`, `file.py:Class` or `file.py:Class.method`; a name without a file, such as
            `keras.layers.GRU`, is returned as it is.

    Example:
        "layers/attention.py, lines 78 to 212: Attention"
    """
    path, colon, name = code.partition(":")
    if not colon:
        return code
    node: ast.AST = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in name.split("."):
        node = next(each for each in ast.iter_child_nodes(node) if getattr(each, "name", None) == part)
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    first = min(each.lineno for each in (node, *node.decorator_list))
    return f"{path}, lines {first} to {node.end_lineno}: {name}"
