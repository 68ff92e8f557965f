import pytest
from matplotlib.figure import Figure

from pipelines.support import charts, confusion, markdown, report_page
from tests.browser import chromium, opened
from tests.pipelines.report_pages import parsed

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "![x](http://evil/x.png)",
    "[a](javascript:alert(1))",
    "\x00\x1b\ud800",
]
LONG = "name " * 40


def lines_of(folder) -> list[str]:
    """A report with everything that reports have, and with names and texts that are no Markdown."""
    names = [*HOSTILE[:3], *(f"{LONG}{i}" for i in range(30)), "\N{HEBREW LETTER ALEF}" * 9]
    counts = {name: {name: 9, names[i - 1]: i % 3} for i, name in enumerate(names)}
    charts.save(confusion.draw(counts, "label"), folder / "confusion.png")
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes in figure.subplots(1, 2):
        axes.plot([0, 1], [1, 0], color=charts.BLUE, label="training")
        axes.legend()
    charts.save(figure, folder / "curves.png")
    return [
        f"# Title of {markdown.text(HOSTILE[0])}",
        "",
        "The result is **89.6 %** of the texts.",
        "",
        *(f"- {markdown.quoted(each, 240)}, label *{markdown.text(each)}*, {each}" for each in HOSTILE),
        "",
        "## Confusion",
        "",
        *confusion.report_lines(counts, "label", "texts"),
        "| label | " + " | ".join(f"column {i}" for i in range(20)) + " |",
        "|---|" + "---:|" * 20,
        *(f"| {markdown.text(name)} | " + " | ".join(["1,234"] * 20) + " |" for name in names),
        "",
        "## Learning",
        "",
        "![Curves](curves.png)",
        "",
        "![Not there](http://evil/y.png) ![Not there](../secret.png)",
        "",
        *markdown.fenced(["python main.py predict " + "x" * 300], "text"),
    ]


def test_a_page_is_whole_and_needs_nothing_else(tmp_path):
    page = report_page.render(lines_of(tmp_path), tmp_path)
    root = parsed(page)
    assert root.find(".//title").text == "Title of <script>window.hacked = 1</script>"
    assert root.find(".//strong").text == "89.6 %"
    assert [each.text for each in root.iter("h2")] == ["Confusion", "Learning"]
    assert [each.get("href") for each in root.iter("a")] == [f"#{each.get('id')}" for each in root.iter("h2")]
    assert len(list(root.iter("svg"))) == 2 and not list(root.iter("img")) and not list(root.iter("script"))
    assert [each.text for each in root.findall(".//span[@class='caption']")][-1] == "Curves"


def test_a_page_has_the_same_bytes_each_time(tmp_path):
    pages = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        pages.append(report_page.render(lines_of(tmp_path / name), tmp_path / name))
    assert pages[0] == pages[1]


def test_names_and_texts_are_text(tmp_path):
    root = parsed(report_page.render(lines_of(tmp_path), tmp_path))
    items = ["".join(each.itertext()) for each in root.iter("li")]
    for each, item in zip(HOSTILE[:3], items, strict=False):
        assert item.count(each) >= 2, item  # the third time without the marks that show it as it is
    cells = ["".join(each.itertext()) for each in root.iter("td")]
    assert HOSTILE[0] in cells and HOSTILE[1] in cells
    assert max(map(len, cells)) <= markdown.MAX_NAME + 2


def test_a_picture_without_an_svg_is_in_the_page_as_well(tmp_path):
    (tmp_path / "of_optuna.png").write_bytes(b"\x89PNG")
    page = report_page.render(["# A", "![Title](of_optuna.png)"], tmp_path)
    assert '<img alt="Title" src="data:image/png;base64,iVBORw=="' in page


def test_a_report_without_sections_is_a_page(tmp_path):
    root = parsed(report_page.render(["text"], tmp_path))
    assert root.find(".//title").text == "Report" and root.find(".//nav") is None


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(tmp_path, scheme):
    (tmp_path / "report.html").write_text(report_page.render(lines_of(tmp_path), tmp_path), encoding="utf-8")
    with chromium() as browser:
        for width in (390, 1280, 1600):
            options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "java_script_enabled": True}
            tab, errors = opened(browser, (tmp_path / "report.html").as_uri(), **options)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert tab.evaluate(_OUTSIDE) == []
            assert tab.evaluate(_OVERLAPPING) == []
            assert tab.evaluate(_LEAST_LETTERS) >= 10.99
            assert tab.evaluate("window.hacked") is None and errors == []
            dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
            assert dark == (scheme == "dark")
            tab.close()


# Boxes that are wider than the page, unless they are in one that scrolls.
_OUTSIDE = """[...document.querySelectorAll('main *')].filter(each => !each.closest('.scroll > *')
    && each.getBoundingClientRect().right > innerWidth).map(each => each.outerHTML.slice(0, 80))"""
# Texts of one chart whose boxes overlap by more than a pixel.
_OVERLAPPING = """[...document.querySelectorAll('svg')].flatMap(svg => {
    const boxes = [...svg.querySelectorAll('text')].map(each => [each.textContent, each.getBoundingClientRect()]);
    return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([b, y]) =>
        Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1 &&
        Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 1).map(([b]) => [a, b])); })"""
_LEAST_LETTERS = """Math.min(...[...document.querySelectorAll('svg text')].map(each =>
    parseFloat(getComputedStyle(each).fontSize) * each.ownerSVGElement.getBoundingClientRect().width
    / each.ownerSVGElement.viewBox.baseVal.width))"""
