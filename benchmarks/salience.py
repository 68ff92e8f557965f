"""How far integrated gradients and occlusion agree, and which finds the tokens that a model needs.

    python benchmarks/salience.py --saved-models FOLDER --models lstm transformer --data valid.txt [--texts 100]

--data: for language models a text; a text to explain is 20 tokens of it, and the next token is the one that follows in
it. For classifiers a file with a text per line, for taggers a file with a sentence per line: the label, and the tag of
the word with the least certain tag. Lines of fewer than 6 tokens are left out.

Printed are means over the texts: the rank correlation of the two scores, how many of their 3 largest tokens are the
same, the gap of the integrated gradients (absolute, 64 steps), and the deletion test: what the log-probability or
log-odds lose without the 3 tokens with the largest scores, beside 3 random ones. In parentheses, the 95 % interval of a
bootstrap over the texts. Occlusion measures single deletions, so the deletion test favours it.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from training import ROOT

sys.path.insert(0, str(ROOT))

LENGTH, STEPS, MIN_TOKENS = 20, 64, 6


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
        texts = explained_tokens if model.entry.explains == "next token" else explained_lines
        generator = np.random.default_rng(1)
        values = np.array([measure(each, generator) for each in texts(model, arguments.data, arguments.texts)])
        sums = resampled_sums(values) / len(values)
        cells = []
        for mean, each in zip(values.mean(0), sums.T, strict=True):
            low, high = interval(each)
            cells.append(f"{mean:.2f} ({low:.2f} to {high:.2f})")
        print(f"| {model.title} | {' | '.join(cells)} |", flush=True)


def measure(found, generator) -> list[float]:
    """Returns the six numbers of a text."""
    from pipelines.inspect import salience

    gradients, _, gap = salience.integrated_gradients(found, STEPS)
    places = np.array(found.tokens_to_explain)
    scores = [each[places] for each in (gradients, salience.occlusion(found))]
    correlation, shared = salience.agreement(*scores)
    orders = [np.argsort(-each) for each in scores] + [generator.permutation(len(places))]
    without = found.without([places[order[: salience.TOP]].tolist() for order in orders])
    return [correlation, shared, abs(gap), *(float(found.value(found.vectors)[0]) - without)]


def explained_tokens(model, path: Path, count: int):
    """Yields what a language model says about tokens of a text."""
    from pipelines.export.network import load_network
    from pipelines.inspect import explained
    from pipelines.inspect.reference import read_ids
    from pipelines.text.special_tokens import START

    _, network = load_network(model.exported, model.loaded)
    ids = read_ids(model, path, 10**5)
    for start in np.random.default_rng(1).choice(len(ids) - LENGTH - 1, count, replace=False):
        text = np.concatenate([[START], ids[start : start + LENGTH]]).astype(np.int32)
        yield explained.of_next_token(network, text, int(ids[start + LENGTH]))


def explained_lines(model, path: Path, count: int):
    """Yields what a classifier or a tagger says about lines of a file."""
    from pipelines.inspect import explained
    from pipelines.inspect.reference import read_lines

    found = 0
    for line in read_lines(path, 3 * count):
        each = explained.explain(model, line, explained.Wanted())
        if len(each.tokens_to_explain) >= MIN_TOKENS:
            yield each
            found += 1
        if found == count:
            return


if __name__ == "__main__":
    main()
