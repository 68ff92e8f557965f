"""Compares the taggers of `train tagging` on one data set, one setting at a time, and measures their speed.

    python benchmarks/tagging.py --train train.conllu --valid dev.conllu [--only default gru ...] [--seeds 1 2 3]
    python benchmarks/tagging.py --train ner.train.conll --valid ner.dev.conll --only default linear crfsuite

Prints a table in Markdown; the default has all seeds, the others the first one. Needs an otherwise idle machine. Each
finished run is kept in --folder, so that the same command resumes an interrupted benchmark. --encoder adds the row
with a pretrained encoder. `words/s`: the signature `tokens` of the export, on the validation sentences in batches of
64; `one sentence`: the signature `serving_default` with one text of 20 words.

The row `crfsuite` needs `pip install python-crfsuite`: a conditional random field with a dozen features of each token
and the defaults of that package; its seconds are those of features and fit.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training import ROOT, kept, trained

VARIANTS = {
    "default": [],
    "gru": ["--model", "gru"],
    "simple": ["--model", "simple"],
    "peephole": ["--model", "peephole"],
    "transformer": ["--model", "transformer"],
    "one way": ["--no-bidirectional"],
    "one layer": ["--num-layers", "1"],
    "characters by an LSTM": ["--characters", "lstm"],
    "no characters": ["--characters", "none"],
    "no CRF": ["--no-crf"],
    "linear": ["--model", "linear"],
}
CRFSUITE = "crfsuite"
SPEED = """
import statistics, sys, time
sys.path.insert(0, sys.argv[4])
from pipelines.data import tagged_sentences
sentences = tagged_sentences.read(sys.argv[2], sys.argv[3] or None)["train"].tokens
from pipelines.support.quiet import import_tensorflow
import_tensorflow()
import tensorflow as tf
from pipelines.tagging.tagged import tag_sentences
signatures = tf.saved_model.load(sys.argv[1]).signatures
rates, seconds = [], []
for i in range(6):
    started = time.perf_counter()
    tag_sentences(signatures["tokens"], sentences)
    rates.append(sum(map(len, sentences)) / (time.perf_counter() - started))
text = "The old man who lives near the harbour of the town said that his boat had been sold for 300 dollars ."
for i in range(300):
    started = time.perf_counter()
    signatures["serving_default"](text=tf.constant([text]))["tags"].numpy()
    seconds.append(time.perf_counter() - started)
print(statistics.median(rates[1:]), 1000 * statistics.median(seconds[50:]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--valid", required=True)
    parser.add_argument("--column", default="")
    parser.add_argument("--encoder", help="folder of an exported encoder: another row")
    parser.add_argument("--only", nargs="+", choices=[*VARIANTS, "encoder", CRFSUITE])
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--epochs", help="of each training, to compare the settings in less time")
    parser.add_argument("--folder", type=Path, help="keeps the results (default: a new folder)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="unroll-benchmark-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"runs and exports: {folder}", file=sys.stderr)
    variants = VARIANTS | ({"encoder": ["--encoder", arguments.encoder]} if arguments.encoder else {})
    print("| tagger | score, mean | seeds | unknown words | seconds | parameters | words/s | one sentence |")
    print("|---|---:|---|---:|---:|---:|---:|---:|", flush=True)
    for variant in arguments.only or variants:
        if variant == CRFSUITE:
            found = kept(folder / f"{CRFSUITE}.json", lambda: crfsuite(arguments))
            print(f"| {CRFSUITE} | {found['score']:.4f} | | | {found['seconds']:.0f} | | | |", flush=True)
            continue
        seeds = arguments.seeds if variant == "default" else arguments.seeds[:1]
        results = [
            kept(folder / f"{variant}-{seed}.json", lambda seed=seed: run(arguments, variants[variant], seed, folder))
            for seed in seeds
        ]
        export = results[0]["export"]
        rate, milliseconds = kept(folder / f"{variant}-speed.json", lambda export=export: speed(arguments, export))
        scores = [result["score"] for result in results]
        print(
            f"| {variant} | {statistics.mean(scores):.4f} | {', '.join(f'{score:.4f}' for score in scores)} | "
            f"{statistics.mean(result['unknown'] for result in results):.4f} | {results[0]['seconds']:.0f} | "
            f"{results[0]['parameters']:,} | {rate:,.0f} | {milliseconds:.1f} ms |",
            flush=True,
        )


def run(arguments: argparse.Namespace, flags: list[str], seed: str, folder: Path) -> dict:
    """Trains with the command that a user runs: F1 of the spans where there are spans, else the accuracy."""
    column = ["--column", arguments.column] if arguments.column else []
    epochs = ["--epochs", arguments.epochs] if arguments.epochs else []
    data = ["--data", arguments.train, "--valid", arguments.valid, *column, *epochs, "--no-baseline"]
    result = trained(
        "tagging", *data, *flags, "--seed", seed, "--runs", folder / "runs", "--saved-models", folder / "saved"
    )
    scores = result["scores"]["validation"]
    return {
        "score": scores.get("span_f1", scores["accuracy"]),
        "unknown": scores["unknown_accuracy"],
        "seconds": result["seconds"],
        "parameters": result["parameters"],
        "export": result["export"],
    }


def crfsuite(arguments: argparse.Namespace) -> dict:
    """Fits python-crfsuite to the training sentences: F1 of the spans where there are spans, else the accuracy."""
    import pycrfsuite

    sys.path.insert(0, str(ROOT))
    from pipelines.data import tagged_sentences
    from pipelines.tagging import metrics

    read = [
        tagged_sentences.read(name, arguments.column or None)["train"] for name in (arguments.train, arguments.valid)
    ]
    train, valid = read
    started = time.monotonic()
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, tags in zip(train.tokens, train.tags, strict=True):
        trainer.append(features_of(tokens), tags)
    with tempfile.TemporaryDirectory(prefix="unroll-benchmark-") as folder:
        trainer.train(f"{folder}/model")
        seconds = time.monotonic() - started
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        tags = [tagger.tag(features_of(tokens)) for tokens in valid.tokens]
    is_spans = tagged_sentences.is_spans({tag for each in train.tags for tag in each})
    return {"score": (metrics.span_f1 if is_spans else metrics.accuracy)(tags, valid.tags), "seconds": seconds}


def features_of(tokens: list[str]) -> list[list[str]]:
    """Returns the features that tutorials of python-crfsuite give each token: of itself and of its neighbours."""
    found = []
    for i, token in enumerate(tokens):
        features = ["bias", f"lower={token.lower()}", f"last3={token[-3:]}", f"last2={token[-2:]}", *kind("", token)]
        for name, at in (("before", i - 1), ("after", i + 1)):
            if 0 <= at < len(tokens):
                features += [f"{name} lower={tokens[at].lower()}", *kind(name, tokens[at])]
            else:
                features.append(f"none {name}")
        found.append(features)
    return found


def kind(name: str, token: str) -> list[str]:
    """Returns whether a token is in capitals, starts with one, or is a number."""
    return [f"{name} upper={token.isupper()}", f"{name} title={token.istitle()}", f"{name} digit={token.isdigit()}"]


def speed(arguments: argparse.Namespace, export: str) -> list[float]:
    """Returns the words per second in batches and the milliseconds of one sentence, in a process of its own."""
    command = [sys.executable, "-c", SPEED, export, arguments.valid, arguments.column, ROOT]
    process = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True)
    return json.loads(f"[{process.stdout.decode().strip().replace(' ', ', ')}]")


if __name__ == "__main__":
    main()
