import io

from PIL import Image

from pipelines.inspect import gates
from pipelines.inspect.figure import stacked
from tests.pipelines.inspect.exports import make_trace, picture


def test_pictures_are_stacked():
    (figure,) = gates.figures(make_trace(), top=2)
    one = figure.png()
    assert stacked([one]) == one
    two = Image.open(io.BytesIO(stacked([one, one])))
    assert two.height > 2 * picture(figure).height and two.width == picture(figure).width
