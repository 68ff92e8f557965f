from pipelines.tagging.results import format_results, padded


def test_padding_is_left_out():
    outputs = {
        "tokens": [["Hi", "!", ""], ["", "", ""], ["a", "b", "c"]],
        "tags": [["X", "Y", ""], ["", "", ""], ["X", "X", "Y"]],
        "scores": [[0.12345678, 1.0, 0.0], [0.0] * 3, [0.5, 0.25, 0.125]],
        "start": [[0, 2, 0], [0] * 3, [0, 2, 4]],
        "end": [[2, 3, 0], [0] * 3, [1, 3, 5]],
        "sentence": [[0, 0, 0], [0] * 3, [0, 0, 1]],
        "num_tokens": [2, 0, 3],
    }
    results = format_results(["Hi!", "", "a b c"], outputs)
    assert results[0] == {
        "text": "Hi!",
        "tokens": ["Hi", "!"],
        "tags": ["X", "Y"],
        "scores": [0.123457, 1.0],
        "start": [0, 2],
        "end": [2, 3],
        "sentence": [0, 0],
    }
    assert results[1] == {"text": "", "tokens": [], "tags": [], "scores": [], "start": [], "end": [], "sentence": []}
    assert results[2]["sentence"] == [0, 0, 1]


def test_sentences_get_the_same_length():
    assert padded([["a"], [], ["b", "c"]]) == [["a", ""], ["", ""], ["b", "c"]]
    assert padded([[], []]) == [[], []]
