"""Every link of a page leads to a file of this repository and to a heading in it; `make docs` needs the same."""

import re

import pytest
import yaml

from tests.command_line import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "saved_models" / "README.md"])


def text_of(path):
    """The page without its code, where brackets are no links."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = re.findall(r'<a id="([\w-]+)">', text)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(named)


def wrong_links(path):
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", text_of(path)):
        file = path.parent / target if target else path
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors_of(file):
            yield f"{target}#{anchor}: no such heading"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path):
    assert list(wrong_links(path)) == []


def test_a_wrong_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n[a](none.md) [b](page.md#a-page) [c](#b) [d](https://x.org/y) `[e](code.md)`\n")
    assert list(wrong_links(page)) == ["none.md: no such file", "#b: no such heading"]


def test_every_page_and_every_picture_is_linked():
    linked = set()
    for path in PAGES:
        for target in re.findall(r"\]\((?!\w+:)([^)#\s]+)", text_of(path)):
            linked.add((path.parent / target).resolve())
    pictures = (ROOT / "docs" / "images").iterdir()
    pages = {path for path in PAGES if path.parent == ROOT / "docs"}
    assert sorted(path.name for path in {*pages, *pictures} - linked) == []


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which names a function."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere():
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    listed = [
        path for entry in site["nav"] for path in (sum(entry.values(), []) if isinstance(entry, dict) else [entry])
    ]
    pages = [str(path.relative_to(ROOT)) for path in PAGES if path.parent in (ROOT, ROOT / "docs")]
    assert sorted(path for path in listed if not path.startswith("reference/")) == sorted(pages)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in listed:
        assert path.startswith("docs/") or f"../{path}" in makefile or f"build/pages/{path}" in makefile, path
    assert site["theme"]["font"] is False and "https:" not in str(site)
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/build/" in ignored and site["site_dir"].startswith("build/") and site["docs_dir"].startswith("build/")
