"""Scores with their 95 % intervals, as reports, tables and terminals show them."""

from collections.abc import Sequence
from typing import NamedTuple


class Score(NamedTuple):
    """A measure.

    Attributes:
        value: None: it is undefined, and shown as "-".
        interval: its 95 % interval; None: it is not known.
    """

    value: float | None
    interval: Sequence[float] | None = None

    def number(self) -> str:
        """Returns the score for reports and tables: "0.890 (0.876 to 0.902)"."""
        return self._with_interval("{:.3f}", "{:.3f}")

    def percent(self) -> str:
        """Returns a fraction for reports and tables: "89.6 % (88.3 to 90.7)"."""
        return self._times(100)._with_interval("{:.1f} %", "{:.1f}")

    def points(self) -> str:
        """Returns a difference of fractions in points: "+1.2 (-0.3 to +2.7)"."""
        return self._times(100)._with_interval("{:+.1f}", "{:+.1f}")

    def for_terminal(self) -> str:
        """Returns the score for `evaluate`: "0.8901   (95 % interval 0.8760 to 0.9020)"."""
        return self._with_interval("{:.4f}", "{:.4f}", "   (95 % interval {} to {})")

    def _times(self, factor: float) -> "Score":
        if self.value is None:
            return self
        return Score(factor * self.value, self.interval and [factor * limit for limit in self.interval])

    def _with_interval(self, of_value: str, of_limit: str, of_interval: str = " ({} to {})") -> str:
        if self.value is None:
            return "-"
        limits = [of_limit.format(limit) for limit in self.interval or ()]
        return of_value.format(self.value) + (of_interval.format(*limits) if limits else "")


def score_of(scores: dict, measure: str) -> Score:
    """Returns a measure of a split, with the interval that stands beside it.

    Args:
        scores: measure -> value, and `<measure>_interval` -> its limits, where there is one.
    """
    return Score(scores.get(measure), scores.get(f"{measure}_interval"))
