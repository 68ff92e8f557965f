"""Times of looking inside: the trace of a text, a page of `inspect` in Chromium, and the live page of `serve --open`.

    python benchmarks/pages.py trace --export saved_models/char-lm/1 [--text TEXT]
    python benchmarks/pages.py page inspect-gates.html
    python benchmarks/pages.py live --saved-models saved_models --models char-lm sentiment

`trace` prints the seconds of the first call of the signature `trace`, and the median of 20 more. `page` opens a page in
an installed Chromium without a window, and prints the seconds until all figures are drawn, and the median of 40 times
from a movement of the pointer to the second frame after it, in which the mark is painted (33 ms at 60 Hz is the
lowest). `live` starts the server of `serve --open`, and prints for each model the milliseconds from the click on Run to
each drawn figure (median of 5 clicks, after the first one), and per token of a completion; then those from a movement
of a slider of "What if" to the changed answer (median of 5). All need an otherwise idle machine.
"""

import argparse
import contextlib
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

from training import ROOT

sys.path.insert(0, str(ROOT))

_SENTENCE = (
    "The flights that the airline operated were full, and nobody who had waited in the long line at the gate knew why "
    "the old man was still so happy today."
)
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


# Clicks, and returns [figure, ms until its canvas is there], and ["completed", ms]; also [tokens, ms] of a completion.
_CLICK = """async () => {
    const started = performance.now(), found = new Map(), status = document.getElementById("status");
    const tokens = () => document.querySelectorAll(".new-token").length;
    document.getElementById("run").click();
    await new Promise((done) => {
        const look = () => {
            const now = performance.now() - started;
            const inside = [...document.querySelectorAll("details.trace")];
            inside.forEach((each) => (each.open = true)); // which asks for the figures
            for (const each of document.querySelectorAll(".figure:has(canvas)")) {
                const name = each.ariaLabel.split(":")[0];
                if (!found.has(name)) found.set(name, now);
            }
            if (tokens() && !found.has("first new token")) found.set("first new token", now);
            const isDrawn = inside.every((each) => each.ariaBusy === "false");
            if (!isDrawn || !status.textContent.startsWith("Done")) return requestAnimationFrame(look);
            if (tokens()) found.set("each new token", now / tokens());
            found.set("everything", now);
            done();
        };
        requestAnimationFrame(look);
    });
    return [...found];
}"""

# Moves the first slider; returns ms until the answer with it is there.
_SLIDE = """async (value) => {
    const started = performance.now();
    const slider = document.querySelector(".slider input"), before = document.querySelector(".changes");
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
    while (document.querySelector(".changes") === before) await new Promise((done) => setTimeout(done, 1));
    return performance.now() - started;
}"""


@contextlib.contextmanager
def server(saved_models: str):
    """Yields the address of the server in a process of its own."""
    command = [sys.executable, str(ROOT / "main.py"), "serve", "--saved-models", saved_models]
    command += ["--rest-port", "0", "--grpc-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = (re.match(r"serving .*: (http\S+), gRPC", line) for line in process.stderr)
            found = next(filter(None, lines), None)
            if found is None:
                sys.exit("the server did not start")
            threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would hold the server
            yield found[1]
        finally:
            process.terminate()


def live(arguments) -> None:
    from playwright.sync_api import sync_playwright

    with server(arguments.saved_models) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for model in arguments.models:
            tab = browser.new_page(viewport={"width": 1250, "height": 900})
            tab.goto(f"{address}/#{urllib.parse.urlencode({'model': model})}")
            tab.locator("#text").fill(arguments.text)
            tab.wait_for_function("document.querySelector('.model:has(:checked) .kind')?.textContent")
            clicks = [dict(tab.evaluate(_CLICK)) for _ in range(6)]
            print(f"{model}, {len(arguments.text.split())} words")
            for name, first in clicks[0].items():
                later = statistics.median(click[name] for click in clicks[1:] if name in click)
                print(f"  {name}: first {first:.0f} ms, then {later:.0f} ms")
            if tab.locator(".slider input").count():
                first, *later = (tab.evaluate(_SLIDE, value) for value in (0.5, 0, 0.7, 1, 0.2, 0.9))
                print(f"  slider: first {first:.0f} ms, then {statistics.median(later):.0f} ms")
            tab.close()
        browser.close()


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
    serving = commands.add_parser("live")
    serving.add_argument("--saved-models", required=True)
    serving.add_argument("--models", nargs="+", required=True)
    serving.add_argument("--text", default=_SENTENCE)
    serving.set_defaults(run=live)
    paging = commands.add_parser("page")
    paging.add_argument("page")
    paging.set_defaults(run=page)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
