"""Small tables that tests read."""

from pipelines.data import tables
from pipelines.data.table_options import DEFAULTS


def left_out(tmp_path, text, name="a.csv", options=DEFAULTS, rows=100, names=("text", "label")):
    """Returns the texts of a table, and reason -> number of rows that are left out."""
    (tmp_path / name).write_text(text)
    total, texts = {}, []
    for frame, reasons in tables.named_chunks(tmp_path / name, rows, options, names):
        texts += frame["text"].tolist()
        total = {key: total.get(key, 0) + reasons.get(key, 0) for key in {*total, *reasons}}
    return texts, total
