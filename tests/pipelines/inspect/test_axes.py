from pipelines.inspect import axes


def test_spaces_and_line_ends_are_visible():
    assert [axes.shown(token) for token in ("\n", " ", "a", "")] == ["\u23ce", "\u2423", "a", "\u2205"]


def test_many_tokens_are_narrow():
    assert axes.step(3) == 40 and axes.step(100) == 10 and axes.step(10_000) == 7


def test_every_position_has_a_column_and_long_tokens_are_turned():
    import altair as alt

    def axis(tokens):
        return axes.token_axis(alt.X, tokens).to_dict()

    assert axis(["<start>", "a", "b"])["scale"]["domain"] == [0, 1, 2]
    assert axis(["<start>", "a", "b"])["axis"]["labelAngle"] == 0
    assert axis(["<start>", "flights"])["axis"]["labelAngle"] == -60
