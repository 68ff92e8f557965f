import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pipelines.data.token_positions import character_spans

CHARACTERS = "ab-_#.'|=/&1\u00e9\u0301\u6211\U0001f600"
TOKENS = st.lists(st.text(CHARACTERS, min_size=1, max_size=6), max_size=12)


def found(tokens, text):
    """The tokens as they are in the text; None for those without a position."""
    return [span and text[span[0] : span[1]] for span in character_spans(tokens, text)]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tokens=TOKENS, spaces=st.lists(st.sampled_from(["", " ", "  ", "\u00a0", "\n"]), min_size=13, max_size=13))
def test_tokens_are_found_whatever_white_space_is_between_them(tokens, spaces):
    text = spaces[0] + "".join(token + space for token, space in zip(tokens, spaces[1:], strict=False))
    spans = character_spans(tokens, text)
    assert [text[start:end] for start, end in spans] == tokens
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tokens=TOKENS, text=st.text(max_size=30))
def test_any_text_gives_a_position_or_none_for_each_token_in_order(tokens, text):
    spans = character_spans(tokens, text)
    assert len(spans) == len(tokens)
    assert all(span is None or text[span[0] : span[1]] == token for token, span in zip(tokens, spans, strict=True))
    known = [span for span in spans if span]
    assert all(end <= start for (_, end), (start, _) in zip(known, known[1:], strict=False))


WORDS = st.sampled_from(["chat", "le", "maison", "de", "rue", ",", "(", "d\u00e9j\u00e0", "12"])
CONTRACTIONS = st.sampled_from([("du", ("de", "le")), ("des", ("de", "les")), ("aux", ("\u00e0", "les"))])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.one_of(WORDS.map(lambda word: (word, (word,))), CONTRACTIONS), max_size=12), st.text("zx", min_size=1)
)
def test_after_a_contraction_the_next_word_is_found(units, last):
    """The last word occurs once only: its position is right if no contraction before it was counted wrongly."""
    text = " ".join([*(surface for surface, _ in units), last])
    tokens = [token for _, words in units for token in words] + [last]
    num_in_a_row = longest = 0
    for surface, words in units:
        num_in_a_row = num_in_a_row + 1 if (surface,) != words else 0
        longest = max(longest, num_in_a_row)
    assume(longest <= 4)
    assert character_spans(tokens, text)[-1] == (len(text) - len(last), len(text))


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        ("do n't", "don't", ["do", "n't"]),
        (
            "de le march\u00e9 de la ville",
            "du march\u00e9 de la ville",
            [None, None, "march\u00e9", "de", "la", "ville"],
        ),
        ("\u00e0 le march\u00e9 le lundi", "au march\u00e9 le lundi", [None, None, "march\u00e9", "le", "lundi"]),
        ("de el mar", "del mar", [None, None, "mar"]),  # "de" is at the start of "del", but is not a word of the text
        ("( de el mar ) !", "(del mar)!", ["(", None, None, "mar", ")", "!"]),
        ("da me lo ahora", "d\u00e1melo ahora", [None, None, None, "ahora"]),
        ("fait de le de le X", "fait du du X", ["fait", None, None, None, None, "X"]),
        ("de le fait de le X", "du fait du X", [None, None, "fait", None, None, "X"]),
        ("arte di l' arte", "arte dell'arte", ["arte", None, None, "arte"]),
        ("the GHOST cat", "the cat", ["the", None, "cat"]),
        ("`` Hello '' , he said", '"Hello", he said', [None, "Hello", None, ",", "he", "said"]),
        ("de le", "du", [None, None]),
        ("x y", "a b", [None, None]),
        ("x", "", [None]),
        ("\u6211 \u559c\u6b61 \u4f60", "\u6211\u559c\u6b61\u4f60", ["\u6211", "\u559c\u6b61", "\u4f60"]),
    ],
)
def test_tokens_that_are_not_in_the_text_have_no_position_and_those_after_them_have(tokens, text, expected):
    assert found(tokens.split(), text) == expected


def test_a_token_with_a_space_is_found_with_other_white_space():
    assert found(["20 000", "euros"], "20\u00a0000 euros") == ["20\u00a0000", "euros"]


def test_positions_count_unicode_characters():
    assert character_spans(["\U0001f600", "caf\u00e9"], "\U0001f600 caf\u00e9") == [(0, 1), (2, 6)]


def test_no_token_of_another_text_is_found():
    assert character_spans(["a", "b"] * 500, "x y " * 500) == [None] * 1000
