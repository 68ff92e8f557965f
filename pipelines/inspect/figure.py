"""A figure: one Vega-Lite specification, from which the page and the picture are made."""

import dataclasses
import io
import math

import pandas as pd

_SCALE = 2  # pixels of a picture per pixel of a page
_CONFIG = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "title": {"anchor": "start", "fontSize": 13},
    "axis": {"labelFontSize": 11, "titleFontSize": 12, "grid": False, "labelFlush": False},
    "axisXDiscrete": {"labelAngle": 0, "labelOverlap": "greedy"},
    "axisQuantitative": {"labelOverlap": "greedy", "labelSeparation": 8},
    "legend": {"labelFontSize": 11, "titleFontSize": 12, "labelLimit": 500},
    "header": {"labelFontSize": 12, "titleFontSize": 12},
}


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of a page.

    Attributes:
        name: its key in the page's address, such as "gates"; letters and hyphens.
        title: one line.
        description: what one sees, in sentences; screen readers read it.
        chart: an Altair chart whose data are named datasets.
        data: name of a dataset -> its rows.
        table: rows for people who cannot see the chart; the first dataset if not given.
        table_is_open: show the table from the start.
    """

    name: str
    title: str
    description: str
    chart: object
    data: dict[str, pd.DataFrame]
    table: pd.DataFrame | None = None
    table_is_open: bool = False

    def specification(self) -> dict:
        """Returns the Vega-Lite specification, without data."""
        return self.chart.to_dict() | {"config": _CONFIG}

    def columns(self) -> dict[str, dict[str, list]]:
        """Returns dataset -> column -> values, not rounded; a number that is missing or not finite is None."""
        return {name: {column: _plain(rows[column]) for column in rows} for name, rows in self.data.items()}

    def with_data(self) -> dict:
        """Returns the Vega-Lite specification with its data, not rounded."""
        rows = {
            name: [dict(zip(columns, row)) for row in zip(*columns.values())]
            for name, columns in self.columns().items()
        }
        return self.specification() | {"datasets": rows}

    def png(self) -> bytes:
        """Returns the picture, with the page's first selection."""
        import vl_convert

        title = {"text": self.title, "fontSize": 16, "offset": 12}
        specification = {"title": title} | self.with_data() | {"background": "white"}
        return vl_convert.vegalite_to_png(specification, scale=_SCALE)


def _plain(values: pd.Series) -> list:
    if pd.api.types.is_float_dtype(values):
        return [value if math.isfinite(value) else None for value in values.tolist()]
    return [None if pd.isna(value) else value for value in values.tolist()]


def smaller(picture: bytes) -> bytes:
    """Returns a PNG picture with at most 256 colours, which takes a fifth of the bytes."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def stacked(pictures: list[bytes]) -> bytes:
    """Returns PNG pictures as one, one below the other."""
    from PIL import Image

    images = [Image.open(io.BytesIO(picture)) for picture in pictures]
    if len(images) == 1:
        return pictures[0]
    margin = 10 * _SCALE
    size = max(each.width for each in images), sum(each.height + margin for each in images) - margin
    whole, top = Image.new("RGB", size, "white"), 0
    for image in images:
        whole.paste(image, (0, top))
        top += image.height + margin
    buffer = io.BytesIO()
    whole.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
