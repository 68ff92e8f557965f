from pipelines.data import scripts


def test_scripts_are_fractions_of_the_letters():
    assert scripts.fractions(["abc 123", "\u0430", "\u4e2d\u6587"]) == {"Latin": 0.5, "CJK": 1 / 3, "Cyrillic": 1 / 6}
    assert scripts.fractions(["123 !"]) == {}


def test_the_script_of_a_text_is_that_of_most_letters():
    assert scripts.of_text("ab \u0430 1") == "Latin" and scripts.of_text("1 !") is None
    assert scripts.of_text("\u30bf\u30af\u30b7\u30fc") == scripts.of_text("\u4e2d\u6587") == "CJK"  # Katakana alone
