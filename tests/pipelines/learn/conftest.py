import pytest

from pipelines.learn.course import Course
from tests.browser import chromium


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """A course whose models are trained when a test asks for them, once in a session."""
    folder = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNROLL_CACHE", str(folder / "cache"))
        yield Course(folder / "runs", folder / "saved_models")


@pytest.fixture  # of a test, because Playwright's event loop lets no other run in this process while it is open
def browser():
    """Chromium; the test is skipped where there is none."""
    with chromium() as browser:
        yield browser
