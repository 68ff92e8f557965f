import html
import json
import re
import shlex
import urllib.request

import numpy as np
import pytest
import tensorflow as tf

from serving import front_page
from serving.versions import State, Version


class Models:
    """A manager with models that are not loaded."""

    def __init__(self, *versions):
        self._versions = versions

    def readiness(self):
        return {version.model: version.state == State.AVAILABLE for version in self._versions}

    def versions(self, name):
        return [version for version in self._versions if version.model == name]


class Core:
    def __init__(self, *versions):
        self.manager = Models(*versions)


def page_of(client, host=None):
    address = f"http://127.0.0.1:{client.server.rest_port}/"
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request) as response:
        return response.headers, response.read().decode()


def test_the_page_lists_the_models_and_its_example_request_works(client):
    headers, page = page_of(client)
    assert (
        headers["content-type"] == "text/html; charset=utf-8"
        and "default-src 'none'" in headers["content-security-policy"]
    )
    assert "<h3>upper</h3>" in page and "<td>2<td>AVAILABLE" in page
    commands = [shlex.split(html.unescape(text)) for text in re.findall("<pre>(.*?)</pre>", page, re.DOTALL)]
    (command,) = [command for command in commands if "/upper:" in command[-1]]
    assert command[:2] == ["curl", "-d"]
    assert command[3] == f"http://127.0.0.1:{client.server.rest_port}/v1/models/upper:predict"
    status, answer = client.http("/v1/models/upper:predict", json.loads(command[2]))
    assert status == 200 and answer["predictions"][0]["label"] == "AN EXAMPLE TEXT."


def test_only_the_servers_own_names_get_the_page(client):
    with pytest.raises(urllib.error.HTTPError) as error:
        page_of(client, "evil.example")
    error.value.close()
    assert error.value.code == 403
    assert client.http("/", method="HEAD")[0] == 200
    assert client.http("/", b"{}")[0] == 400


def test_names_and_errors_are_escaped():
    version = Version("<b>'\"&/x", 1, state=State.END, error="<script>alert(1)</script>")
    page = front_page.render(Core(version), "http://localhost:8501/<i>").decode()
    assert "<script>" not in page and "<b>" not in page and "<i>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "/v1/models/%3Cb%3E%27%22%26%2Fx/metadata" in page


def test_a_server_without_models_has_a_page():
    assert "0 models" in front_page.render(Core(), "http://localhost").decode()


def test_an_example_has_the_types_and_shapes_of_the_inputs():
    dtypes = {"text": np.dtype(object), "ids": np.dtype("int64"), "flag": np.dtype(bool), "scale": np.dtype("float32")}
    shapes = {"text": [None], "ids": [None, 3], "flag": [None], "scale": []}
    shapes = {name: tf.TensorShape(shape) for name, shape in shapes.items()}
    assert front_page.example_inputs(dtypes, shapes) == {
        "text": ["An example text."],
        "ids": [[1, 1, 1]],
        "flag": [True],
        "scale": 1.0,
    }
    assert front_page.example_inputs({"x": np.dtype("float16")}, {"x": tf.TensorShape(None)}) == {"x": [1.0]}
