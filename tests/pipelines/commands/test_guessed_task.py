import json

import pytest

from pipelines.commands import guessed_task
from pipelines.data import prepared
from pipelines.support.errors import UserError
from tests.pipelines.made_sentences import sentences

TEXTS = sentences(60)
SPANS = "".join(json.dumps({"text": f"Anna sings {i}", "label": [[0, 4, "PER"]]}) + "\n" for i in range(20))
CONLL = "".join(f"Anna\tB-PER\nsings\tO\nin\tO\nOslo{i % 2}\tB-LOC\n\n" for i in range(20))
FILES = {
    "a.conll": (CONLL, "tagging"),
    "a.txt": (CONLL, "tagging"),
    "spaces.txt": (CONLL.replace("\t", " "), "tagging"),
    "spans.jsonl": (SPANS, "tagging"),
    "wrong_spans.jsonl": (SPANS.replace("[0, 4", "[900, 904"), "tagging"),
    "no_spans.jsonl": (SPANS.replace(", 4", ', "x"'), "tagging"),
    "one.jsonl": (SPANS.splitlines()[0], "tagging"),
    "tokens.csv": ("sentence,token,tag\n" + "".join(f"{i // 4},w{i},{'OX'[i % 2]}\n" for i in range(80)), "tagging"),
    "pairs.txt": ("".join(f"{text}\t{text[::-1]}\n" for text in TEXTS), "translation"),
    "words.txt": ("".join(f"word{i}\twort{i}\n" for i in range(60)), "translation"),
    "pairs.tsv": ("".join(f"{text}\t{text[::-1]}\n" for text in TEXTS), "translation"),
    "pairs.csv": ("id,en,de\n" + "".join(f"{i},{text},{text}\n" for i, text in enumerate(TEXTS)), "translation"),
    "pairs.jsonl": ("".join(json.dumps({"source": text, "target": text}) + "\n" for text in TEXTS), "translation"),
    "labels.csv": ("text,label\n" + "".join(f"{text},{i % 3}\n" for i, text in enumerate(TEXTS)), "classification"),
    "others.csv": (
        "Frage,Thema\n" + "".join(f"{text},{'ab'[i % 2]}\n" for i, text in enumerate(TEXTS)),
        "classification",
    ),
    "labels.jsonl": ("".join(json.dumps({"text": text, "label": "a"}) + "\n" for text in TEXTS), "classification"),
    "fasttext.txt": ("".join(f"__label__a {text}\n" for text in TEXTS), "classification"),
    "book.txt": ("".join(f"{text}.\n" for text in TEXTS), "language-model"),
    "equal.txt": ("one two three four\n" * 50, "language-model"),  # equally many words in each line
    "empty.txt": ("", "language-model"),
    "films.csv": ("review,url\n" + "".join(f"{text},{i // 2}\n" for i, text in enumerate(TEXTS)), "encoder"),
    "texts.csv": ("text\n" + "".join(f"{text}\n" for text in TEXTS), "encoder"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_task_of_a_file(tmp_path, name):
    content, task = FILES[name]
    (tmp_path / name).write_text(content)
    assert guessed_task.of_content(str(tmp_path / name)).task == task


@pytest.mark.parametrize(
    ("files", "task"),
    [
        (("train.conllu",), "tagging"),
        (("train.en", "train.de"), "translation"),
        (("train.en.gz", "train.de.gz"), "translation"),
        (("pos/1.txt", "neg/1.txt"), "classification"),
        (("1.txt", "2.txt"), "encoder"),
    ],
)
def test_the_task_of_a_folder(tmp_path, files, task):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\n")
    assert guessed_task.of_content(str(tmp_path)).task == task


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("imdb", "classification"),
        ("tiny-shakespeare", "language-model"),
        ("multi30k", "translation"),
        ("ud-ewt", "tagging"),
        ("nowhere.csv", "classification"),
    ],
)
def test_the_task_of_a_corpus(name, task):
    assert guessed_task.of_content(name).task == task


def test_flags_of_one_task_decide(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    data = (str(tmp_path / "a.txt"),)
    assert guessed_task.guess(data, ("encoding",)).task == "language-model"
    assert guessed_task.guess(data, ("valid", "target")) == ("translation", "--target is a flag of it")
    assert guessed_task.guess(data, ("token_column",)).task == "tagging"
    with pytest.raises(UserError, match="--column, --target: no task has all"):
        guessed_task.guess(data, ("column", "target"))


def test_prepared_data_is_refused(tmp_path):
    (tmp_path / prepared.MANIFEST).write_text("{}")
    with pytest.raises(UserError, match="prepared data"):
        guessed_task.of_content(str(tmp_path))


def test_all_tasks_are_examined():
    names = [entry.name for entry in guessed_task.examiners()]
    assert {"tagging", "nmt", "char-lm", "encoder", "sentiment", "transfer"} <= set(names)
