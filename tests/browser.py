"""A real browser for tests: an installed Chromium without a window, driven by Playwright."""

import contextlib
import os
import shutil

import pytest

REQUIRED = "UNROLL_REQUIRE_BROWSER"  # set to 1, a missing browser is a failure


# No requests of the browser itself: the tests need no network.
_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-quic", "--no-first-run", "--disable-sync"]


def installed() -> str:
    """Returns the path of the browser; skips the test, or fails if one is REQUIRED, where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        reason = "no Chromium is installed (Debian: apt install chromium)"
        (pytest.fail if os.environ.get(REQUIRED) == "1" else pytest.skip)(reason)
    return path


@contextlib.contextmanager
def chromium():
    """Yields the browser."""
    path = installed()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def opened(browser, address: str, **options):
    """Opens a page and returns it with the list of its errors: exceptions, and messages on the console."""
    page, errors = browser.new_page(**options), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(address)
    return page, errors
