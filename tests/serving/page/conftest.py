"""The live page in a real browser, with a real server. UNROLL_REQUIRE_BROWSER=1 makes a missing browser a failure."""

import urllib.parse

import pytest

from tests.browser import chromium, installed
from tests.serving import page_models, small_models
from tests.serving.conftest import serving

ALL = ("classifier", "language-model", "tagger", "translator", "upper")
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202e\u05e9\u05dc\u05d5\u05dd \U0001f600 e\u0301"
WAIT_MS = 60_000  # no test measures time; this only ends a test that would wait forever


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    installed()  # no models are saved in vain
    root = tmp_path_factory.mktemp("page_models")
    page_models.save_all(root)
    small_models.save(root, "upper", 1)
    small_models.save_generator(root, "generator", 1)
    with serving(root, max_text_bytes=200_000) as client:
        yield f"http://127.0.0.1:{client.server.rest_port}/"


@pytest.fixture(scope="package")
def browser(server):
    # After the server: Playwright runs an event loop in this thread until its end, and a server cannot start beside it.
    with chromium() as browser:
        yield browser


@pytest.fixture
def problems():
    """What the browser's console reports, and dialogs that scripts open. Empty at the end of a test."""
    found = []
    yield found
    assert found == []


@pytest.fixture
def open_page(browser, server, problems):
    """Opens the page with models and a text in its address."""
    contexts = []

    def open_page(models=(), text=None, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        values = [("model", name) for name in models] + ([("text", text)] if text is not None else [])
        page.goto(server + (f"#{urllib.parse.urlencode(values, quote_via=urllib.parse.quote)}" if values else ""))
        if values:
            wait_until_done(page)
        return page

    yield open_page
    for context in contexts:
        context.close()


def wait_until_done(page):
    page.locator("#status", has_text="Done").wait_for()


def card(page, name):
    return page.locator(f'article[aria-label="{name}"]')


def open_inside(page):
    """Opens what the models compute, and waits until it is drawn."""
    inside = page.locator("details.trace:not([open])")
    while inside.count():
        inside.first.locator("summary").first.click()
    page.wait_for_function("""() => [...document.querySelectorAll("details.trace")].every(
        (each) => each.getAttribute("aria-busy") === "false")""")


def classes(scope):
    """What the page says of each class that it shows."""
    return [" ".join(text.split()) for text in scope.locator(".classes li").all_inner_texts()]


def figures(scope):
    """The labels of the figures that are drawn."""
    drawn = scope.locator(".figure:has(canvas)")
    return [drawn.nth(i).get_attribute("aria-label") for i in range(drawn.count())]
