"""How far integrated gradients and occlusion agree, and which finds the tokens that a language model needs.

    python benchmarks/salience.py --saved-models FOLDER --models lstm transformer --data valid.txt [--texts 100]

A text is 20 tokens of the file, and the next token is the one that follows in it. Printed are means over the texts: the
rank correlation of the two scores, how many of their 3 largest tokens are the same, the gap of the integrated gradients
(absolute, 64 steps), and the deletion test: what the log-probability of the next token loses when the 3 tokens with the
largest scores are deleted, beside 3 random ones. In parentheses, the 95 % interval of a bootstrap over the texts.
Occlusion measures single deletions, so the deletion test favours it.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from training import ROOT

sys.path.insert(0, str(ROOT))

LENGTH, STEPS = 20, 64


def main() -> None:
    """Prints the table."""
    from pipelines.inspect import models
    from pipelines.support.bootstrap import interval, resampled_sums

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--saved-models", type=Path, required=True)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=100)
    arguments = parser.parse_args()
    columns = ("rank correlation", "shared of 3", "gap", "by gradients", "by occlusion", "at random")
    print(f"| model | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for model in models.find(arguments.saved_models, tuple(arguments.models)):
        values = measure(model, arguments.data, arguments.texts)  # [texts, columns]
        sums = resampled_sums(values) / len(values)
        cells = []
        for mean, each in zip(values.mean(0), sums.T, strict=True):
            low, high = interval(each)
            cells.append(f"{mean:.2f} ({low:.2f} to {high:.2f})")
        print(f"| {model.title} | {' | '.join(cells)} |", flush=True)


def measure(model, path: Path, count: int) -> np.ndarray:
    """Returns the numbers of each text, float [count, 6]."""
    from pipelines.inspect import salience, weights
    from pipelines.inspect.reference import read_ids
    from pipelines.text.special_tokens import START

    _, network = weights.load_network(model.exported, model.loaded)
    ids = read_ids(model, path, 10**5)
    generator = np.random.default_rng(1)
    results = []
    for start in generator.choice(len(ids) - LENGTH - 1, count, replace=False):
        text = np.concatenate([[START], ids[start : start + LENGTH]]).astype(np.int32)
        target = int(ids[start + LENGTH])
        gradients, _, gap = salience.integrated_gradients(network, text, target, STEPS)
        deleted = salience.occlusion(network, text, target)
        correlation, shared = salience.agreement(gradients[1:], deleted[1:])
        orders = [np.argsort(-each[1:]) for each in (gradients, deleted)] + [generator.permutation(LENGTH)]
        whole, *rest = (
            float(salience.log_probability(network(each[None], training=False), target)[0])
            for each in (text, *(np.delete(text, order[: salience.TOP] + 1) for order in orders))
        )
        losses = [whole - each for each in rest]
        results.append([correlation, shared, abs(gap), *losses])
    return np.array(results)


if __name__ == "__main__":
    main()
