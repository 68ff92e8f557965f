"""Data at addresses: a web server on this machine, and an S3 server."""

import functools
import http.server
import importlib.util
import threading

import pytest

from pipelines.data import addresses
from pipelines.support import console, paths
from pipelines.support.errors import UserError

needs_moto = pytest.mark.skipif(importlib.util.find_spec("moto") is None, reason="moto is not installed")
TABLE = b"text,label\n" + b"".join(b"text number %d,%s\n" % (i, (b"good", b"bad")[i % 2]) for i in range(60))


class Web:
    """What a server answers, and what it was asked.

    Attributes:
        files: path -> (content, further headers).
        statuses: of the answers, in their order.
    """

    def __init__(self):
        self.files, self.statuses = {}, []

    def start(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_port}"
        self.stop = lambda: (server.shutdown(), server.server_close())


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the files of a `Web`."""

    def __init__(self, web, *arguments):
        self.web = web
        super().__init__(*arguments)

    def do_GET(self):
        content, headers = self.web.files.get(self.path, (None, {}))
        status = 404 if content is None else 200
        if headers.get("ETag") and self.headers["If-None-Match"] == headers["ETag"]:
            status, content = 304, b""
        self.web.statuses.append(status)
        self.send_response(status)
        for name, value in ({"Content-Length": len(content or b"")} | headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *arguments):
        pass


@pytest.fixture
def web():
    served = Web()
    served.start()
    yield served
    served.stop()


@pytest.fixture(autouse=True)
def each_call_is_a_new_process(monkeypatch):
    monkeypatch.setattr(addresses, "copied", addresses.copied.__wrapped__)


def test_a_copy_is_made_once_and_again_when_the_file_has_changed(web, tmp_path):
    web.files["/a/reviews.csv?raw=1"] = (b"one", {"ETag": '"1"'})
    address = f"{web.address}/a/reviews.csv?raw=1"
    path = addresses.copied(address, tmp_path)
    assert path.name == "reviews.csv" and path.read_bytes() == b"one"
    assert addresses.copied(address, tmp_path) == path and web.statuses == [200, 304]
    web.files["/a/reviews.csv?raw=1"] = (b"two", {"ETag": '"2"'})
    assert addresses.copied(address, tmp_path).read_bytes() == b"two"


def test_a_file_without_a_tag_is_read_again(web, tmp_path):
    for content in (b"one", b"two"):
        web.files["/x.csv"] = (content, {})
        assert addresses.copied(f"{web.address}/x.csv", tmp_path).read_bytes() == content


@pytest.mark.parametrize("disposition", ['attachment; filename="../good bad.csv"', "attachment; filename=good bad.csv"])
def test_the_name_is_that_of_the_header(web, tmp_path, disposition):
    web.files["/download?id=3"] = (b"x", {"Content-Disposition": disposition})
    path = addresses.copied(f"{web.address}/download?id=3", tmp_path)
    assert path.name == "good bad.csv" and tmp_path in path.parents


def test_without_a_connection_an_earlier_copy_is_read(web, tmp_path):
    web.files["/x.csv"] = (b"one", {"ETag": '"1"'})
    path = addresses.copied(f"{web.address}/x.csv", tmp_path)
    web.stop()
    said = []
    with console.forwarded(said.append):
        assert addresses.copied(f"{web.address}/x.csv", tmp_path) == path
    assert "an earlier copy is read" in said[0]


def test_what_is_no_data_is_refused_in_one_line(web, tmp_path):
    web.files["/page"] = (b"<html>", {"Content-Type": "text/html; charset=utf-8"})
    web.files["/cut.csv"] = (b"half", {"Content-Length": 4000})
    for path, reason in (("/page", "is a web page"), ("/none.csv", "answered 404"), ("/cut.csv", "it broke off")):
        with pytest.raises(UserError, match=reason) as caught:
            addresses.copied(f"{web.address}{path}", tmp_path)
        assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="starts with https://"):
        addresses.copied("ftp://host/x.csv", tmp_path)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_no_host(tmp_path):
    with pytest.raises(UserError, match="no connection to 127.0.0.1"):
        addresses.copied("http://127.0.0.1:9/x.csv", tmp_path)


@pytest.mark.long
@pytest.mark.slow
def test_a_training_and_a_prediction_read_addresses(web, tmp_path, run_main, monkeypatch):
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))
    web.files["/texts.csv?raw=1"] = (TABLE, {"ETag": '"1"'})
    folders = ["--runs", tmp_path / "runs", "--saved-models", tmp_path / "saved"]
    address = f"{web.address}/texts.csv?raw=1"
    done = run_main(tmp_path, "train", "classification", "--data", address, "--preset", "quick", *folders)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "labels.csv"
    done = run_main(tmp_path, "predict", "classification", "--input", address, "--output", output, *folders[2:])
    assert done.returncode == 0, done.stderr
    assert len(output.read_text().splitlines()) == 61 and (tmp_path / "saved" / "texts").is_dir()


@needs_moto
@pytest.mark.long
def test_objects_are_copied_and_patterns_are_their_files(tmp_path):
    from tests.pipelines.predicting.storage import served

    with served() as client, pytest.MonkeyPatch.context() as patch:
        for name, value in client.environment.items():
            patch.setenv(name, value)
        client.put("in/a.csv", TABLE)
        client.put("in/b.csv", b"other")
        assert paths.expanded("s3://texts/in/*.csv") == ("s3://texts/in/a.csv", "s3://texts/in/b.csv")
        path = addresses.copied("s3://texts/in/a.csv", tmp_path)
        assert path.name == "a.csv" and path.read_bytes() == TABLE
        changed = path.stat().st_mtime_ns
        assert addresses.copied("s3://texts/in/a.csv", tmp_path).stat().st_mtime_ns == changed
        client.put("in/a.csv", b"new")
        assert addresses.copied("s3://texts/in/a.csv", tmp_path).read_bytes() == b"new"
        with pytest.raises(
            UserError, match=r"is a folder: give its files with a pattern, such as s3://texts/in/\*.csv"
        ):
            addresses.copied("s3://texts/in", tmp_path)

        def changes(address, target):
            target.write_bytes(b"old")
            client.put("in/b.csv", b"changed meanwhile")

        patch.setattr(addresses.object_storage, "copy", changes)
        with pytest.raises(UserError, match="changed while it was read"):
            addresses.copied("s3://texts/in/b.csv", tmp_path)
