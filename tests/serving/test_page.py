"""The page as the server sends it. page/ uses it in a browser."""

import gzip
import html.parser
import json
import urllib.error
import urllib.request

import pytest

from serving import front_page, static_files
from serving.versions import State, Version
from tests.serving.test_front_page import Core, page_of

HOSTILE = "</script><!--models--><script>alert(1)</script>\"'&\u2028"


def get(client, path, **headers):
    """Returns status, headers and body."""
    address = f"http://127.0.0.1:{client.server.rest_port}{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


class Elements(html.parser.HTMLParser):
    """What a browser makes of a page: (tag, attributes) of its elements, and the text in each kind of element."""

    def __init__(self, page):
        super().__init__()
        self.found, self.texts, self._open = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self._open = tag
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        self.texts[self._open] = self.texts.get(self._open, "") + data

    def sources(self):
        return [attributes.get("src") for tag, attributes in self.found if tag == "script"]


def test_the_page_names_its_scripts_and_its_models(client):
    headers, page = page_of(client)
    elements = Elements(page)
    assert elements.sources()[1:] == [f"/page/{name}" for name in static_files.SCRIPTS]
    assert json.loads(elements.texts["script"]) == [["upper", [], "", {}]]
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"] and headers["cache-control"] == "no-store"


def test_without_javascript_the_page_shows_the_models_and_one_sentence(client):
    page = page_of(client)[1]
    elements = Elements(page)
    hidden = [attributes.get("id") for _, attributes in elements.found if "hidden" in attributes]
    assert hidden == ["form", "completion-settings"]
    assert page.count("The live part of this page needs JavaScript.") == 1
    links = {attributes["href"] for tag, attributes in elements.found if tag == "a"}
    assert {"/page/help.html", "/readyz", "/monitoring/prometheus/metrics", "/v1/models/upper/metadata"} <= links
    assert ("details", {"id": "overview", "open": None}) in elements.found and "curl -d" in elements.texts["pre"]


def test_a_hostile_name_is_text():
    page = front_page.render(Core(Version(HOSTILE, 1, state=State.END, error=HOSTILE)), "http://localhost").decode()
    elements = Elements(page)
    assert json.loads(elements.texts["script"]) == [[HOSTILE, [], "", {}]] and elements.texts["h3"] == HOSTILE
    assert len(elements.sources()) == 1 + len(static_files.SCRIPTS)
    assert page.count("1 model.") == 1  # a name cannot contain a place of the template


@pytest.mark.parametrize(
    "name, content_type",
    [
        ("page.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("help.html", "text/html; charset=utf-8"),
        ("figures/gates.json", "application/json"),
    ],
)
def test_a_static_file(client, name, content_type):
    status, headers, body = get(client, f"/page/{name}")
    assert (status, headers["content-type"]) == (200, content_type) and body == static_files.read(name).content
    assert headers["cache-control"] == "no-cache" and headers["x-content-type-options"] == "nosniff"
    status, headers, compressed = get(client, f"/page/{name}", **{"Accept-Encoding": "gzip"})
    assert headers["content-encoding"] == "gzip" and gzip.decompress(compressed) == body
    status, _, body = get(client, f"/page/{name}", **{"If-None-Match": headers["etag"]})
    assert (status, body) == (304, b"")


@pytest.mark.parametrize(
    "name", ["", "nothing.js", "../rest.py", "..%2Frest.py", "figures/../../rest.py", "index.html"]
)
def test_no_other_file_can_be_read(client, name):
    status, _, body = get(client, f"/page/{name}")
    assert status == 404 and json.loads(body) == {"error": "the live page has no such file"}


def test_the_library_of_the_figures_is_a_static_file(client):
    pytest.importorskip("vl_convert")
    status, headers, body = get(client, "/page/vega.js")
    assert status == 200 and headers["content-type"].startswith("text/javascript") and b"window.vegaEmbed=" in body


def test_without_the_library_one_line_says_what_to_install(client, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(static_files, "read", missing)
    status, _, body = get(client, "/page/vega.js")
    assert status == 501 and "pip install vl-convert-python" in json.loads(body)["error"]
