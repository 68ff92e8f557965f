import json
import subprocess
import sys

import pytest

from pipelines.learn.command import NAMES, TOPICS
from pipelines.learn.lessons.registry import LESSONS
from tests.command_line import ROOT, assert_one_line, lines_of

COMMANDS = [
    "so-long-and",
    "so-long-and --set W[0,1]=0.5 E[so,0]=1 --set U[1,1]=-1",
    "exercise 1",
    "exercise 5",
    "exercise 6",
    "exercise 10",
    "exercise 12 --seed 4",
    "backward",
    "attention --query 1 -0.5 3",
    "scaling --seed 3",
    "positions --length 8 --size 8",
    "memory --networks gru --distances 3 --seeds 1 --max-steps 25",
]
MISTAKES = [
    ("atention", "no topic 'atention'; did you mean attention?"),
    ("chapter", "no topic 'chapter': choose lesson, check, exercise"),
    ("glossary attentoin", "no term 'attentoin'; did you mean attention?"),
    ("glossary zzz", "no term 'zzz': `learn glossary` lists all"),
    ("check exercise-13", "exercise-13: there are exercise-1 to exercise-12"),
    ("check lesson-0", "lesson-0: there are lesson-1 to lesson-10"),
    ("check chapter-1", "chapter-1: write it as lesson-4 or exercise-5"),
    ("check lesson-1 --seed 2", "--seed 2: it is for exercises"),
    ("exercise 5 --seed -1", "--seed -1: it must be from 0"),
    ("lesson 1 --output a.pdf", "the name must end in .html or .ipynb"),
    ("scaling --sed 3", "no flag --sed; did you mean --seed?"),
    ("scaling --seed -1", "--seed -1: it must be from 0"),
    ("positions --size 5", "--size 5: it must be an even number from 4 to 40"),
    ("positions --length 101", "--length 101: it must be from 4 to 100"),
    ("memory --distances 0", "--distances 0: '0' is no integer from 2 to 500"),
    ("memory --distances 5,,10", "--distances 5,,10: '' is no integer from 2 to 500"),
    ("memory --distances 5,10,5", "--distances 5,10,5: 5 is there twice"),
    ("memory --networks lstm,rnn", "no network 'rnn': choose simple, lstm, gru, attention, transformer"),
    ("memory --networks gru,gru", "--networks gru,gru: gru is there twice"),
    ("memory --seeds 0", "--seeds 0: it must be from 1 to 100"),
    ("memory --max-steps 0", "--max-steps 0: it must be a multiple of 25, 25 or more"),
    ("memory --max-steps 30", "--max-steps 30: it must be a multiple of 25"),
    ("memory --output a.pdf", "the name must end in .html or .ipynb"),
    ("attention --query 1 2 nan", "--query 1 2 nan: each number must be between -10 and 10"),
    ("so-long-and --set", "--set needs a number to change"),
    ("so-long-and --set W[0,9]=1", "no column of W '9'"),
]
WRONG_ANSWERS = [
    ("check exercise-5 1", "1 answer for 2 questions: give one answer for each"),
    ("check exercise-5 a b", "'a' is no number: write it as 0.25"),
]


@pytest.mark.long
@pytest.mark.parametrize("arguments", COMMANDS)
def test_every_topic_prints_numbered_steps_and_the_same_numbers_as_json(arguments, tmp_path, run_main):
    process = run_main(tmp_path, "learn", *arguments.split())
    assert process.returncode == 0 and process.stderr == ""
    lines = process.stdout.splitlines()
    assert lines[0].startswith(" ".join(arguments.split()[: 2 if "exercise" in arguments else 1]) + ": ")
    assert max(map(len, lines)) <= 100
    document = json.loads(run_main(tmp_path, "learn", *arguments.split(), "--json").stdout)
    assert [line for line in lines if line.startswith("1. ")]
    assert sum(line[:1].isdigit() for line in lines) == len(document["steps"])
    assert any(step["values"] and step["layer"] for step in document["steps"])


def test_without_a_topic_the_topics_are_listed(tmp_path, run_main):
    process = run_main(tmp_path, "learn")
    assert process.returncode == 0
    *rows, last = lines_of(process.stdout)
    lessons, topics = rows[: len(LESSONS)], rows[len(LESSONS) :]
    assert [row.split()[:2] for row in lessons] == [["lesson", str(number)] for number in LESSONS]
    assert [row.split()[0] for row in topics] == [name for name in TOPICS if name not in ("lesson", "topics")]
    assert "learn lesson 1" in last
    assert max(map(len, process.stdout.splitlines())) <= 110
    document = json.loads(run_main(tmp_path, "learn", "--json").stdout)
    assert document == json.loads(run_main(tmp_path, "learn", "topics", "--json").stdout)
    assert list(document["topics"]) == [row.split()[0] for row in topics]
    assert list(document["lessons"]) == [f"lesson {number}" for number in LESSONS]


@pytest.mark.parametrize(("arguments", "message"), [*MISTAKES, *WRONG_ANSWERS])
def test_a_mistake_is_one_line(arguments, message, tmp_path, run_main):
    assert_one_line(run_main(tmp_path, "learn", *arguments.split()), message)


@pytest.mark.parametrize(
    "arguments", ["exercise", "exercise 13", "lesson 11", "attention --query 1 2", "attention --query a b c"]
)
def test_what_cannot_be_read_is_refused(arguments, tmp_path, run_main):
    process = run_main(tmp_path, "learn", *arguments.split())
    assert process.returncode == 2 and process.stdout == "" and "Traceback" not in process.stderr


def test_the_list_and_mistakes_do_not_import_tensorflow(tmp_path):
    calls = ["", "--json", *(arguments for arguments, _ in MISTAKES)]
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import main\n"
        f"for arguments in {calls!r}:\n"
        "    main.main(['learn', *arguments.split()])\n"
        "    assert not {'tensorflow', 'keras', 'numpy'} & set(sys.modules), arguments"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 0, process.stderr


def test_every_topic_has_an_instance_for_messages():
    assert list(NAMES) == list(TOPICS) and all(isinstance(NAMES[name], TOPICS[name]) for name in TOPICS)
