"""report.html: a report as one file that needs no network and no JavaScript, made of the lines of report.md."""

import base64
import html
import re
from collections.abc import Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from pipelines.support import charts
from pipelines.support.version import VERSION

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # a page has no such characters
_BOX = '<div class="scroll" tabindex="0">'  # a wide table is scrolled in it, also with the arrow keys


def render(lines: list[str], folder: Path) -> str:
    """Returns the page: headings, paragraphs, lists, tables, blocks of code, and the pictures in `folder`.

    HTML in the lines is shown as text, and nothing in them becomes a link or loads anything.
    """
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    markdown.enable("table").disable(["link", "autolink", "reference"])
    tokens = markdown.parse(_CONTROL.sub("", "\n".join(lines)))
    headings = [(token, tokens[i + 1].content) for i, token in enumerate(tokens) if token.type == "heading_open"]
    title = _plain(headings[0][1]) if headings else "Report"
    links = []
    for number, (token, content) in enumerate(headings):
        if token.tag == "h2":
            token.attrSet("id", f"section-{number}")
            links.append(f'<a href="#section-{number}">{html.escape(_plain(content))}</a>')
    body = markdown.renderer.render(tokens, markdown.options, {"folder": folder})
    navigation = f"<nav>{' '.join(links)}</nav>\n" if len(links) > 1 else ""
    body = body.replace("</h1>\n", f"</h1>\n{navigation}", 1)
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8" />',
            '<meta name="viewport" content="width=device-width, initial-scale=1" />',
            f"<title>{html.escape(title)}</title>",
            f"<style>\n{style}</style></head><body><main>",
            f"{body}</main>",
            f"<footer>Unroll {VERSION}</footer></body></html>",
            "",
        ]
    )


def _plain(content: str) -> str:
    """Returns the text of a heading without the marks of Markdown."""
    return re.sub(r"\\(.)", r"\1", content)


class _Renderer(RendererHTML):
    """Tables in boxes that scroll, and pictures in the page itself."""

    def table_open(self, tokens: Sequence[Token], i: int, options, env) -> str:
        """Returns the start of a table."""
        return f"{_BOX}{self.renderToken(tokens, i, options, env)}"

    def table_close(self, tokens: Sequence[Token], i: int, options, env) -> str:
        """Returns the end of a table."""
        return f"{self.renderToken(tokens, i, options, env)}</div>\n"

    def image(self, tokens: Sequence[Token], i: int, options, env) -> str:
        """Returns a picture with its title below. One that is not in the folder of the report is its title alone."""
        title = self.renderInlineAsText(tokens[i].children, options, env)
        name = str(tokens[i].attrGet("src"))
        path = env["folder"] / name
        if Path(name).name != name or not path.is_file():
            return html.escape(title)
        if path.with_suffix(".svg").is_file():
            picture = charts.inline(path.with_suffix(".svg"), title)
        else:
            content = base64.b64encode(path.read_bytes()).decode()
            picture = f'<img alt="{html.escape(title)}" src="data:image/png;base64,{content}" />'
        return (
            f'<span class="figure"><span class="scroll" tabindex="0">{picture}</span>'
            f'<span class="caption">{html.escape(title)}</span></span>'
        )
