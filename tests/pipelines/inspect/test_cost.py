import pandas as pd
import pytest

from pipelines.inspect import cost
from tests.pipelines.inspect.exports import picture


def test_the_slope_of_the_cost():
    rows = pd.DataFrame({"architecture": "attention", "length": [8, 16, 32, 64], "mebibytes": 1.0})
    rows["seconds"] = rows["length"] ** 2.0
    assert cost.slopes(rows)["exponent"].tolist() == pytest.approx([2.0])
    assert cost.slopes(rows[:2])["exponent"].tolist() == pytest.approx([2.0])
    assert picture(cost.figures(rows, 8, 1)[0]).width > 300


@pytest.mark.slow
def test_the_cost_is_measured():
    rows = cost.measure_one("attention", (8, 16), 4, 1, 1)
    assert rows["length"].tolist() == [8, 16] and (rows["seconds"] > 0).all()
