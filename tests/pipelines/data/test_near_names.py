import pytest

from pipelines.data import near_names


def test_case_signs_and_single_letters():
    counts = {"creative-work": 900, "PERSON": 900, "location": 900}
    counts |= {"creative_work": 3, "Person": 40, "locatoin": 2, "locations": 5}
    found = near_names.find(counts, min_letters=3)
    assert set(found) == {
        ("creative_work", "creative-work"),
        ("Person", "PERSON"),
        ("locatoin", "location"),
        ("locations", "location"),
    }


@pytest.mark.parametrize(
    "counts",
    [
        {"ham": 4800, "spam": 20},  # too short
        {"DNA": 9500, "RNA": 950},  # not rare
        {"star1": 900, "star2": 2},  # a digit is no letter
        {"WP": 2000, "WP$": 14},
        {"sport": 900, "weather": 2},
        {},
    ],
)
def test_other_names_are_no_misspellings(counts):
    assert near_names.find(counts, min_letters=5 if "ham" in counts else 2) == []


@pytest.mark.parametrize(
    ("a", "b", "is_one"),
    [
        ("per", "pers", True),
        ("per", "er", True),
        ("per", "pre", True),
        ("per", "pet", True),
        ("per", "per", False),
        ("per", "perxx", False),
        ("abcd", "badc", False),
        ("a1", "a2", False),
        ("", "a", True),
    ],
)
def test_one_edit(a, b, is_one):
    assert near_names.is_one_edit(a, b) == is_one and near_names.is_one_edit(b, a) == is_one
