import pytest

from pipelines.learn.questions import Question, checked, numbers_of
from pipelines.support.errors import UserError


@pytest.mark.parametrize(
    ("given", "number"),
    [
        *(("0.25", 0.25), (".25", 0.25), ("0,25", 0.25), ("1/4", 0.25), (" 25 % ", 0.25), ("2.5e-1", 0.25)),
        *(("+3", 3), ("-0.5", -0.5), ("\u22120.5", -0.5), ("1,234", 1234), ("1,234", 1.234), ("98 560", 98_560)),
        *(("1'234'567", 1_234_567), ("25%", 25)),
    ],
)
def test_numbers_are_read_in_every_usual_form(given, number):
    assert any(found == pytest.approx(number) for found in numbers_of(given))


@pytest.mark.parametrize("given", ["", "x", "1/0", "1.2.3", "--1", "one", "1/2/3", "nan", "inf"])
def test_what_is_no_number_is_refused(given):
    with pytest.raises(UserError, match="is no number: write it as"):
        numbers_of(given)


def test_a_number_may_be_rounded_and_an_integer_may_not():
    assert Question("", 0.4621, "").is_right("0.46") and not Question("", 0.4621, "").is_right("0.47")
    assert Question("", 0.4621, "", 0.0051).is_right("0.467") and not Question("", 0.4621, "", 0.0051).is_right("0.468")
    assert Question("", 394_240, "").is_right("394,240") and not Question("", 394_240, "").is_right("394,241")
    assert not Question("", 0.0, "").is_right("0.1") and Question("", 0.0, "").is_right("0")


def test_words_are_compared_without_case_and_punctuation():
    question = Question("", ("lleg\u00f3", "llego"), "")
    assert question.is_right(" LLEG\u00d3. ") and question.is_right('"llego"') and not question.is_right("llegaron")
    assert question.shown() == "lleg\u00f3 or llego"


def test_each_question_needs_an_answer():
    questions = [Question("", 1, ""), Question("", ("yes",), "")]
    assert checked(questions, ["2", "yes"]) == [False, True]
    with pytest.raises(UserError, match="1 answer for 2 questions"):
        checked(questions, ["1"])
