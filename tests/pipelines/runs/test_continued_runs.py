"""`train --from` for every task: a training that changes nothing ends where the first run ended, and what is new has
rows.
"""

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from pipelines.data import sample_pairs, sample_reviews, tagged_sentences
from pipelines.support.records import read_record
from tests.command_line import assert_one_line, train_here, where
from tests.pipelines.training import killed_training

COMMON = "--epochs 2 --patience 9 --no-baseline"
RECURRENT = "--batch-size 8 --window 16 --hidden-size 8 --embedding-size 4"
TAGGER = "--batch-size 16 --embedding-size 4 --hidden-size 4 --character-size 2 --num-layers 1"
NMT = "--batch-tokens 500 --hidden-size 8 --num-layers 1 --vocabulary-size 150"
# Name -> (task, file of the data, flags).
RUNS = {
    "characters": ("char-lm", "text.txt", f"--model lstm {RECURRENT} {COMMON}"),
    "words": (
        "language-model",
        "text.txt",
        f"--tokenizer word --vocabulary-size 60 --model gru --tie-weights True --num-sampled 20 {RECURRENT} {COMMON}",
    ),
    "subwords": ("language-model", "text.txt", f"--model lstm --vocabulary-size 120 {RECURRENT} {COMMON}"),
    "tagger": ("tagging", "tokens.tsv", f"--model lstm {TAGGER} {COMMON}"),
    "best-tagger": ("tagging", "tokens.tsv", f"--model best {TAGGER} {COMMON}"),
    "attention": ("nmt", "pairs.tsv", f"--model attention --embedding-size 8 {NMT} {COMMON}"),
    "transformer": ("nmt", "pairs.tsv", f"--model transformer --num-heads 2 {NMT} {COMMON}"),
    "encoder": (
        "encoder",
        "reviews.csv",
        "--batch-size 8 --window 16 --hidden-size 8 --num-layers 1 --vocabulary-size 200 --epochs 2",
    ),
}
# One network of each task in `make test-all`.
EACH_RUN = [
    name if name in ("words", "tagger", "attention", "encoder") else pytest.param(name, marks=pytest.mark.exhaustive)
    for name in RUNS
]


