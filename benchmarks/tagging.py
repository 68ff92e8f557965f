"""Compares the taggers of `train tagging` on one data set, one setting at a time, and measures their speed.

    python benchmarks/tagging.py --train train.conllu --valid dev.conllu [--only default gru ...] [--seeds 1 2 3]
    python benchmarks/tagging.py --train ner.train.conll --valid ner.dev.conll --only default "linear alone" crfsuite

Prints a table in Markdown; the default and the encoder have all seeds, the others the first one. Needs an otherwise
idle machine. Each finished run is kept in --folder, so that the same command resumes an interrupted benchmark.
--encoder adds the row with a pretrained encoder. `words/s`: the signature `tokens` of the export, on the validation
sentences in batches of 64; `one sentence`: the signature `serving_default` with one text of 20 words.

The row `crfsuite` needs `pip install python-crfsuite`: a conditional random field with a dozen features of each token
and the defaults of that package. Its seconds, and those of `linear alone`, are those of features, fit and tags, without
the start of a process, measures and export.
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
    "quick": ["--preset", "quick"],
    "lstm": ["--model", "lstm"],
    "gru": ["--model", "gru"],
    "simple": ["--model", "simple"],
    "peephole": ["--model", "peephole"],
    "transformer": ["--model", "transformer"],
    "one way": ["--model", "lstm", "--no-bidirectional"],
    "one layer": ["--model", "lstm", "--num-layers", "1"],
    "characters by an LSTM": ["--model", "lstm", "--characters", "lstm"],
    "no characters": ["--model", "lstm", "--characters", "none"],
    "no CRF": ["--model", "lstm", "--no-crf"],
    "linear": ["--model", "linear"],
}
SPEED = """
import statistics, sys, time
sys.path.insert(0, sys.argv[4])
from pipelines.data import tagged_sentences
from pipelines.data.token_options import TokenOptions
sentences = tagged_sentences.read(sys.argv[2], TokenOptions(sys.argv[3] or None))["train"].tokens
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
    parser.add_argument("--encoder", help="adds a row: a pretrained encoder, as of `train tagging --encoder`")
    parser.add_argument("--only", nargs="+", choices=[*VARIANTS, "encoder", *FITTED])
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
        if variant in FITTED:
            found = kept(folder / f"{variant}.json", lambda variant=variant: fitted(arguments, variant))
            print(f"| {variant} | {found['score']:.4f} | | | {found['seconds']:.0f} | | | |", flush=True)
            continue
        seeds = arguments.seeds if variant in ("default", "encoder") else arguments.seeds[:1]
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


def fitted(arguments: argparse.Namespace, name: str) -> dict:
    """Fits one of FITTED to the training sentences and tags the others.

    Returns:
        {"score": F1 of the spans where there are spans, else the accuracy; "seconds": of fit and tags}.
    """
    sys.path.insert(0, str(ROOT))
    from pipelines.data import tagged_sentences
    from pipelines.data.token_options import TokenOptions
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    from pipelines.tagging import metrics

    column = arguments.column or None
    train, valid = (
        tagged_sentences.read(file, TokenOptions(column))["train"] for file in (arguments.train, arguments.valid)
    )
    started = time.monotonic()
    tags = FITTED[name](train.tokens, train.tags, valid.tokens)
    seconds = time.monotonic() - started
    is_spans = tagged_sentences.is_spans({tag for each in train.tags for tag in each})
    return {"score": (metrics.span_f1 if is_spans else metrics.accuracy)(tags, valid.tags), "seconds": seconds}


def tag_with_crfsuite(train_tokens: list, train_tags: list, tokens: list) -> list[list[str]]:
    """Tags sentences with python-crfsuite, which it fits to others."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, tags in zip(train_tokens, train_tags, strict=True):
        trainer.append(features_of(sentence), tags)
    with tempfile.TemporaryDirectory(prefix="unroll-benchmark-") as folder:
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        return [tagger.tag(features_of(sentence)) for sentence in tokens]


def tag_with_linear(train_tokens: list, train_tags: list, tokens: list) -> list[list[str]]:
    """Tags sentences with the model of `--model linear`, which it fits to others."""
    from pipelines.tagging import linear

    return linear.fit_and_tag(train_tokens, train_tags, tokens)


FITTED = {"crfsuite": tag_with_crfsuite, "linear alone": tag_with_linear}


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
