import dataclasses
import sys

import pytest
import tyro

from pipelines.commands.mistyped import check_names, flags, parsed
from pipelines.support.errors import UserError


@dataclasses.dataclass
class Inner:
    learning_rate: float = 1.0
    header: bool = True


@dataclasses.dataclass
class Doctor:
    data: tyro.conf.Positional[str] = ""


@dataclasses.dataclass
class Outer:
    data: str = ""
    config_file: str | None = None
    inner: Inner = dataclasses.field(default_factory=Inner)


COMMANDS = {
    "train": {"classification": Outer(), "nmt": Outer(), "tagging": Outer()},
    "evaluate": {"tagging": Outer()},
    "list": Inner(),
    "doctor": Doctor(),
    "learn": {"scaling": Inner()},
}


HELP = ("--help", "--help-all")


def test_the_flags_are_those_of_all_nested_dataclasses():
    assert list(flags(Outer())) == [*HELP, "--data", "--config", *HELP, "--learning-rate", "--no-header"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lst", "no command 'lst'; did you mean list?"),
        ("zzz", "no command 'zzz': choose train, evaluate, list, doctor, learn"),
        ("learn scalin", "no topic 'scalin'; did you mean scaling?"),
        ("train clasification", "no task 'clasification'; did you mean classification?"),
        ("train ner", "no task 'ner'; did you mean tagging?"),
        ("evaluate pos", "no task 'pos'; did you mean tagging?"),
        ("train nmt --dta x", "no flag --dta; did you mean --data? (`x.py train nmt --help-all` lists all flags)"),
        ("train nmt --dta=x", "no flag --dta; did you mean --data?"),
        ("doctor --data x", "`x.py doctor` takes its data without a flag: leave out --data"),
        ("list --zzzzz", "no flag --zzzzz (`x.py list --help-all` lists all flags)"),
    ],
)
def test_a_mistyped_name_has_at_most_one_suggestion(arguments, message):
    with pytest.raises(UserError) as error:
        check_names(arguments.split(), COMMANDS, "x.py")
    assert message in str(error.value) and str(error.value).count("did you mean") <= 1


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "train",
        "learn",
        "learn scaling --learning-rate 1",
        "--help",
        "train --help",
        "train nmt --data --learning_rate 2 --no-header",
        "train nmt -- --dta",
    ],
)
def test_names_that_exist_are_no_mistake(arguments):
    check_names(arguments.split(), COMMANDS, "x.py")


def test_other_mistakes_are_one_line(capsys):
    def parse(arguments):
        print(
            "\u256d\u2500 Value error \u2500\u256e\n\u2502 Error parsing --learning-rate: could not convert",
            file=sys.stderr,
        )
        print(
            "\u2502 string to float: 'x' \u2502\n\u2502 \u2500\u2500\u2500 \u2502\n\u2502 See the help \u2502",
            file=sys.stderr,
        )
        sys.exit(2)

    with pytest.raises(
        UserError, match=r"^--learning-rate x: it must be a number \(`x.py list --help-all` has all flags\)$"
    ):
        parsed(parse, ["list", "--learning-rate", "x"], COMMANDS, "x.py")
    with pytest.raises(UserError, match="no command 'lst'"):
        parsed(parse, ["lst"], COMMANDS, "x.py")
    assert capsys.readouterr().err == ""
    assert parsed(len, ["list"], COMMANDS, "x.py") == 1
