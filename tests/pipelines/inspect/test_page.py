import re

import numpy as np
import pytest

from pipelines.inspect import gates, page, positions, size
from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import traces
from tests.browser import chromium, opened
from tests.pipelines.inspect.exports import data_of, make_trace, outputs_of

HOSTILE = ["<start>", "</script><script>window.hacked=1</script>", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "\U0001f600"]


def hostile_figure() -> Figure:
    values = outputs_of()
    values["tokens"] = [[token.encode() for token in HOSTILE]] * 2
    return gates.figures(traces("<b>m</b>/1", values)[0], top=2)[0]


@pytest.mark.long
def test_the_page_has_everything_in_itself():
    html = page.render("Gates & more", gates.figures(make_trace(), top=2), ["It is cut."])
    assert len(html.encode()) < 700_000
    assert "Gates &amp; more" in html and "<p>It is cut.</p>" in html
    without_data = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert not re.findall(r'(?:src|href)="(?!data:)', without_data)
    # Not "img", whose content screen readers skip: the lists of layers and units are in it.
    assert 'class="chart" role="group" aria-label="Gates of small/1. ' in without_data
    assert "needs JavaScript" in without_data and "data:image/png;base64," in without_data
    (figure,) = data_of(html)
    assert figure["name"] == "gates" and figure["data"]["means"]["gate"][0] == "forget gate"


@pytest.mark.long
def test_a_large_page_is_small():
    """60 tokens, two layers, 512 units each."""
    figures = gates.figures(make_trace(layers=("layer_1", "layer_2"), time=60, units=512), top=512)
    assert len(figures[0].data["units"]) == 2 * 512 * 60
    # Random numbers compress worse than those of a model do.
    assert len(page.render("Gates", figures, []).encode()) < 3_000_000


@pytest.mark.long
def test_hostile_tokens_are_text():
    html = page.render(HOSTILE[1], [hostile_figure()], [HOSTILE[1]])
    assert HOSTILE[1] not in html
    assert data_of(html)[0]["data"]["tokens"]["token"][1] == HOSTILE[1]


@pytest.mark.long
def test_many_lines_are_folded_and_keys_are_named_where_they_work():
    html = page.render("Positions", positions.figures(8, 4), [f"line {i}" for i in range(9)])
    shown, folded = html.split("<summary>6 more lines</summary>")
    assert "<p>line 2</p>" in shown and "<p>line 3</p>" not in shown and "<p>line 8</p>" in folded
    assert "arrow keys" not in html and "arrow keys" in page.render("Gates", gates.figures(make_trace(), top=2), [])


def test_a_long_table_is_cut():
    figure = gates.figures(make_trace(), top=2)[0]
    rows = figure.table.loc[figure.table.index.repeat(100)]
    assert "The first 200 of 1,200 rows." in page._table(rows)


@pytest.mark.long
def test_the_page_in_a_browser(tmp_path):
    path = tmp_path / "page.html"
    trace = make_trace(layers=("layer_1", "layer_2"))
    path.write_text(page.render("Gates", gates.figures(trace, top=2), []))
    with chromium() as browser:
        tab, errors = opened(browser, path.as_uri())
        tab.wait_for_function("document.body.dataset.drawn === '1'")
        box = tab.locator("canvas").bounding_box()
        assert box["width"] > 200 and box["height"] > 400

        tab.locator(".chart").focus()
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowRight")
        tab.wait_for_function("window.marked?.() === 1")

        tab.get_by_label("layer").select_option("layer_2")
        tab.wait_for_function("location.hash.includes('layer_2')")
        again, more = opened(browser, tab.url)
        again.wait_for_function("document.body.dataset.drawn === '1'")
        assert again.get_by_label("layer").input_value() == "layer_2"
        assert errors == more == []


@pytest.mark.long
def test_hostile_tokens_in_a_browser(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page.render(HOSTILE[1], [hostile_figure()], []))
    with chromium() as browser:
        tab, errors = opened(browser, path.as_uri(), color_scheme="dark")
        tab.wait_for_function("document.body.dataset.drawn === '1'")
        assert tab.evaluate("window.hacked") is None and errors == []


