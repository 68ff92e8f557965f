"""A real browser for tests: an installed Chromium without a window, driven by Playwright."""

import contextlib
import os
import shutil

import pytest

REQUIRED = "UNROLL_REQUIRE_BROWSER"  # set to 1, a missing browser is a failure


@contextlib.contextmanager
def chromium():
    """Yields the browser; skips the test, or fails if one is REQUIRED, where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        reason = "no Chromium is installed (Debian: apt install chromium)"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
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
