import inspect

import layers.attention
from pipelines.learn.sources import located
from tests.command_line import ROOT


def test_the_lines_are_those_of_the_function():
    place = located("layers/attention.py:Attention.call")
    path, _, rest = place.partition(", lines ")
    first, last = (int(number) for number in rest.partition(":")[0].split(" to "))
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()[first - 1 : last]
    assert "\n".join(lines) == inspect.getsource(layers.attention.Attention.call).rstrip("\n")
    assert place.endswith(": Attention.call")
