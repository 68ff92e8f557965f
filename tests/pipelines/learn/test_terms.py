import functools
import re
import shlex

import keras
import pytest

import main
from pipelines.learn.sources import located
from pipelines.learn.terms import TERMS

VALUES = {"TEXT": '"a text"', "MODEL": "small", "FILE": "file.txt", "RUN": "one"}


@pytest.mark.parametrize("name", TERMS)
def test_the_command_of_a_term_is_accepted(name):
    command = re.sub(r"\b[A-Z]{3,5}\b", lambda match: VALUES[match[0]], TERMS[name].command)
    parsed = main.parse(shlex.split(command))
    if command.startswith("train "):
        parsed.config.resolve().check()


@pytest.mark.parametrize("name", TERMS)
def test_the_code_of_a_term_exists(name):
    code = TERMS[name].code
    if ":" in code:
        assert located(code).startswith(code.partition(":")[0])
    elif code:
        assert functools.reduce(getattr, code.split(".")[1:], keras)


def test_no_name_has_two_terms():
    names = [each.lower() for name, term in TERMS.items() for each in (name, *term.also)]
    assert len(names) == len(set(names)) and len(TERMS) > 60
    assert all(term.meaning.endswith((".", ")")) for term in TERMS.values())
