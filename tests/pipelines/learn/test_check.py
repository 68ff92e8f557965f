import json

import pytest

from tests.command_line import lines_of


def test_the_questions_are_printed_without_the_answers(tmp_path, run_main):
    process = run_main(tmp_path, "learn", "check", "exercise-5", "--seed", "3")
    assert process.returncode == 0
    lines = lines_of(process.stdout)
    assert any(line.startswith("c' = ") for line in map(str.strip, lines)) and "Answer" not in lines[-2]
    assert "learn check exercise-5 --seed 3 ANSWER ANSWER" in lines[-1]


@pytest.mark.parametrize(("answers", "status"), [((".9", "0,95"), 0), (("9/10", "95 %"), 0), (("1", "0.95"), 1)])
def test_answers_are_right_or_not_yet(answers, status, tmp_path, run_main):
    process = run_main(tmp_path, "learn", "check", "exercise-5", *answers, "--json")
    assert process.returncode == status
    document = json.loads(process.stdout)
    assert document["of"] == 2 and document["right"] == 2 - status
    assert [each["right"] for each in document["questions"]] == [status == 0, True]
    assert not any("answer" in each for each in document["questions"])


def test_the_key_has_answers_that_are_right(tmp_path, run_main):
    document = json.loads(run_main(tmp_path, "learn", "check", "exercise-6", "--seed", "9", "--key", "--json").stdout)
    answers = [str(each["answer"]) for each in document["questions"]]
    process = run_main(tmp_path, "learn", "check", "exercise-6", *answers, "--seed", "9")
    assert process.returncode == 0 and lines_of(process.stdout)[-1] == "4 of 4 are right."
    wrong = run_main(tmp_path, "learn", "check", "exercise-6", "1", *answers[1:], "--seed", "9", "--key")
    assert wrong.returncode == 1 and f"The answer is {int(answers[0]):,}." in " ".join(wrong.stdout.split())
    assert "1. 1: not yet." in wrong.stdout