def write_data(folder, seed):
    """Writes a file for each task. Data of another seed than 1 has tokens and a tag that are not in that of 1."""
    folder.mkdir()
    texts, labels, _, _ = sample_reviews.generate(120, seed)
    rows = zip(texts, labels, strict=True)
    (folder / "reviews.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in rows))
    more = "" if seed == 1 else " \N{EURO SIGN} gadget \N{EURO SIGN} gadget"
    (folder / "text.txt").write_text("".join(f"{text}{more}\n" for text in texts))
    pairs = zip(*sample_pairs.generate(200, seed), strict=True)
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    sentences = tagged_sentences.read(None)["train"].take(slice(0, 150) if seed == 1 else slice(150, 250))
    blocks = []
    for tokens, tags in zip(sentences.tokens, sentences.tags, strict=True):
        rows = [*zip(tokens, tags, strict=True), *([] if seed == 1 else [("gadget", "GADGET")])]
        blocks.append("".join(f"{token}\t{tag}\n" for token, tag in rows))
    (folder / "tokens.tsv").write_text("\n".join(blocks))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("continued")
    for seed in (1, 2):
        write_data(folder / str(seed), seed)
    return folder


def train(place, *arguments):
    # Models of so few texts are below their baselines.
    process = train_here(place, "train", *arguments, "--force", "--json", *where(place))
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def weights(result):
    """The weights of a run but those of a linear model, which is fitted anew."""
    with np.load(Path(result["report"]).parent / "checkpoints" / "best.npz") as saved:
        arrays = [saved[name] for name in sorted(saved.files) if name != "position"]
    return [each for name, each in zip(result["weights"], arrays, strict=True) if not name.startswith("linear_")]


@pytest.fixture(scope="module")
def first(place):
    results = {}

    def run(name):
        if name not in results:
            task, file, flags = RUNS[name]
            data = ["--data", f"1/{file}", "--run", name, "--name", name]
            results[name] = train(place, task, *data, *flags.split())
        return results[name]

    return run


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", EACH_RUN)
def test_a_training_of_no_steps_ends_where_the_first_run_ended(place, first, name):
    task, file, _ = RUNS[name]
    before = first(name)
    flags = ["--learning-rate", "1e-9", "--epochs", "1", "--run", f"{name}-again"]
    after = train(place, "--from", name, "--data", f"2/{file}", *flags)
    assert after["model"] == f"{name}/2" and after["task"] == task
    for old, new in zip(weights(before), weights(after), strict=True):
        kept = new[tuple(slice(size) for size in old.shape)]
        if old.ndim == 1 and new.shape != old.shape:  # the unknown token shares its probability
            old, kept = np.delete(old, 1), np.delete(kept, 1)
        np.testing.assert_allclose(kept, old, atol=1e-4)
    compared = after["findings"]["continued"]
    assert compared["run"] == f"{task}/{name}" and compared["problem"] == ""
    for scores in (compared["new"], compared["old"]):
        assert scores["after"]["loss"] == pytest.approx(scores["before"]["loss"], rel=1e-3)
    best = before["epochs"][before["best_epoch"] - 1]["val_loss"]
    if name == "words":  # some that were the unknown word are now to be told apart
        assert compared["old"]["before"]["loss"] > best
    else:
        rest = 0.1 if task == "tagging" else 0.02  # the new tag has a probability, too
        assert compared["old"]["before"]["loss"] == pytest.approx(best, rel=rest)
    report = Path(after["report"]).read_text()
    assert f"The training continued from the run {task}/{name}." in report


@pytest.mark.slow
@pytest.mark.long
def test_the_vocabulary_and_the_tags_keep_their_ids_and_grow(place, first):
    def vocabulary(result, file, field):
        return read_record(Path(result["report"]).parent / "tokenizer" / file, "")[field]

    cases = (("characters", "text.txt", "tokenizer.json", "tokens"), ("tagger", "tokens.tsv", "tokens.json", "words"))
    for name, data, file, field in cases:
        before = first(name)
        after = train(place, "--from", f"{before['task']}/{name}", "--data", f"2/{data}", "--run", f"{name}-grown")
        old, new = vocabulary(before, file, field), vocabulary(after, file, field)
        assert new[: len(old)] == old and ("\N{EURO SIGN}" in new or "gadget" in new)
        assert after["model"].startswith(f"{name}/")
    assert after["classes"][:-1] == before["classes"] and after["classes"][-1] == "GADGET"
    assert after["config"]["learning_rate"] == before["config"]["learning_rate"]


@pytest.mark.slow
@pytest.mark.long
def test_a_linear_tagger_learns_from_new_sentences_and_keeps_what_it_knows(place):
    flags = ["--model", "linear", "--no-baseline"]
    first = train(place, "tagging", "--data", "1/tokens.tsv", "--run", "linear", "--name", "linear", *flags)
    after = train(place, "--from", "linear", "--data", "2/tokens.tsv", "--run", "linear-again")
    assert after["model"] == "linear/2" and after["classes"] == [*first["classes"], "GADGET"]
    compared = after["findings"]["continued"]
    assert compared["problem"] == ""
    for measure, better in (("accuracy", 1), ("loss", -1)):
        assert better * (compared["new"]["after"][measure] - compared["new"]["before"][measure]) > 0
    best = first["epochs"][0]["val_accuracy"]
    assert compared["old"]["before"]["accuracy"] == pytest.approx(best, abs=0.01)
    assert compared["old"]["after"]["accuracy"] > best - 0.02


@pytest.mark.slow
@pytest.mark.long
def test_what_cannot_continue_is_refused_in_one_line(place, first):
    first("characters"), first("tagger")
    cases = (
        (
            "char-lm --from characters --data 2/text.txt --hidden-size 9",
            "--hidden-size 9: the model to continue from has 8",
        ),
        (
            "--from characters --data 2/text.txt --tokenizer word",
            "--tokenizer word: the model to continue from has char",
        ),
        ("tagging --from characters --data 2/tokens.tsv", "is of the task char-lm: use `train char-lm`"),
        ("--from tagger --data 2/other.tsv", "none of its tags"),
    )
    (place / "2" / "other.tsv").write_text("".join(f"a{i}\tX\nb\tY\n\n" for i in range(40)))
    for arguments, message in cases:
        assert_one_line(train_here(place, "train", *arguments.split(), *where(place)), message)


@pytest.mark.slow
@pytest.mark.long
def test_a_killed_training_that_continues_a_run_ends_with_the_same_bits(place, first, tmp_path):
    first("characters")

    def start(name, *kill):
        flags = ["--epochs", 2, "--checkpoint-every", 4, "--dropout", "0.2", *where(tmp_path / name)]
        data = place / "2" / "text.txt"
        return killed_training.start(["train", "--from", "characters", "--data", data, "--run", "r", *flags], *kill)

    for name in ("whole", "killed"):
        for folder in ("runs", "saved"):
            shutil.copytree(place / folder, tmp_path / name / folder)
    assert start("whole").finish()[0] == 0
    assert start("killed", "step", 50).finish()[0] == -signal.SIGKILL
    code, errors = start("killed").finish()
    assert code == 0 and "resuming at epoch" in errors, errors
    outcomes = [killed_training.outcome(tmp_path / name) for name in ("whole", "killed")]
    killed_training.assert_equal_outcomes(*outcomes)
