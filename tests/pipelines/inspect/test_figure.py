import dataclasses
import io
import math

import altair as alt
import pandas as pd
import pytest
from PIL import Image

from pipelines.inspect import gates, page
from pipelines.inspect.figure import Figure, stacked
from tests.pipelines.inspect import letters
from tests.pipelines.inspect.exports import data_of, make_trace, picture
from tests.pipelines.inspect.marks import empty_panels, marks_of


@pytest.mark.long
def test_pictures_are_stacked():
    (figure,) = gates.figures(make_trace(), top=2)
    one = figure.png()
    assert stacked([one]) == one
    two = Image.open(io.BytesIO(stacked([one, one])))
    assert two.height > 2 * picture(figure).height and two.width == picture(figure).width


def _figure_of(rows):
    chart = alt.Chart(alt.NamedData("rows")).mark_point().encode(x="x:Q", y="y:Q")
    return Figure("points", "Points", "Points.", chart, {"rows": rows})


def test_no_number_is_rounded():
    numbers = [5e-11, 1.23456789e-300, 123456789.125, 1 / 3]
    figure = _figure_of(pd.DataFrame({"x": range(4), "y": numbers}))
    assert [row["y"] for row in figure.with_data()["datasets"]["rows"]] == numbers
    assert figure.columns()["rows"]["y"] == numbers
    (in_page,) = data_of(page.render("Points", [figure], []))
    assert in_page["data"]["rows"]["y"] == [5e-11, 1.234568e-300, 123456800.0, 0.3333333]


def test_numbers_that_are_not_finite_are_missing():
    figure = _figure_of(pd.DataFrame({"x": [1.0, 2, 3], "y": [1, math.inf, math.nan], "name": ["a", None, "b"]}))
    assert figure.columns()["rows"] == {"x": [1, 2, 3], "y": [1, None, None], "name": ["a", None, "b"]}
    assert page.render("Points", [figure], [])


def test_empty_panels_are_found(every_figure_has_marks):
    """Of the check of all figures in conftest.py."""
    drawn = _figure_of(pd.DataFrame({"x": [1.0], "y": [1.0]}))
    nothing = alt.Chart(alt.NamedData("rows")).transform_filter("datum.x > 1").mark_line().encode(x="x:Q", y="y:Q")
    beside = dataclasses.replace(drawn, chart=alt.hconcat(drawn.chart, nothing))
    assert marks_of(beside) == {"symbol": 1} and len(empty_panels(beside)) == 1
    logarithmic = alt.Chart(alt.NamedData("rows")).mark_point().encode(x="x:Q", y=alt.Y("y:Q").scale(type="log"))
    zero = _figure_of(pd.DataFrame({"x": [1.0, 2], "y": [1.0, 0]}))
    assert "logarithmic" in empty_panels(dataclasses.replace(zero, chart=logarithmic))[0]
    every_figure_has_marks.clear()  # these are empty on purpose


def test_texts_that_cannot_be_read_are_found(every_figure_has_marks):
    """Of the check of all figures in conftest.py."""
    rows = pd.DataFrame({"x": [0.0, 0.01, 1.0], "y": [0.0, 0.01, 1.0], "text": ["left", "covers it", "far"]})
    figure = _figure_of(rows)
    for size, problem in ((11, "'left' covers 'covers it'"), (9, "'left' has 9 pixels")):
        texts = figure.chart.mark_text(fontSize=size).encode(x="x:Q", y="y:Q", text="text:N")
        found = letters.unreadable(dataclasses.replace(figure, chart=texts))
        assert problem in found and not any("'far' covers" in each for each in found)
    turned = figure.chart.mark_text(angle=300, dx=10).encode(x="x:Q", y=alt.value(0), text="text:N")
    assert letters.unreadable(dataclasses.replace(figure, chart=turned))
    every_figure_has_marks.clear()  # they are like that on purpose
