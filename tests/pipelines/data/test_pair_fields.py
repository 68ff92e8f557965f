import pytest

from pipelines.data import pair_fields


def test_words_are_sets_without_case_and_punctuation():
    assert pair_fields.words("The dog, the-DOG! caf\u00e9 \u00c4\t2") == {"the", "dog", "caf\u00e9", "\u00c4", "2"}
    assert pair_fields.words(" .,! ") == set()


def test_what_two_texts_share():
    found = pair_fields.compared("A dog runs fast.", "the dog runs")
    assert found[pair_fields.COMMON] == "dog runs"
    assert found[pair_fields.ONLY_FIRST] == "a fast" and found[pair_fields.ONLY_SECOND] == "the"
    assert found[pair_fields.DIFFERENT] == "a fast the"
    assert found[pair_fields.SHARED] == pytest.approx(2 / 5)
    assert pair_fields.compared("", "")[pair_fields.SHARED] == 0


def test_symmetric_fields_do_not_depend_on_the_order():
    a, b = pair_fields.compared("one two three", "Three four"), pair_fields.compared("Three four", "one two three")
    assert all(a[name] == b[name] for name in pair_fields.SYMMETRIC)
