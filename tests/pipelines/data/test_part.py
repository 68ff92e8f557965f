import pytest

from pipelines.data import part
from pipelines.data.part import Part


@pytest.mark.parametrize("size", [0, 1, 2, 7, 33, 64])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_the_parts_are_the_batch(size, count):
    rows = list(range(size))
    parts = [rows[Part(index, count).rows(size)] for index in range(count)]
    assert sum(parts, []) == rows
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_part_of_this_process_is_all_unless_it_is_set():
    assert part.current() == Part(0, 1)
    with pytest.raises(ValueError), part.computed(Part(1, 3)):
        assert part.current() == Part(1, 3)
        raise ValueError
    assert part.current() == Part(0, 1)
