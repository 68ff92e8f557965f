import numpy as np

from pipelines.inspect import axes


def test_many_tokens_are_narrow():
    assert [axes.step(["a"] * number) for number in (3, 100, 10_000)] == [40, 13, 13] and axes.step(None) == 26


def test_every_position_has_a_column_and_long_tokens_are_turned():
    import altair as alt

    def axis(tokens):
        return axes.token_axis(alt.X, tokens).to_dict()

    assert axis(["<start>", "a", "b"])["scale"]["domain"] == {"expr": "sequence(length(tokens))"}
    assert axis(None)["axis"]["labelAngle"] == -60
    assert axis(["<start>", "a", "b"])["axis"]["labelAngle"] == 0
    assert axis(["<start>", "flights"])["axis"]["labelAngle"] == -60


def test_spaces_and_line_ends_are_visible():
    assert [axes.shown(token) for token in ("", " ", "\n", "a b", "\N{LOWER ONE EIGHTH BLOCK}the")] == [
        "\N{EMPTY SET}",
        "\N{OPEN BOX}",
        "\N{RETURN SYMBOL}",
        "a\N{OPEN BOX}b",
        "\N{LOWER ONE EIGHTH BLOCK}the",
    ]
    assert [axes.shown(token) for token in ("\r\n", "\u00a0", "a\u2028b", "\x00")] == [
        "\\r\N{RETURN SYMBOL}",
        "\\xa0",
        "a\\u2028b",
        "\\x00",
    ]


def test_a_label_that_would_cover_an_earlier_one_is_left_out():
    x, y = np.array([0, 1, 1, 100, 200.0]), np.array([0, 0, 50, 0, 100.0])
    assert axes.labels_that_fit(x, y, ["first", "same place", "below", "far", "end"], 200, 100) == [
        "first",
        "",
        "below",
        "far",
        "end",
    ]
    assert axes.labels_that_fit(np.zeros(2), np.zeros(2), ["a", "b"], 200, 100) == ["a", ""]
