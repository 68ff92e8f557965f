import random
import signal

import pytest
import tensorflow as tf

from tests.pipelines.training import killed_training

FLAGS = "--batch-size 16 --learning-rate 0.01 --max-ngrams 400 --hidden-size 16 --no-baseline --refit all"


def write_pairs(path):
    """Writes texts whose label depends on two words together, which no linear model of short n-grams learns."""
    rng = random.Random(1)
    lines = ["text\tlabel"]
    for _ in range(300):
        first, second = rng.choice(["red", "blue"]), rng.choice(["cat", "dog"])
        between = " ".join(rng.choices(["one", "two", "three", "four", "five", "six"], k=4))
        lines.append(f"{first} {between} {second}\t{'same' if (first == 'red') == (second == 'cat') else 'other'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def start(data, folder, flags, *kill):
    arguments = ["train", "classification", "--data", data, "--run", "r", "--name", "made", *FLAGS.split()]
    arguments += [*flags.split(), "--runs", folder / "runs", "--saved-models", folder / "saved"]
    return killed_training.start(arguments, *kill, whole=True)


@pytest.mark.exhaustive  # takes minutes; tests/pipelines/runs/test_fitting.py interrupts a smaller training
@pytest.mark.parametrize("flags", ["--model best --least-texts 50 --epochs 12", "--model gru --epochs 2"])
def test_a_training_on_all_rows_that_is_killed_ends_with_the_same_bits(tmp_path, flags):
    data = write_pairs(tmp_path / "pairs.tsv")
    code, errors = start(data, tmp_path / "whole", flags).finish()
    assert code == 0 and "training once more, on all " in errors, errors
    steps = 12 * 17 + 25 if "best" in flags else 2 * 17 + 10  # in the second training
    code, errors = start(data, tmp_path / "killed", flags, "step", steps).finish()
    assert code == -signal.SIGKILL and "training once more" in errors, errors
    code, errors = start(data, tmp_path / "killed", flags).finish()
    assert code == 0, errors
    values = [
        [tf.train.load_variable(str(path), name) for name, _ in tf.train.list_variables(str(path))]
        for path in (tmp_path / folder / "saved/made/1/variables/variables" for folder in ("whole", "killed"))
    ]
    for value, expected in zip(*values, strict=True):
        assert value == expected if isinstance(value, bytes) else (value == expected).all()
    report = (tmp_path / "whole/runs/classification/r/report.md").read_text()
    assert "The export was then trained again from the start, for" in report
