import pytest

from pipelines.learn.texts import TEXTS, Text, has_near, near, words_of

SEEDS = (1, 2, 3)


def distance(words, others):
    """The number of words to replace, leave out or insert (Levenshtein 1966)."""
    row = list(range(len(others) + 1))
    for i, word in enumerate(words, 1):
        row, above = [i], row
        for j, other in enumerate(others, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (word != other)))
    return row[-1]


@pytest.mark.parametrize(
    ("words", "others"),
    [("a b c", "a b c"), ("a x c", "a b c"), ("a b", "a b c"), ("a b c d", "a b c"), ("x a b c", "a b c"),
     ("a x y", "a b c"), ("b a c", "a b c"), ("a", "a b c"), ("", "a"), ("c a b", "a b c")],
)  # fmt: skip
def test_near_is_a_distance_of_at_most_one_word(words, others):
    words, others = tuple(words.split()), tuple(others.split())
    assert near(words, others) == (distance(words, others) <= 1)


def test_a_sentence_in_a_line_is_found():
    asked = words_of("So long, and thanks.")
    assert has_near(words_of("they said so long or thanks and left"), asked)
    assert not has_near(words_of("they said so long to them and left"), asked)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_has_a_sentence_that_is_asked_or_one_that_differs_in_one_word(name, seed):
    text = TEXTS[name]
    lines = text.lines(seed)
    assert len(lines) == text.num_lines and (not text.distinct or len(set(lines)) == len(lines))
    for asked in map(words_of, text.asked):
        for words in map(words_of, lines):
            for length in range(len(asked) - 1, len(asked) + 2):
                for start in range(len(words) - length + 1):
                    window = words[start : start + length]
                    if len(set(window) & set(asked)) >= len(set(asked)) - 1:  # fewer common words differ in more
                        assert distance(window, asked) > 1, (window, asked)


@pytest.mark.long
def test_the_words_that_are_asked_are_in_the_text():
    for name, text in TEXTS.items():
        known = {word for line in text.lines(1) for word in words_of(line)}
        assert all(set(words_of(asked)) <= known for asked in text.asked), name


def test_the_same_seed_gives_the_same_text():
    first, again, other = (TEXTS["farewells"].lines(seed) for seed in (1, 1, 2))
    assert first == again != other


def test_sentences_that_are_too_few_are_refused():
    with pytest.raises(ValueError, match="only 1 different"):
        Text((), lambda generator: iter(["a b"] * 1000), 2, distinct=True).lines(1)
