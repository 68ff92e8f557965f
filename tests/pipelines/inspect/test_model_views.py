import pytest

from tests.pipelines.inspect.exports import assert_page, assert_refused

pytestmark = pytest.mark.long  # they train or load models


@pytest.mark.parametrize(
    "arguments",
    [("neurons", "--models", "small"), ("embeddings", "--models", "small", "--words", "o", "t"), ("size",)],
)
def test_each_writes_a_page(exports, tmp_path, capsys, arguments):
    models = () if "--models" in arguments else ("--models", "small", "attentive")
    printed = assert_page(capsys, tmp_path / "page.html", *arguments, *models, "--saved-models", exports)
    assert {"neurons": "correlation", "embeddings": "o: ", "size": "parameters"}[arguments[0]] in printed


def test_positions(tmp_path, capsys):
    assert_page(capsys, tmp_path / "page.html", "positions", "--length", 8, "--size", 4)


def test_cost(tmp_path, capsys):
    flags = ("--lengths", 8, 16, "--size", 4, "--batch-size", 1)
    assert "attention: time grows" in assert_page(capsys, tmp_path / "page.html", "cost", *flags)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("neurons", "--models", "attentive"), "attentive/1 has no recurrent layer"),
        (("neurons", "--models", "small", "--data", "absent"), "--data absent: no such file"),
        (("embeddings", "--models", "small", "--words", "zebra"), "does not know this token"),
        (("embeddings", "--models", "small", "--neighbours", "0"), "--neighbours 0: it must be from 1 to 50"),
    ],
)
def test_mistakes_with_models_are_one_line(exports, capsys, arguments, message):
    assert_refused(capsys, message, *arguments, "--saved-models", exports)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("positions", "--size", "5"), "--size 5: it must be an even number"),
        (("positions", "--length", "1"), "--length 1: it must be from 4"),
        (("cost", "--lengths", "8"), "give two different lengths or more"),
        (("cost", "--lengths", "8", "8"), "give two different lengths or more"),
        (("cost", "--size", "0"), "--size must be from 1 to 4096"),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, message):
    assert_refused(capsys, message, *arguments)
