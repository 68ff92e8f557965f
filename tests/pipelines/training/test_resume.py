"""A killed training that is started again ends with the same bits: with real processes and a real SIGKILL.

The kills are random. A failing test prints a seed; `UNROLL_TEST_SEED=<seed>` repeats it.
"""

import functools
import os
import random
import signal
import time

import pytest

from pipelines.data import sample_pairs, sample_reviews, tagged_sentences
from tests.layers import hub_modules
from tests.pipelines.training import killed_training
from tests.pipelines.training.killed_training import assert_equal_outcomes, outcome

pytestmark = pytest.mark.slow

NUM_ROWS = 300
SEED = int(os.environ.get("UNROLL_TEST_SEED") or random.SystemRandom().randrange(2**31))

COMMON = "--epochs 3 --checkpoint-every 4 --patience 9"
FLAGS = {
    "sentiment": "--model best --least-texts 0 --batch-size 16 --hidden-size 8 --vocabulary-size 200 --max-tokens 40 "
    f"--max-ngrams 500 {COMMON}",
    "tagging": "--batch-size 16 --embedding-size 8 --hidden-size 8 --character-size 4 --word-dropout 0.3 "
    f"--join-rate 0.5 {COMMON}",
    "char-lm": "--batch-size 32 --window 32 --hidden-size 16 --num-layers 2 --dropout 0.2 --schedule plateau " + COMMON,
    "nmt": "--model single-rnn --batch-tokens 500 --hidden-size 16 --num-layers 1 --vocabulary-size 150 " + COMMON,
    "encoder": "--batch-size 16 --window 32 --hidden-size 16 --num-layers 1 --vocabulary-size 200 --dropout 0.2 "
    + COMMON,
    "transfer": "--head-epochs 1 --top-epochs 1 --all-epochs 1 --batch-size 16 --checkpoint-every 4",
}
# Task -> (what is counted, the first count after which there is a checkpoint, the highest count). `write` counts the
# checkpoints. The others write their first checkpoint at step 4. A transfer whose module draws its own random numbers
# writes the first one at the end of its first epoch, step 17 of 51.
KILLS = {
    "sentiment": ("step", 4, 50),
    "tagging": ("step", 4, 50),
    "char-lm": ("step", 4, 25),
    "nmt": ("write", 2, 4),
    "transfer": ("step", 18, 50),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the data of all tasks."""
    folder = tmp_path_factory.mktemp("data")
    texts, labels, films, _ = sample_reviews.generate(NUM_ROWS)
    rows = (f'"{text}",{label},{film}\n' for text, label, film in zip(texts, labels, films, strict=True))
    (folder / "reviews.csv").write_text("text,label,url\n" + "".join(rows))
    pairs = zip(*sample_pairs.generate(NUM_ROWS), strict=True)
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    sentences = tagged_sentences.read(None)["train"].take(slice(NUM_ROWS))
    rows = zip(sentences.tokens, sentences.tags, strict=True)
    blocks = ["".join(f"{token}\t{tag}\n" for token, tag in zip(*row, strict=True)) for row in rows]
    (folder / "tokens.tsv").write_text("\n".join(blocks))
    hub_modules.save_bert(folder / "bert", dropout=0.2)
    hub_modules.save_preprocessor(folder / "preprocess")
    return folder


def start(data, folder, task, kind="never", count=0):
    """Starts a training that kills itself."""
    file = {"nmt": "pairs.tsv", "tagging": "tokens.tsv"}.get(task, "reviews.csv")
    arguments = ["train", task, "--data", data / file, "--run", "r", "--runs", folder / "runs"]
    arguments += ["--saved-models", folder / "saved", *FLAGS[task].split()]
    if task == "transfer":
        arguments += ["--encoder", data / "bert", "--preprocessor", data / "preprocess"]
    return killed_training.start(arguments, kind, count)


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    """Returns the outcome of a training that is not killed."""

    @functools.cache
    def run(task):
        folder = tmp_path_factory.mktemp("uninterrupted")
        code, errors = start(data, folder, task).finish()
        assert code == 0, errors
        return outcome(folder)

    return run


def assert_same_end_after_a_kill(data, uninterrupted, folder, task, early):
    """Kills a training before (`early`) or after its first checkpoint, starts it again, and compares the outcomes."""
    kind, first_saved, last = KILLS[task]
    choose = random.Random(f"{SEED} {task} {early}").randint
    count = choose(1, first_saved - 1) if early else choose(first_saved, last)
    print(f"UNROLL_TEST_SEED={SEED}: killed at {kind} {count}")  # pytest prints it if the test fails
    code, errors = start(data, folder, task, kind, count).finish()
    assert code == -signal.SIGKILL, errors
    code, errors = start(data, folder, task).finish()
    assert code == 0, errors
    assert ("resuming at epoch" in errors) != early
    assert_equal_outcomes(outcome(folder), uninterrupted(task))
    assert not list(folder.rglob(".tmp-*"))


@pytest.mark.long
@pytest.mark.parametrize("task", [pytest.param("tagging", marks=pytest.mark.exhaustive), "nmt", "transfer"])
def test_a_killed_training_ends_with_the_same_bits(data, uninterrupted, tmp_path, task):
    assert_same_end_after_a_kill(data, uninterrupted, tmp_path, task, early=False)


@pytest.mark.long
@pytest.mark.parametrize("task", ["transfer"])
def test_a_training_that_is_killed_before_its_first_checkpoint_starts_from_scratch(data, uninterrupted, tmp_path, task):
    assert_same_end_after_a_kill(data, uninterrupted, tmp_path, task, early=True)


@pytest.mark.long
@pytest.mark.parametrize("task", ["char-lm"])
def test_a_training_that_is_killed_again_and_again_ends_with_the_same_bits(data, uninterrupted, tmp_path, task):
    kind, first_saved, _ = KILLS[task]
    choose = random.Random(f"{SEED} again {task}").randint
    counts = [choose(first_saved, first_saved + 3) for _ in range(2)]
    print(f"UNROLL_TEST_SEED={SEED}: killed at {kind} {counts}")
    for count in counts:
        code, errors = start(data, tmp_path, task, kind, count).finish()
        assert code in (-signal.SIGKILL, 0), errors
    code, errors = start(data, tmp_path, task).finish()
    assert code == 0, errors
    assert_equal_outcomes(outcome(tmp_path), uninterrupted(task))


@pytest.mark.long
def test_control_c_saves_and_says_how_to_continue(data, uninterrupted, tmp_path):
    task = "sentiment"
    process = start(data, tmp_path, task)
    checkpoint = tmp_path / "runs" / task / "r" / "checkpoints" / "last.npz"
    while not checkpoint.exists():
        assert process.poll() is None, process.finish()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    code, errors = process.finish()
    assert code == 130, errors
    assert "The same command continues from the last checkpoint." in errors
    assert "Traceback" not in errors
    code, errors = start(data, tmp_path, task).finish()
    assert code == 0, errors
    assert "resuming at epoch" in errors
    assert_equal_outcomes(outcome(tmp_path), uninterrupted(task))
