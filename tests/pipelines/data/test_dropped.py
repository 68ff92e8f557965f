from pipelines.data.dropped import Dropped


def test_the_first_places_of_each_reason_are_kept():
    dropped = Dropped()
    for number in range(5):
        dropped.place = f"record {number}"
        dropped.count("too long", "a" * number)
    assert dropped == {"too long": 5}
    assert dropped.examples == {"too long": [("record 0", ""), ("record 1", "a"), ("record 2", "aa")]}


def test_counts_with_and_without_examples_are_added():
    whole, part = Dropped({"empty": 1}), Dropped()
    part.place = "record 7"
    part.count("empty", "x")
    whole.add(part)
    whole.add({"empty": 2, "other": 1})
    assert whole == {"empty": 4, "other": 1} and whole.examples == {"empty": [("record 7", "x")]}
