import json

import pytest

from pipelines.learn.glossary import find
from pipelines.learn.terms import TERMS


@pytest.mark.parametrize(
    ("given", "name"), [("lstm", "LSTM"), ("Hidden  State", "hidden state"), ("bptt", "backpropagation through time")]
)
def test_a_term_is_found_by_any_of_its_names(given, name):
    assert find(given) == (name, TERMS[name])


def test_a_term_is_printed_with_its_equation_its_code_and_a_command(tmp_path, run_main):
    printed = run_main(tmp_path, "learn", "glossary", "forget gate").stdout
    lines = [line.strip() for line in printed.splitlines()]
    assert lines[0] == "forget gate" and TERMS["forget gate"].equation in lines
    assert any(line.startswith("code     layers/lstm_gru.py, lines ") for line in lines)
    assert lines[-1].endswith("main.py learn exercise 4")


def test_all_terms_are_listed(tmp_path, run_main):
    printed = " ".join(run_main(tmp_path, "learn", "glossary").stdout.split())
    assert all(name in printed for name in TERMS)
    assert set(json.loads(run_main(tmp_path, "learn", "glossary", "--json").stdout)) == set(TERMS)
