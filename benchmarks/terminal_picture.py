"""Draws docs/images/terminal.png, the picture in the README, from real output of main.py.

    python benchmarks/terminal_picture.py --data imdb.csv.xz

Runs a training and a prediction on a terminal of its own, keeps one frame of the progress bar, and draws the lines with
matplotlib.
"""

import argparse
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 118
TEXTS = ("A gripping story and a wonderful cast.", "Two hours that I will not get back.")


def on_a_terminal(arguments: list[str], folder: Path) -> str:
    """What main.py prints on a terminal, with the carriage returns of its progress bars."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *arguments], stdout=child, stderr=child, cwd=folder, env=environment
    )
    os.close(child)
    chunks = []
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:  # the end of the child's output on Linux
            break
        if not chunk:
            break
        chunks.append(chunk)
    if process.wait():
        sys.exit(f"main.py {' '.join(arguments)} failed:\n{b''.join(chunks).decode()}")
    return b"".join(chunks).decode()


def lines_of(output: str) -> list[str]:
    """The lines that stay on the terminal, and the last frame of the bar of epoch 3 before 70 %."""
    frame = None
    for match in re.finditer(r"(epoch 3/\d+: +(\d+)%[^\r\n]*)", output):
        if int(match[2]) < 70:
            frame = match[1]
    lines = []
    for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output).split("\n"):
        line = line.rstrip("\r").split("\r")[-1].rstrip()
        if line and not re.match(r"epoch \d+/\d+: +\d+%", line):
            lines.append(line)
    shown = []
    for line in lines:
        if re.match(r"epoch [3-9]/", line):
            if frame and line.startswith("epoch 3/"):
                shown += [frame, "…"]
            continue
        shown.append(line)
    return shown


def draw(lines: list[str], path: Path) -> None:
    """A window with the lines; those that start with `$` are bold."""
    line_height, width = 0.235, 14.0
    height = 0.75 + line_height * len(lines)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    axes.add_patch(
        FancyBboxPatch(
            (0.05, 0.05), width - 0.1, height - 0.1, "round,pad=0,rounding_size=0.1", fc="#fafaf8", ec="#d8d8d4"
        )
    )
    for i, color in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        axes.add_patch(Circle((0.24 + 0.2 * i, height - 0.24), 0.065, color=color))
    axes.text(
        width / 2, height - 0.24, "unroll", ha="center", va="center", fontsize=12, fontweight="bold", color="#2e3436"
    )
    regular = font_manager.FontProperties(family="DejaVu Sans Mono", size=11.5)
    bold = font_manager.FontProperties(family="DejaVu Sans Mono", size=11.5, weight="bold")
    for i, line in enumerate(lines):
        axes.text(
            0.1,
            height - 0.62 - line_height * i,
            line,
            fontproperties=bold if line.startswith("$") else regular,
            color="#2e3436",
        )
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the IMDB training reviews as a table")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images" / "terminal.png")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / ("imdb" + "".join(arguments.data.suffixes))
        shutil.copy(arguments.data, data)
        saved = ["--saved-models", "saved_models"]
        train = ["train", "sentiment", "--data", data.name, "--model", "bag"]
        lines = [
            f"$ python main.py {' '.join(train)}",
            *lines_of(on_a_terminal([*train, "--runs", "runs", *saved], folder)),
        ]
        quoted = " ".join(f'"{text}"' for text in TEXTS)
        lines.append(f"$ python main.py predict sentiment {quoted}")
        lines += lines_of(on_a_terminal(["predict", "sentiment", *TEXTS, *saved], folder))
    draw([line.replace(" --saved-models saved_models", "") for line in lines], arguments.output)


if __name__ == "__main__":
    main()
