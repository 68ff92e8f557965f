"""Makes the wheel, whose only top-level package is `unroll`. Everything else that a build needs is in pyproject.toml.

    unroll.py -> unroll/__init__.py      pipelines/ -> unroll/pipelines/      layers/ -> unroll/layers/
    main.py   -> unroll/__main__.py      serving/   -> unroll/serving/

Imports are changed to these names; strings are not. So code makes the name of a module from `__package__`, or takes it
from `__name__`: `f"{__package__}.data"`, not "pipelines.data".
"""

import ast
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

PACKAGES = ("layers", "pipelines", "serving")
MODULES = {"main": "__main__", "unroll": "__init__"}


def with_package(source: str) -> str:
    """Returns the source of a module with `from pipelines.run import ...` as `from unroll.pipelines.run import ...`."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and {name.name.split(".")[0] for name in node.names} & {*PACKAGES, *MODULES}:
            raise SystemExit(f"setup.py changes `from A import B` alone, not `{ast.unparse(node)}`")
        if isinstance(node, ast.ImportFrom) and not node.level:
            first, *others = node.module.split(".")
            if first in PACKAGES or first in MODULES:
                old, new = f"from {node.module} ", ".".join(["unroll", MODULES.get(first, first), *others])
                lines[node.lineno - 1] = lines[node.lineno - 1].replace(old, f"from {new} ", 1)
    return "\n".join(lines)


class BuildPackage(build_py):
    """Copies the modules to their new names, with their imports changed."""

    def run(self) -> None:
        """Builds in an empty folder: what an earlier build has left would be in the wheel."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()

    def get_module_outfile(self, build_dir, package, module) -> str:
        """Returns the path of a module in the wheel."""
        name = MODULES.get(module, module) if list(package) == ["unroll"] else module
        return super().get_module_outfile(build_dir, package, name)

    def build_module(self, module, module_file, package):
        """Writes a module of the wheel."""
        path, copied = super().build_module(module, module_file, package)
        Path(path).write_text(with_package(Path(module_file).read_text(encoding="utf-8")), encoding="utf-8")
        return path, copied


setup(
    cmdclass={"build_py": BuildPackage},
    packages=[f"unroll.{name}" for name in find_packages(include=[f"{name}*" for name in PACKAGES])],
    options={"editable_wheel": {"mode": "compat"}},  # `pip install -e .`: the folder of the checkout on Python's path
)