@pytest.mark.long
def test_a_cell_shows_its_equation(tmp_path):
    """c = f c_before + i g, where c_before is the state before the token in the order of reading."""
    path = tmp_path / "page.html"
    trace = make_trace(layers=("layer_1_forward", "layer_1_backward"))
    path.write_text(page.render("Gates", gates.figures(trace, top=2), []))
    with chromium() as browser:
        for layer, earlier in [("layer_1_forward", 1), ("layer_1_backward", 3)]:
            unit = gates.most_varying(trace.recurrent[layer], 1)[0]
            values = {name: array[2, unit] for name, array in trace.recurrent[layer].items()}
            chosen = f'#gates.layer="{layer}"&gates.unit={unit}&gates.pinned=2'
            tab, errors = opened(browser, path.as_uri() + chosen)
            tab.wait_for_function("document.body.dataset.drawn === '1'")
            before = trace.recurrent[layer]["cell"][earlier, unit]
            scene = tab.evaluate("window.views[0].view.scenegraph().toJSON()")
            line = re.search(r"c = f c\N{SUBSCRIPT MINUS}\N{SUBSCRIPT ONE} \+ i g = ([^\"]*)", scene)[1]
            shown = [float(each) for each in re.split(r" [·+=] ", line.replace("\N{MINUS SIGN}", "-"))]
            numbers = [values["forget_gate"], before, values["input_gate"], values["candidate"], values["cell"]]
            np.testing.assert_allclose(shown, numbers, atol=0.001)
            assert errors == []


@pytest.mark.long
def test_a_browser_that_cannot_decompress_shows_pictures(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page.render("Gates", gates.figures(make_trace(), top=2), []))
    with chromium() as browser:
        tab = browser.new_page()
        tab.add_init_script("delete window.DecompressionStream")
        tab.goto(path.as_uri())
        assert tab.locator("section > img").bounding_box()["width"] > 200
        assert "browser of 2023" in tab.inner_text("body")


@pytest.mark.long
def test_without_javascript_there_are_pictures(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page.render("Gates", gates.figures(make_trace(), top=2), []))
    with chromium() as browser:
        context = browser.new_context(java_script_enabled=False)
        tab = context.new_page()
        tab.goto(path.as_uri())
        assert tab.locator("noscript img, img").first.bounding_box()["width"] > 200
        assert "needs JavaScript" in tab.inner_text("body")


# Canvases that are enlarged, what is wider than the page but in no box that scrolls, and menus outside of the page.
_FLAWS = """() => {
    const scaled = [...document.querySelectorAll('canvas')].filter((each) =>
        Math.abs(each.width - each.getBoundingClientRect().width * devicePixelRatio) > 1);
    const wide = [...document.querySelectorAll('main *')].filter((each) =>
        !each.closest('.chart > *, details > *') && each.getBoundingClientRect().right > innerWidth);
    const menus = [...document.querySelectorAll('select, input')].filter((each) => {
        const box = each.getBoundingClientRect(), bar = each.closest('.vega-bindings').getBoundingClientRect();
        return box.left < 0 || Math.max(box.right, bar.right) > innerWidth;
    });
    return [...scaled, ...wide, ...menus].map((each) => each.outerHTML.slice(0, 80));
}"""


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_sharp_and_the_page_is_as_wide_as_the_window(tmp_path, scheme):
    path = tmp_path / "page.html"
    drawn = [*gates.figures(make_trace(layers=("layer_1", "layer_2"), time=60), top=2), *positions.figures(8, 4)]
    path.write_text(
        page.render("Gates", [*drawn, *size.figures("small/1", [("lstm/lstm_cell/kernel", (64, 400))])], [])
    )
    with chromium() as browser:
        for width in (390, 1280, 1600):
            for ratio in (1, 2):
                options = {"viewport": {"width": width, "height": 900}, "device_scale_factor": ratio}
                tab, errors = opened(browser, path.as_uri(), color_scheme=scheme, **options)
                tab.wait_for_function("document.body.dataset.drawn === '3'")
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                assert tab.evaluate(_FLAWS) == [] and errors == []
                assert tab.get_by_text("n x 4 h = 64 x 4 x 100").is_visible()
                tab.close()
