import pytest

import main

MISTAKES = [
    (
        "train sentiment --epochs ten",
        "--epochs ten: it must be a whole number (`{} train sentiment --help-all` has all flags)",
    ),
    ("train sentiment --patience 1.5", "--patience 1.5: it must be a whole number"),
    ("train sentiment --learning-rate x", "--learning-rate x: it must be a number"),
    ("train sentiment --clip-norm x", "--clip-norm x: it must be a number"),
    ("predict sentiment --version x a", "--version x: it must be a whole number"),
    ("inspect cost --lengths a b", "--lengths a b: it must be numbers"),
    ("learn attention --query a 0 0", "--query a 0 0: it must be numbers"),
    ("learn attention --query 1 2", "--query needs 3 values"),
    ("train sentiment --epochs", "--epochs needs a value"),
    ("train sentiment --preset fast", "--preset fast: choose full, quick"),
    ("train sentiment --positions x", "--positions x: choose learned, none, rotary, sinusoidal"),
    ("train nmt --attention-score concat", "--attention-score concat: choose additive, "),
    ("learn exercise 13", "number 13: choose 1, 2, 3, 4, 5, 6, 7"),
    ("inspect gates", "TEXT is missing: The text to look at, in quotes"),
    (
        "train sentiment extra",
        "extra is not expected here: this command takes no text without a flag; did you mean --data extra? (`",
    ),
    (
        "inspect clipping tagging/lt",
        "tagging/lt is not expected here: this command takes no text without a flag; did you mean --run tagging/lt? (`",
    ),
    ("inspect clipping --json a b", "a b is not expected here: this command takes no text without a flag; did you "),
    ("serve extra", "extra is not expected here: this command takes no text without a flag (`"),
    ("train classification --text-column my text", "text is not expected here: a text with spaces needs quotes (`"),
    (
        "train classification --pair-columns a b",
        "b is not expected here: the two columns have a comma between them: a,b",
    ),
    ("inspect gates my text", "text is not expected here: a text with spaces needs quotes (`"),
    ("train", "the next word is missing: choose classification, sentiment, tagging"),
]


@pytest.mark.parametrize("columns", ["60", "200"])  # the parser wraps its lines
@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line_without_python_s_types(arguments, message, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert main.main(arguments.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("error: " + message.format(main.called_name()))
    assert printed.err.count("\n") == 1
    assert not any(each in printed.err for each in ("NoneType", "<class", "typing.", "\u2502", "int()"))


def test_other_names_and_mistyped_choices_are_recognized(capsys):
    for value, choice in (("concat", "additive"), ("additve", "additive"), ("scaled-dot", "scaled_dot")):
        assert main.main(["train", "nmt", "--attention-score", value]) == 2
        assert f"; did you mean {choice}? (" in capsys.readouterr().err
