"""Which texts to label next? Labels N texts at random, then N more by each strategy, and scores on texts held out.

python benchmarks/label_next.py --corpora FOLDER

FOLDER has classification/NAME.csv.xz with the columns text and label, and NAME.train.conll.xz with a token and its tag
on each line. Models are linear ones.
"""

import argparse
import lzma
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import unroll
from pipelines.data.text_chunks import Chunk
from pipelines.labelled.predict import uncertainty
from pipelines.predicting.file_steps import Predicted
from pipelines.predicting.least_sure import least_sure_first
from pipelines.tagging.predict import uncertainty as uncertainty_of_tags

SETTINGS = {"model": "linear", "no_baseline": True, "verbose": False}
NUM_TEST, MAX_POOL = 2000, 6000


def least_sure(texts: list[str], scores: np.ndarray, limit: int | None) -> np.ndarray:
    """The rows that `predict --sort uncertainty --limit` writes, given the uncertainty of each text."""
    outputs = {"score": scores, "row": np.arange(len(texts))}
    table = pd.DataFrame({"text": texts}, dtype=object)
    predicted = Predicted(Chunk(table, "text", 0), outputs, np.zeros(len(texts), bool))
    chosen = least_sure_first(iter([predicted]), lambda outputs: outputs["score"], limit, {})
    return np.concatenate([each.outputs["row"] for each in chosen])


def classifiers(path: Path, rng: np.random.Generator, num: int, copies: int) -> Iterator[tuple[str, float, int]]:
    """Yields (strategy, accuracy, number of words that were labelled)."""
    table = pd.read_csv(path).dropna().drop_duplicates("text").sample(frac=1, random_state=rng)
    texts, labels = table["text"].astype(str).to_numpy(object), table["label"].astype(str).to_numpy(object)
    pool = np.arange(NUM_TEST, min(len(texts), NUM_TEST + MAX_POOL))
    if copies > 1:
        pool = rng.permutation(np.repeat(pool[: MAX_POOL // copies], copies))
        numbered = [f"{texts[row]} (no. {rng.integers(10**6)})" for row in pool]
        texts, labels = np.append(texts, np.array(numbered, object)), np.append(labels, labels[pool])
        pool = np.arange(len(texts) - len(pool), len(texts))

    def fit(rows):
        model = unroll.TextClassifier(preset="quick", **SETTINGS).fit(texts[rows].tolist(), labels[rows].tolist())
        return model, model.score(texts[:NUM_TEST].tolist(), labels[:NUM_TEST].tolist())

    def score(model, rows):
        probabilities = model.predict_proba(texts[rows].tolist())
        entropy = -(probabilities * np.log(np.maximum(probabilities, 1e-12))).sum(axis=1)
        return {"margin": uncertainty({"probabilities": probabilities}), "entropy": entropy}

    yield from compare(texts, pool, rng, num, fit, score)


def taggers(path: Path, rng: np.random.Generator, num: int, copies: int) -> Iterator[tuple[str, float, int]]:
    """Yields (strategy, F1 of the spans, number of words that were labelled)."""
    blocks = lzma.decompress(path.read_bytes()).decode().strip().split("\n\n")
    sentences = [[line.split("\t") for line in block.splitlines()] for block in blocks]
    order = rng.permutation(len(sentences))
    tokens, tags = ([[cells[i] for cells in sentences[row]] for row in order] for i in (0, -1))
    texts = np.array([" ".join(words) for words in tokens], object)
    pool = np.arange(NUM_TEST, min(len(texts), NUM_TEST + MAX_POOL))

    def fit(rows):
        model = unroll.Tagger(**SETTINGS).fit([tokens[row] for row in rows], [tags[row] for row in rows])
        return model, model.score(tokens[:NUM_TEST], tags[:NUM_TEST])

    def score(model, rows):
        scores = [each["scores"] for each in model.tag(texts[rows].tolist())]
        mean = np.array([1 - np.mean(each) for each in scores])
        return {"least sure token": np.array(list(map(uncertainty_of_tags, scores))), "mean of tokens": mean}

    yield from compare(texts, pool, rng, num, fit, score)


def compare(
    texts: np.ndarray, pool: np.ndarray, rng: np.random.Generator, num: int, fit: Callable, score: Callable
) -> Iterator[tuple[str, float, int]]:
    """Yields (strategy, score of the model, number of words that were labelled for it).

    Args:
        texts: object [n] of str.
        pool: the rows that may be labelled, in random order: the first `num` are.
        fit: rows -> (model, its score).
        score: (model, rows) -> measure of uncertainty -> that of each row; the first one is that of `predict`.
    """
    start, rest = pool[:num], pool[num:]
    model, before = fit(start)
    yield "start", before, count_words(texts[start])
    strategies = {"random": rng.permutation(len(rest))[:num]}
    for name, unsure in score(model, rest).items():
        strategies[name] = least_sure(texts[rest].tolist(), unsure, None)[:num]
        if len(strategies) == 2:
            strategies[f"{name}, unlike"] = least_sure(texts[rest].tolist(), unsure, num)
    for name, chosen in strategies.items():
        rows = np.concatenate([start, rest[chosen]])
        yield name, fit(rows)[1], count_words(texts[rows])


def count_words(texts: np.ndarray) -> int:
    """Number of words in texts."""
    return sum(len(text.split()) for text in texts)


def main() -> None:
    """Prints a line for each data set and strategy: the mean of the draws, and each of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--classification", nargs="*", default=["trec"])
    parser.add_argument("--copies", type=int, default=1, help="of each text of the pool, with another number in each")
    parser.add_argument("--tagging", nargs="*", default=["classification/restaurant8k"])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--num", type=int, default=200, help="texts that are labelled at random, and then added")
    args = parser.parse_args()
    jobs = [(classifiers, args.corpora / "classification" / f"{name}.csv.xz") for name in args.classification]
    jobs += [(taggers, args.corpora / f"{name}.conll.xz") for name in args.tagging]
    for run, path in jobs:
        found: dict[str, list] = {}
        begin = time.perf_counter()
        for draw in range(args.draws):
            for name, *values in run(path, np.random.default_rng(draw), args.num, args.copies):
                found.setdefault(name, []).append(values)
        for name, values in found.items():
            scores, words = np.array(values).T
            each = " ".join(f"{score:.3f}" for score in scores)
            print(f"{path.name:<24} {name:<24} {scores.mean():.3f} ({each})   {words.mean():,.0f} words", flush=True)
        print(f"{path.name:<24} {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
