import pytest

from pipelines.encoder import word_vectors
from pipelines.support.errors import UserError


def read(folder, text):
    (folder / "vectors.txt").write_text(text)
    return word_vectors.read(str(folder / "vectors.txt"))


@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_words_follow_the_special_tokens_which_are_zeros(tmp_path, header):
    words, vectors = read(tmp_path, f"{header}the 1 2 3\ncat 0 1 0\n")
    assert words == ["the", "cat"] and vectors.shape == (6, 3) and not vectors[:4].any()
    assert vectors[4:].tolist() == [[1, 2, 3], [0, 1, 0]]


def test_of_equal_lower_case_forms_the_first_counts_and_words_with_spaces_are_left_out(tmp_path):
    words, vectors = read(tmp_path, "The 1 2 3\nthe 9 9 9\nnew york 5 5 5\n")
    assert words == ["the"] and vectors[4].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("the 1 2 3\ncat 0 x 0\n", "line 2: not a word vector; expected a word and 3 numbers"),
        ("the 1 nan 3\n", "not finite"),
        ("3 3\nthe 1 2 3\n", "has 1 words, but its first line says 3"),
        ("the 1 2 3\ncat 1 2\n", "line 2: 2 numbers after 'cat', expected 3"),
    ],
)
def test_files_of_another_format(tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path, text)
