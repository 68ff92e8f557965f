"""A page of figures in one HTML file, which needs no network.

The data and the library that draws them are compressed, which makes a large page a third as large. Browsers from before
2023 cannot read that, and show the pictures that are also for browsers without JavaScript.
"""

import base64
import gzip
import html
import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipelines.inspect.figure import Figure, smaller
from pipelines.support.version import VERSION

_FOLDER = Path(__file__).parent
_MAX_TABLE_ROWS = 200
_DIGITS = 7  # what float32 numbers, those of the networks, tell apart
_MAX_NOTES, _SHOWN_NOTES = 8, 3  # of more, the first ones are shown: the figures are what the reader came for
_KEYS = (
    '<p class="keys">Hover over a token or a cell, or press the left and right arrow keys: everything about the token '
    "is marked. Click a cell to keep it. The address of the page keeps what is chosen.</p>"
)


def render(title: str, figures: list[Figure], notes: list[str]) -> str:
    """Returns the page of an inspection.

    Args:
        title: of the page.
        figures: drawn one below the other.
        notes: sentences below the title, such as what was cut.
    """
    has_tokens = any(_has_tokens(each.specification()) for each in figures)
    return document(title, [_notes(notes), _KEYS if has_tokens else "", *map(section, figures)], figures)


def document(title: str, body: list[str], figures: Sequence[Figure], styles: str = "", script: str = "") -> str:
    """Returns a page in one file.

    Args:
        title: of the page.
        body: HTML below the title, with the `section` of each figure.
        figures: what the sections draw; their names differ.
        styles, script: more CSS, and JavaScript.
    """
    import vl_convert

    data = [
        {
            "name": each.name,
            "specification": each.specification(),
            "data": _for_browser(each.columns()),
            "title": each.title,
        }
        for each in figures
    ]
    library = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed; window.vega = vega;") if data else ""
    drawn = [
        _compressed("figures", json.dumps(data, separators=(",", ":"), allow_nan=False)),
        _compressed("library", library),
        f"<script>{_file('page.js')}</script>",
    ]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_file('page.css')}{styles}</style></head><body>",
        f"<main><h1>{html.escape(title)}</h1>",
        *body,
        f"<footer>Unroll {VERSION}</footer></main>",
        *(drawn if data else []),
        f"<script>{script}</script>" if script else "",
        "</body></html>",
    ]
    return "\n".join(parts)


def _for_browser(data: dict[str, dict[str, list]]) -> dict[str, dict[str, list]]:
    """Returns the columns with numbers of _DIGITS significant digits, which makes a large page half as large."""
    return {
        name: {
            column: [float(f"{each:.{_DIGITS}g}") if isinstance(each, float) else each for each in values]
            for column, values in columns.items()
        }
        for name, columns in data.items()
    }


def _notes(notes: list[str]) -> str:
    paragraphs = [f"<p>{html.escape(note)}</p>" for note in notes]
    if len(notes) <= _MAX_NOTES:
        return "\n".join(paragraphs)
    folded = "\n".join(paragraphs[_SHOWN_NOTES:])
    summary = f"{len(notes) - _SHOWN_NOTES} more lines"
    return "\n".join([*paragraphs[:_SHOWN_NOTES], f"<details><summary>{summary}</summary>{folded}</details>"])


def _has_tokens(specification: dict) -> bool:
    """Returns whether a figure marks tokens."""
    return any(each["name"] == "marked" for each in specification.get("params", []))


def section(figure: Figure) -> str:
    """Returns the HTML of a figure: title, description, chart, and the numbers as a table."""
    picture = base64.b64encode(smaller(figure.png())).decode()
    name, title, description = (html.escape(each) for each in (figure.name, figure.title, figure.description))
    rows = figure.table if figure.table is not None else next(iter(figure.data.values()))
    is_open = " open" if figure.table_is_open else ""
    return (
        f'<section id="{name}"><h2>{title}</h2><p>{description}</p>'
        f'<div class="chart" role="group" aria-label="{title}. {description}" tabindex="0"></div>'
        "<noscript><p>This figure needs JavaScript in a browser of 2023 or later; here is a picture of it.</p>"
        f'<img alt="{title}. {description}" src="data:image/png;base64,{picture}"></noscript>'
        f"<details{is_open}><summary>The numbers as a table</summary>{_table(rows)}</details></section>"
    )


def _table(rows: pd.DataFrame) -> str:
    shown = rows.head(_MAX_TABLE_ROWS).to_html(index=False, border=0, float_format=lambda x: f"{x:.4g}")
    more = len(rows) - _MAX_TABLE_ROWS
    return shown + (f"<p>The first {_MAX_TABLE_ROWS} of {len(rows):,} rows.</p>" if more > 0 else "")


def _file(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def _compressed(name: str, text: str) -> str:
    """Returns a script element that page.js decompresses. Base64 has no character of HTML: the text is inert."""
    content = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'<script type="application/gzip" id="{name}">{content}</script>'
