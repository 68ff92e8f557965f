"""Makes the pictures of docs/images again: `make pictures`.

    python benchmarks/pictures.py [--only terminal live-page ...] [--folder FOLDER] [--output docs/images]

`terminal` is what main.py prints on a terminal of its own for docs/examples/support.csv, `report` the start of its
report.html, and `live-page` the page of `serve --open` with this model and a tagger of the embedded sample; Chromium
draws them, with two pixels for each point, in all colours. The others are those of `inspect`: the command is the first
one below the picture in its page. Their models,
runs and data are in FOLDER (saved_models/, runs/ and files), under the names in the command; `attention` has its model
trained. What is missing in FOLDER is listed, and its picture stays as it is; so do the plots of
context_length.py and transfer.py, which train for hours.

Without FOLDER: five trainings and four pictures.
"""

import argparse
import html
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

from pages import server
from training import ROOT, trained

COLUMNS = 118
EXAMPLE = Path("docs") / "examples" / "support.csv"
TEXTS = ("You took the money twice", "I cannot log in any more")
LIVE_MODELS, LIVE_TEXT = ("support", "tagging-sample"), "You took the money twice"
REPORT_HEIGHT = 640
PLOTS = {"context-length": "context_length.py contexts", "transfer": "transfer.py curve"}
_STYLE = """
body { margin: 0; background: white; width: max-content; }
pre { margin: 0; padding: 12px 16px; font: 13px/1.5 "DejaVu Sans Mono", monospace; color: #2e3436; background: #fafaf8;
      border: 1px solid #d8d8d4; border-radius: 8px; }
"""


def on_a_terminal(arguments: list[str], folder: Path) -> str:
    """What main.py prints on a terminal, with its progress bars."""
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "40"}
    command = [sys.executable, str(ROOT / "main.py"), *arguments]
    process = subprocess.Popen(command, stdout=child, stderr=child, cwd=folder, env=environment)
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
    """The lines that stay on the terminal."""
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output).split("\n")
    return [line for line in (line.rstrip("\r").split("\r")[-1].rstrip() for line in lines) if line]


def copy_example(own: Path) -> list[str]:
    """Puts the example into a folder; returns the arguments of its training."""
    (own / EXAMPLE).parent.mkdir(parents=True)
    shutil.copy(ROOT / EXAMPLE, own / EXAMPLE)
    return ["train", "classification", "--data", str(EXAMPLE), "--preset", "quick"]


def terminal(browser, output: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        own, lines = Path(name), []
        train = copy_example(own)
        predict = ["predict", "classification", "--name", "support", *TEXTS]
        for arguments in (train, predict):
            folders = ["--saved-models", "saved_models", *(["--runs", "runs"] if arguments is train else [])]
            quoted = " ".join(f'"{each}"' if " " in each else each for each in arguments)
            lines += [f"$ python main.py {quoted}", *lines_of(on_a_terminal([*arguments, *folders], own))]
    shown = [html.escape(line.replace(" --saved-models saved_models", ""), quote=False) for line in lines]
    text = "\n".join(f"<b>{line}</b>" if line.startswith("$") else line for line in shown)
    tab = browser.new_page(device_scale_factor=2)
    tab.set_content(f"<style>{_STYLE}</style><pre>{text}</pre>")
    tab.locator("pre").screenshot(path=output)


def report(browser, output: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        own = Path(name)
        on_a_terminal([*copy_example(own), "--saved-models", "saved_models", "--runs", "runs"], own)
        (page,) = own.glob("runs/classification/*/report.html")
        tab = browser.new_page(viewport={"width": 1000, "height": REPORT_HEIGHT}, device_scale_factor=2)
        tab.goto(page.as_uri())
        tab.screenshot(path=output)


def live_page(browser, output: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        own, folders = Path(name), ["--saved-models", f"{name}/saved_models", "--runs", f"{name}/runs"]
        on_a_terminal([*copy_example(own), *folders], own)
        trained("tagging", "--model", "lstm", *folders)
        with server(f"{name}/saved_models") as address:
            tab = browser.new_page(viewport={"width": 1200, "height": 900}, device_scale_factor=2)
            tab.set_default_timeout(120_000)
            values = [*(("model", each) for each in LIVE_MODELS), ("text", LIVE_TEXT)]
            tab.goto(f"{address}/#{urllib.parse.urlencode(values, quote_via=urllib.parse.quote)}")
            tab.locator("#status", has_text="Done").wait_for()
            tagger = tab.locator(f'article[aria-label="{LIVE_MODELS[1]}"]')
            tagger.locator("details.trace > summary").click()
            tagger.locator(".figure:has(canvas)").first.wait_for()
            tagger.get_by_text(LIVE_TEXT.split()[1]).first.hover()
            tab.wait_for_timeout(1000)  # what is said of the token moves the figures
            box = tagger.locator("details.panel").first.bounding_box()  # gates and states
            bottom = box["y"] + box["height"] + tab.evaluate("window.scrollY")
            tab.screenshot(path=output, full_page=True, clip={"x": 0, "y": 0, "width": 1200, "height": bottom})


def inspections() -> dict[str, list[str]]:
    """Picture -> arguments of main.py: the first `inspect` below it in its page."""
    found = {}
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name, below in re.findall(r"^!\[.*?\]\(images/([\w-]+)\.png\)\n(.*?)(?=^!\[|\Z)", text, re.M | re.S):
            if command := re.search(r"`(inspect [^`]+)`", below):
                found[name] = shlex.split(command[1].replace("\n", " "))
    return found


def inspection(arguments: list[str], folder: Path, output: Path) -> str:
    """Draws a picture of `inspect`; returns why it cannot be drawn, or ""."""
    if "--output" in arguments:
        at = arguments.index("--output")
        arguments = arguments[:at] + arguments[at + 2 :]
    folders = ["--saved-models", "saved_models"] if arguments[1] != "clipping" else ["--runs", "runs"]
    command = [sys.executable, ROOT / "main.py", *arguments, *folders, "--output", output.resolve()]
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def main() -> None:
    drawn = {"terminal": terminal, "report": report, "live-page": live_page}
    inspected = inspections()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*drawn, *inspected], help="by default all")
    parser.add_argument("--folder", type=Path, help="with saved_models/, runs/ and data")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    wanted = arguments.only or [*drawn, *inspected]
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in (name for name in drawn if name in wanted):
            drawn[name](browser, arguments.output / f"{name}.png")
            print(f"drawn: {name}")
        browser.close()
    with tempfile.TemporaryDirectory() as own:
        if "attention" in wanted and not arguments.folder:
            trained("nmt", "--model", "attention", "--saved-models", f"{own}/saved_models", "--runs", f"{own}/runs")
        for name in (name for name in inspected if name in wanted):
            reason = inspection(inspected[name], arguments.folder or Path(own), arguments.output / f"{name}.png")
            print(f"left as it is: {name}: {reason}" if reason else f"drawn: {name}")
    for name, command in PLOTS.items() if not arguments.only else ():
        print(f"left as it is: {name}: python benchmarks/{command} --plot {arguments.output / name}.png")


if __name__ == "__main__":
    main()
