from pipelines.inspect.command import NAMES, VIEWS
from tests.pipelines.inspect.exports import assert_refused


def test_every_inspection_has_a_line_of_help():
    assert list(NAMES) == list(VIEWS)
    for name, view in VIEWS.items():
        assert name == view.NAME and len(view.__doc__.splitlines()[0]) < 120


def test_a_mistyped_inspection(capsys):
    assert_refused(capsys, "no inspection 'gate'; did you mean gates?", "gate", "x")
