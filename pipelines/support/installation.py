"""Whether Unroll runs from a checkout or is installed as a package, and what depends on that."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # of the checkout; of an installed Unroll, the package `unroll`
# Where Python finds this code: the checkout, or the folder with the installed packages.
IMPORT_FOLDER = Path(__file__).resolve().parents[__name__.count(".")]
COMMAND = "unroll"  # that `pip install` makes
_ENTRY_POINT = "main.py"


def is_checkout() -> bool:
    """Whether the code is in a checkout, not among the installed packages."""
    return (ROOT / "pyproject.toml").is_file()


def installation(extra: str) -> str:
    """Returns the shell command that installs an optional set of packages, such as `ray`.

    It is for a checkout: the registry's `unroll` is another project.
    """
    return f"pip install -r requirements-{extra}.txt" if is_checkout() else f"pip install '.[{extra}]'"


def ray_installation() -> str:
    """Returns the shell command that installs Ray."""
    return installation("ray")


def default_folder(name: str) -> Path:
    """Returns the folder `name` for runs or exports: beside main.py in a checkout, else in the current folder."""
    return (ROOT if is_checkout() else Path.cwd()) / name


def called_name() -> str:
    """Returns the name by which the command line was called: `unroll` or `main.py`."""
    if Path(sys.argv[0]).name == COMMAND:
        return COMMAND
    return _ENTRY_POINT if is_checkout() else COMMAND


def shell_command() -> str:
    """Returns what a user types to call the command line: `unroll` or `python main.py`."""
    return COMMAND if called_name() == COMMAND else f"python {_ENTRY_POINT}"
