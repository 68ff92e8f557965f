"""Times of looking inside: the trace of a text, and a page of `inspect` in Chromium.

    python benchmarks/pages.py trace --export saved_models/char-lm/1 [--text TEXT]
    python benchmarks/pages.py page inspect-gates.html

`trace` prints the seconds of the first call of the signature `trace`, and the median of 20 more. `page` opens a page in
an installed Chromium without a window, and prints the seconds until all figures are drawn, and the median of 40 times
from a movement of the pointer to the second frame after it, in which the mark is painted (33 ms at 60 Hz is the
lowest). Both need an otherwise idle machine.
"""

import argparse
import shutil
import statistics
import sys
import time
from pathlib import Path

from training import ROOT

sys.path.insert(0, str(ROOT))

_MOVE = """async ([x, y]) => {
    const started = performance.now();
    const move = new MouseEvent("mousemove", {clientX: x, clientY: y, bubbles: true});
    document.querySelector("canvas").dispatchEvent(move);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - started;
}"""


def trace(arguments) -> None:
    from pipelines.export.exported import Exported
    from pipelines.inspect.models import Model

    folder = Path(arguments.export).resolve()
    model = Model(Exported(folder.parent.name, int(folder.name), folder))
    seconds = []
    for _ in range(21):
        started = time.perf_counter()
        tokens = model.trace([arguments.text])[0].tokens
        seconds.append(time.perf_counter() - started)
    count = sum(len(each) for each in tokens.values())
    print(f"{count} tokens: first {seconds[0]:.3f} s, then {1000 * statistics.median(seconds[1:]):.1f} ms")


def page(arguments) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1250, "height": 900})
        started = time.perf_counter()
        tab.goto(Path(arguments.page).resolve().as_uri())
        tab.wait_for_function("document.body.dataset.drawn")
        print(f"drawn after {time.perf_counter() - started:.2f} s, {Path(arguments.page).stat().st_size / 1e6:.1f} MB")
        box = tab.locator("canvas").first.bounding_box()
        places = [box["x"] + 90 + (0.7 * box["width"]) * (i * 37 % 40) / 40 for i in range(40)]
        times = [tab.evaluate(_MOVE, [x, box["y"] + 35]) for x in places]
        print(f"pointer to paint: median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    tracing = commands.add_parser("trace")
    tracing.add_argument("--export", required=True)
    tracing.add_argument("--text", default="The list of the functions that")
    tracing.set_defaults(run=trace)
    paging = commands.add_parser("page")
    paging.add_argument("page")
    paging.set_defaults(run=page)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
