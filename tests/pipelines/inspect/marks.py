"""What is drawn in a figure: the marks of its picture, counted."""

import collections
import re
from xml.etree import ElementTree

import vl_convert

from pipelines.inspect.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_POINTS = re.compile(r"[ML]")


def empty_panels(figure: Figure) -> list[str]:
    """Returns what is wrong in a figure: panels without a mark, and logarithmic axes that begin at 0."""
    svg = vl_convert.vegalite_to_svg(figure.with_data())
    found = [f"logarithmic axis: {each}" for each in re.findall(r"for a log scale with values from 0 to [^\"]*", svg)]
    panels = [each for each in ElementTree.fromstring(svg).iter(f"{_SVG}g") if _is_panel(each)]
    assert panels, "no panel was found"
    return found + [each.get("class") for each in panels if not count_marks(each)]


def marks_of(figure: Figure) -> collections.Counter:
    """Returns kind of mark, such as "rect" -> their number; of lines and areas, the number of their points."""
    return count_marks(ElementTree.fromstring(vl_convert.vegalite_to_svg(figure.with_data())))


def count_marks(element: ElementTree.Element) -> collections.Counter:
    counts = collections.Counter()
    for group in element.iter(f"{_SVG}g"):
        kind = re.match(r"mark-(\w+) role-mark", group.get("class") or "")
        if kind and kind[1] != "group":
            counts[kind[1]] += sum(_size(kind[1], child) for child in group)
    return +counts


def _size(kind: str, child: ElementTree.Element) -> int:
    if kind == "text":
        return int(bool("".join(child.itertext()).strip()))
    path = child.get("d")
    if kind in ("line", "area"):
        return len(_POINTS.findall(path or "")) // (2 if kind == "area" else 1)
    return int(path != "")  # a rule has no path


def _is_panel(group: ElementTree.Element) -> bool:
    """Returns whether a group is a chart: it has marks, or groups of marks, besides axes and titles."""
    kinds = (group.get("class") or "").split()
    if "mark-group" not in kinds or not {"role-scope", "role-frame"} & set(kinds):
        return False
    return any("role-mark" in (each.get("class") or "") for each in group.iter(f"{_SVG}g"))
