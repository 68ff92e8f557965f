import pytest

from tests.pipelines.inspect.exports import assert_page, assert_refused

TEXT = "to be or not"


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("intervene", TEXT, "--models", "small"),
        ("intervene", TEXT, "--models", "small", "--clamp", "forget:all:3=1", "layer_2:hidden:2:all=0"),
        ("intervene", TEXT, "--models", "attentive", "--clamp", "head:all:0=0"),
        ("patch", TEXT, "--other", "to bo or not", "--models", "attentive"),
    ],
)
def test_each_writes_a_page(exports, tmp_path, capsys, arguments):
    assert_page(capsys, tmp_path / "page.html", *arguments, "--saved-models", exports)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("intervene", "x", "--models", "counts"), "counts/1 has no trace"),
        (("intervene", "x", "--models", "small", "--clamp", "x"), "--clamp x: expected KIND:STEP:UNIT=VALUE"),
        (("patch", "x", "--models", "small"), "--other: give another text"),
        (("patch", "x", "--models", "small", "--other", "x"), "--other: give another text"),
    ],
)
def test_mistakes_are_one_line(exports, capsys, arguments, message):
    assert_refused(capsys, message, *arguments, "--saved-models", exports)
