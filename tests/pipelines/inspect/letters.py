"""The texts of a figure: their size, and which of them cover each other."""

import itertools
import json
import math

import numpy as np
import vl_convert

from pipelines.inspect.figure import Figure

SMALLEST = 11  # pixels
_WIDTH, _HEIGHT = 0.5, 0.7  # of a letter, in parts of its size: narrow ones, so that what covers another one does


def unreadable(figure: Figure) -> list[str]:
    """Returns the texts of a picture that are too small, or that cover each other by more than a pixel."""
    scene = vl_convert.vegalite_to_scenegraph(json.dumps(figure.with_data()))["scenegraph"]
    texts = list(_texts(scene, 0, 0))
    found = [f"{text!r} has {item['fontSize']} pixels" for text, item, *_ in texts if item["fontSize"] < SMALLEST]
    boxes = [(text, _corners(text, *rest)) for text, *rest in texts]
    return found + [f"{a!r} covers {b!r}" for (a, x), (b, y) in itertools.combinations(boxes, 2) if _overlap(x, y)]


def _texts(scene: dict, left: float, top: float):
    """Yields (text, item of the scene, x, y) of each text that is visible."""
    for item in scene.get("items", []):
        x, y = left + item.get("x", 0), top + item.get("y", 0)
        if scene["marktype"] == "group":
            for each in item["items"]:
                yield from _texts(each, x, y)
        elif scene["marktype"] == "text" and item.get("opacity", 1):
            lines = item.get("text")
            text = " ".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
            if text.strip():
                yield text, item, x + item.get("dx", 0), y + item.get("dy", 0)


def _corners(text: str, item: dict, x: float, y: float) -> np.ndarray:
    """Returns the corners of a text's box, float [4, 2]: it is turned by the item's angle around (x, y)."""
    size = item["fontSize"]
    width, height = min(_WIDTH * size * len(text), item.get("limit") or math.inf), _HEIGHT * size
    left = {"left": 0.0, "center": -width / 2, "right": -width}[item.get("align", "left")]
    top = {"top": 0.0, "middle": -height / 2}.get(item.get("baseline", "alphabetic"), -height)
    angle = math.radians(item.get("angle", 0))
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    box = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]
    return np.array(box) @ turn + [x, y]


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Returns whether two boxes cover each other by more than a pixel: in the direction of each of their sides."""
    for box in (a, b):
        for side in (box[1] - box[0], box[3] - box[0]):
            normal = side / np.linalg.norm(side)
            (first, last), (start, end) = ((np.min(each @ normal), np.max(each @ normal)) for each in (a, b))
            if min(last, end) - max(first, start) <= 1:
                return False
    return True
