"""Texts that occur more than once in labelled data, and texts that have contradicting labels."""

import collections
import hashlib

import numpy as np

from pipelines.data.fields import BETWEEN
from pipelines.data.splits import comparable
from pipelines.support import markdown

MAX_LISTED = 20
_EXCERPT = 160  # characters of a text in the report


def find(texts: np.ndarray, labels: np.ndarray) -> dict:
    """Counts equal texts (in the sense of `comparable`), and lists those that have different labels.

    Args:
        texts, labels: object [n] of str.

    Returns:
        "repeated": number of rows whose text occurs in an earlier row; "contradicting": number of different texts that
        have more than one label; "contradictions": at most MAX_LISTED of them, the most frequent first, each with
        "text" and "labels" (label -> rows).
    """
    first_row: dict[bytes, int] = {}  # checksums, because the texts themselves would take much memory
    labels_of: dict[bytes, collections.Counter] = {}  # of the texts that occur more than once
    for row, text in enumerate(texts):
        key = hashlib.blake2b(comparable(text).encode("utf-8", "replace"), digest_size=16).digest()
        if first_row.setdefault(key, row) != row:
            labels_of.setdefault(key, collections.Counter([labels[first_row[key]]]))[labels[row]] += 1
    contradicting = [key for key, counts in labels_of.items() if len(counts) > 1]
    listed = sorted(contradicting, key=lambda key: -labels_of[key].total())[:MAX_LISTED]
    return {
        "repeated": len(texts) - len(first_row),
        "contradicting": len(contradicting),
        "contradictions": [{"text": texts[first_row[key]], "labels": dict(labels_of[key])} for key in listed],
    }


def in_both_orders(texts: np.ndarray, keys: np.ndarray, labels: np.ndarray) -> dict[str, int]:
    """Counts pairs of texts that occur in both orders.

    Args:
        texts, labels: object [n].
        keys: what is equal for pairs of the same two texts in either order, object [n] of str.

    Returns:
        "in_both_orders": number of pairs; "in_both_orders_alike": of these, those whose rows all have one label.
    """
    firsts: dict[str, set[str]] = {}  # the first text of each row
    labels_of: dict[str, set] = {}
    for text, key, label in zip(texts, keys, labels, strict=True):
        firsts.setdefault(key, set()).add(text.split(BETWEEN, 1)[0])
        labels_of.setdefault(key, set()).add(label)
    swapped = [key for key, different in firsts.items() if len(different) > 1]
    return {
        "in_both_orders": len(swapped),
        "in_both_orders_alike": sum(len(labels_of[key]) == 1 for key in swapped),
    }


def remark(found: dict) -> str | None:
    """Returns one line for the terminal; None if no text occurs twice."""
    if not found["repeated"]:
        return None
    line = f"texts that repeat an earlier one: {found['repeated']:,}"
    if found["contradicting"]:
        line += (
            f"; texts with different labels: {found['contradicting']:,} (the report lists them: correct or remove them)"
        )
    return line


def report_lines(found: dict | None) -> list[str]:
    """Returns the lines of report.md on repeated texts and contradicting labels."""
    if not found or not found["repeated"]:
        return []
    lines = [f"- Texts that repeat an earlier one, except for case and white space: {found['repeated']:,}."]
    if found["contradicting"]:
        lines.append(f"- Texts that occur with different labels: {found['contradicting']:,}.")
        for each in found["contradictions"]:
            labels = ", ".join(f"*{markdown.text(label)}* {rows:,}" for label, rows in each["labels"].items())
            lines.append(f"  - {labels}: {markdown.quoted(each['text'], _EXCERPT)}")
        if found["contradicting"] > len(found["contradictions"]):
            lines.append("  - ...")
    return lines
