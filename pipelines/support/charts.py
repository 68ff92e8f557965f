"""The charts of reports: their colours, their files, and how a page shows them."""

import html
import re
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from pipelines.support.files import written_beside

BLUE, ORANGE, GREY = "#3465a4", "#ce5c00", "#888a85"
_CELL = "#204a87"
CELLS = LinearSegmentedColormap.from_list("cells", [(*to_rgb(_CELL), 0.0), (*to_rgb(_CELL), 1.0)])  # by opacity
SMALL = 9  # points: the smallest letters of a chart
_LEAST_PIXELS = 11  # of letters, on a narrow screen
_PIXELS = 96 / 72  # of a point
# What a page has in place of a color: it changes with the color scheme.
_OF_PAGE = {
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREY: "var(--grey)",
    _CELL: "var(--cell)",
    "#000000": "currentColor",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")  # XML has no such characters


def save(figure: Figure, path: Path) -> None:
    """Writes the picture to `path` (.png), and as SVG beside it."""
    write(figure, path)
    write(figure, path.with_suffix(".svg"))


def write(figure: Figure, path: Path) -> None:
    """Writes the picture to `path` (.png or .svg): the same bytes for the same figure."""
    of_format: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 120}
    # A name may have the marks of a formula, and text stays text.
    options: Any = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": path.stem}
    with matplotlib.rc_context(options), written_beside(path, "wb") as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of Chinese, for example: a page has other fonts
        for each in figure.findobj(Text):
            each.set_parse_math(False)
        figure.savefig(file, format=path.suffix[1:], **of_format)


def inline(path: Path, title: str) -> str:
    """Returns an SVG of `save` as an element of a page, in the colors and with the font of the page.

    It is as wide as its column allows, but never so narrow that letters have less than 11 pixels.

    Args:
        title: what it shows, for people who do not see it.
    """
    root = ET.fromstring(_CONTROL.sub("", path.read_text(encoding="utf-8")))
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", path.read_text(encoding="utf-8"))]
    width = float(root.attrib["viewBox"].split()[2])
    for parent in root.iter():
        for child in list(parent):
            if _name(child) in ("metadata", "style"):
                parent.remove(child)
    for each in root.iter():
        each.tag = _name(each)
        each.attrib = {name.rpartition("}")[2]: value for name, value in each.attrib.items()}
        if each.tag == "g":
            each.attrib.pop("id", None)  # every picture has a figure_1
        if "style" in each.attrib:
            each.attrib["style"] = _style(each.tag, each.attrib["style"])
    scale = _LEAST_PIXELS / min(sizes, default=_LEAST_PIXELS)
    style = f"min-width: {width * scale:.0f}px; max-width: {width * max(scale, _PIXELS):.0f}px"
    attributes = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": title, "style": style}
    start = "".join(f' {name}="{html.escape(value)}"' for name, value in attributes.items())
    root.attrib = {}
    content = re.sub(r"\s*\n\s*", " ", ET.tostring(root, encoding="unicode", short_empty_elements=True))
    return f"<svg{start}>{content.removeprefix('<svg>')}"


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _style(tag: str, style: str) -> str:
    """Returns the declarations of an element for a page."""
    kept = {}
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font-family":
            continue
        if value == "#ffffff" and tag == "path":
            value = "none"  # the paper
        kept[name] = _OF_PAGE.get(value, value)
    return "; ".join(f"{name}: {value}" for name, value in kept.items())
