"""What `train` refuses is refused before TensorFlow is imported, in one line, and leaves no folder."""

import json
import subprocess
import sys

import pytest

from tests.command_line import ROOT

# Calls `main.main` for each list of arguments on stdin; prints its status, and whether TensorFlow is imported by then.
WALK = """
import contextlib, io, json, sys
import main
answers = []
for arguments in json.load(sys.stdin):
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        status = main.main(["train", *arguments])
    answers.append([status, errors.getvalue(), "tensorflow" in sys.modules])
json.dump(answers, sys.stdout)
"""
ROWS = [f"a text of number {i},{'spam' if i % 3 else 'ham'}" for i in range(60)]


def table(rows, header="text,label"):
    return "\n".join([header, *rows, ""]).encode()


FILES = {
    "good.csv": table(ROWS),
    "one-class.csv": table(f"text {i},ham" for i in range(60)),
    "ten.csv": table(ROWS[:10]),
    "numbers.csv": table(f"text {i},{i / 7:.3f}" for i in range(60)),
    "utf16.csv": table(ROWS).decode().encode("utf-16-le"),
    "cp1252.csv": table(f"{row}\N{LATIN SMALL LETTER E WITH ACUTE}" for row in ROWS).decode().encode("cp1252"),
    "caret.csv": table(ROWS).replace(b",", b"^"),
    "no-header.csv": table(ROWS[1:], ROWS[0]),
    "zeros.csv": table(ROWS) + b"a\0b,ham\n",
    "excel.csv": b"PK\x03\x04" + bytes(100),
    "empty.csv": b"",
    "header.csv": b"text,label\n",
    "other.csv": table(ROWS, "body,label"),
    "commas.csv": table(f"a, b, {row}" for row in ROWS),
    "zeros.txt": b"a\0" + b"text " * 100,
    "empty.txt": b"",
    "pairs.tsv": b"no tab\n" * 60,
    "tag-first.tsv": "".join(f"T{i % 4}\tword{i}\n" + "\n" * (i % 5 == 4) for i in range(200)).encode(),
    "numbers.jsonl": b"".join(b'{"tokens": ["Anna", "left", "%d"], "ner_tags": [1, 0, 0]}\n' % i for i in range(40)),
    "spans.jsonl": b"".join(b'{"text": "Anna left %d", "label": [[0, 99, "PER"]]}\n' % i for i in range(40)),
    "zero.conllu": b"0\tAnna\tAnna\tPROPN\t_\t_\t0\troot\t_\t_\n\n",
    "columns.csv": table((f"text {i},{i % 2},{(i + 1) % 2},0" for i in range(60)), "text,warm,cold,never"),
}
REFUSALS = [
    ("classification --data one-class.csv", "all 60 rows have the label 'ham'; at least two classes are needed"),
    ("classification --data ten.csv", "only 10 rows have a text and a label; at least 20 are needed"),
    ("classification --data numbers.csv", "the labels are 60 different numbers"),
    ("classification --data utf16.csv", "give --encoding utf-16-le"),
    ("classification --data cp1252.csv", "give its encoding with --encoding cp1252"),
    ("classification --data caret.csv", "give --separator '^'"),
    ("classification --data no-header.csv", "add a header, or --no-header"),
    ("classification --data zeros.csv", "has bytes of zero, so it is not text: remove them"),
    ("classification --data excel.csv", "is an Excel file (.xlsx) or a zip archive: give its name the right suffix"),
    ("classification --data empty.csv", "is empty"),
    ("classification --data header.csv", "has a header but no rows"),
    ("classification --data commas.csv", "none of its 60 rows can be read: too many cells in the row (60)"),
    ("classification --data good.csv --quote both", "--quote 'both': it must be one character, or none"),
    ("classification --data good.csv --text-column missing", "good.csv has no column 'missing'"),
    ("classification --data good.csv --label-column text", "the column 'text' is the one with the text"),
    ("classification --data good.csv other.csv", "other.csv has no column text, and also body, unlike good.csv"),
    ("classification --data y*.csv", "no file matches y*.csv"),
    ("classification --data good.csv --valid one-class.csv missing.csv", "no such file or folder: missing.csv"),
    ("classification --data good.csv --folds 90", "--folds 90: 60 different texts are too few"),
    ("classification --data columns.csv --label-columns warm,cold,never", "no text has the label 'never'"),
    ("tagging --data tag-first.tsv", "is the tag the first column?"),
    ("tagging --data numbers.jsonl", "--tag-names"),
    ("tagging --data spans.jsonl", "spans.jsonl"),
    ("tagging --data zero.conllu", "line 1: the id is 0"),
    ("classification --data good.csv --patience 0", "--patience 0: it must be at least 1"),
    ("transfer --encoder nowhere --data ten.csv", "only 10 rows"),
    ("language-model --data zeros.txt", "has bytes of zero, so it is not text"),
    ("language-model --data empty.txt", "empty.txt is empty"),
    ("char-lm --data nowhere.txt", "no such file or folder: nowhere.txt"),
    ("encoder --data good.csv --text-column missing", "good.csv has no column 'missing'"),
    ("translation --data pairs.tsv --pair en-de", "pairs.tsv has no tabs"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    places = ["--runs", "runs", "--saved-models", "saved"]
    process = subprocess.run(
        [sys.executable, "-c", WALK],
        input=json.dumps([[*arguments.split(), *places] for arguments, _ in REFUSALS]),
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert {path.name for path in folder.iterdir()} == set(FILES)  # neither runs nor saved
    return dict(zip(REFUSALS, json.loads(process.stdout), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("refusal", REFUSALS, ids=[arguments for arguments, _ in REFUSALS])
def test_a_refusal_is_one_line_before_tensorflow_is_imported(answers, refusal):
    status, errors, imported = answers[refusal]
    assert status == 2 and not imported
    assert errors.startswith("error: ") and errors.count("\n") == 1 and refusal[1] in errors
