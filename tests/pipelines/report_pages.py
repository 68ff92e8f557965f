"""What every report.html must be."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path


def parsed(page: str) -> ET.Element:
    """Returns a page as XML: all of its elements are closed, in order. Nothing in it is read from elsewhere."""
    root = ET.fromstring(page.removeprefix("<!doctype html>"))
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    references = [value for each in root.iter() for name, value in each.items() if name in ("src", "href")]
    assert all(each.startswith("data:image/png;base64,") or each[1:] in ids for each in references)
    assert "url(" not in re.sub(r"url\(#\w+\)", "", page) and "@import" not in page
    assert not list(root.iter("script")) and not list(root.iter("link")) and not list(root.iter("iframe"))
    return root


def text_of_page(folder: Path) -> str:
    """Returns the text of the report of a run, as a reader sees it."""
    root = parsed((folder / "report.html").read_text(encoding="utf-8"))
    assert len(list(root.iter("svg"))) == (folder / "report.md").read_text().count("![")
    return "".join(root.find(".//main").itertext())
