import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

from pipelines.support import charts


def draw(name: str = "label") -> Figure:
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "o", color=charts.BLUE, label=name)
    axes.axhline(0.5, color=charts.ORANGE)
    axes.pcolormesh(np.array([[0.0, 0.5], [0.7, 1.0]]), cmap=charts.CELLS)
    axes.text(0.5, 0.5, "on a dark cell", color="white", fontsize=charts.SMALL)
    axes.set(xlabel=name)
    axes.legend()
    return figure


def test_a_chart_is_a_png_and_an_svg_with_the_same_bytes_each_time(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        charts.save(draw(), tmp_path / folder / "chart.png")
    for name in ("chart.png", "chart.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a" / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_one_format_is_one_file(tmp_path):
    charts.write(draw(), tmp_path / "chart.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["chart.svg"]


def test_a_page_has_text_and_its_own_colors(tmp_path):
    charts.save(draw(), tmp_path / "chart.png")
    svg = charts.inline(tmp_path / "chart.svg", 'A "title" & more')
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"] == 'A "title" & more' and root.attrib["role"] == "img"
    assert "label" in [each.text for each in root.iter("text")]
    for color in ("var(--blue)", "var(--orange)", "var(--cell)", "currentColor"):
        assert color in svg
    assert not re.search("#(3465a4|ce5c00|204a87|000000)", svg) and "font-family" not in svg
    assert "fill: #ffffff" in svg  # the number on a dark cell
    assert not [each for each in root.iter("path") if "#ffffff" in each.attrib.get("style", "")]
    assert "<image" not in svg and "http" not in svg and "xlink" not in svg


def test_letters_are_at_least_11_pixels_high(tmp_path):
    charts.save(draw(), tmp_path / "chart.png")
    svg = charts.inline(tmp_path / "chart.svg", "")
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    least, most = (float(re.search(rf"{name}-width: (\d+)px", svg)[1]) for name in ("min", "max"))
    assert least / width * charts.SMALL == pytest.approx(11, abs=0.1)
    assert most / width == pytest.approx(96 / 72, abs=0.01)  # as large as it was drawn


@pytest.mark.parametrize("name", ["$\\frac$", "<script>x</script>", "a\x00\x1b\ufffe", "]]> --> &amp;", "$a$ and $"])
def test_names_are_text(tmp_path, name):
    charts.save(draw(name), tmp_path / "chart.png")
    root = ET.fromstring(charts.inline(tmp_path / "chart.svg", ""))
    assert re.sub("[\x00\x1b\ufffe]", "", name) in [each.text for each in root.iter("text")]


def test_two_charts_of_a_page_have_different_names_of_their_parts(tmp_path):
    names = []
    for chart in ("one", "two"):
        charts.save(draw(), tmp_path / f"{chart}.png")
        names += re.findall(r' id="([^"]*)"', charts.inline(tmp_path / f"{chart}.svg", ""))
    assert names and len(names) == len(set(names))
