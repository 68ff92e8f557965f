"""Measures the memory and the speed of `prepare` and of a training on its shards, for corpora of several sizes.

    python benchmarks/prepare.py --data PATH/TO/imdb/train.csv.xz [--times 1 10] [--folder FOLDER]
    python benchmarks/prepare.py --data PATH/TO/imdb/train.csv.xz --sentences [--models linear best] [--folder FOLDER]

Prints tables in Markdown. Memory is the highest resident set of a process of its own (`ru_maxrss`); a corpus of N times
the size has each text N times, each time with another last word. The training is one epoch of `sentiment --model cnn`,
and for comparison the same from memory. Larger corpora are computed: what each row adds on the disk, and the limits of
what is kept in memory. Needs an otherwise idle machine, for about an hour with 1 and 10. Finished steps are kept in
--folder, so that the same command resumes an interrupted benchmark.

With --sentences, the texts are the sentences of the reviews with the label of the review, about 300,000. It compares
models that are trained on shards and in memory, and LinearSVC (see text_classification.py), on the sentences of a tenth
of the films.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from text_classification import linear_svc
from training import ROOT, kept

COMPUTED = (100, 1000)
TRAIN = ["--model", "cnn", "--epochs", "1", "--no-baseline", "--max-tokens", "400"]


def repeated(data: Path, times: int, path: Path) -> None:
    """Writes a table with each row `times` times; the texts and films of the copies differ."""
    table = pd.read_csv(data)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "url"])
        for i in range(times):
            for text, label, url in zip(table["review"], table["sentiment"], table["url"], strict=True):
                writer.writerow([f"{text} copy{i}", label, f"{url} {i}"])


def run(*arguments) -> dict:
    """Runs main.py; returns its JSON, its seconds and its highest resident set in MiB."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, ROOT / "main.py", *arguments, "--json"]
    started = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, env=environment)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    mib = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {"result": json.loads(output), "seconds": time.monotonic() - started, "mib": mib}


def measure(folder: Path, times: int, data: Path) -> dict:
    """Prepares and trains on `times` times the data."""
    table, shards = folder / f"{times}.csv", folder / f"prepared-{times}"
    if not table.exists():
        repeated(data, times, table)
    made = kept(
        folder / f"prepare-{times}.json",
        lambda: run("prepare", "sentiment", "--data", table, "--output", shards, "--max-tokens", "400"),
    )
    places = ["--runs", folder / "runs", "--saved-models", folder / "saved"]
    from_shards = kept(
        folder / f"train-{times}.json", lambda: run("train", "sentiment", "--data", shards, *TRAIN, *places)
    )
    from_memory = kept(
        folder / f"memory-{times}.json", lambda: run("train", "sentiment", "--data", table, *TRAIN, *places)
    )
    return {"prepare": made, "shards": from_shards, "memory": from_memory}


def write_sentences(data: Path, train: Path, test: Path) -> None:
    """Writes the sentences of at least three words, those of a random tenth of the films to `test`."""
    reviews = pd.read_csv(data)
    films = pd.Series(reviews.url.unique())
    held_out = set(films.sample(len(films) // 10, random_state=1))
    rows = [
        (sentence, review.sentiment, review.url in held_out)
        for review in reviews.itertuples()
        for sentence in re.split(r"(?<=[.!?])\s+|<br />", review.review)
        if len(sentence.split()) >= 3
    ]
    sentences = pd.DataFrame(rows, columns=["text", "label", "held_out"]).drop_duplicates("text")
    for path, part in ((train, sentences[~sentences.held_out]), (test, sentences[sentences.held_out])):
        part[["text", "label"]].to_csv(path, index=False)


def measure_sentences(folder: Path, data: Path, models: list[str]) -> None:
    """Trains on shards and in memory, and prints a table."""
    train, test, shards = folder / "sentences.csv", folder / "held-out.csv", folder / "prepared-sentences"
    if not test.exists():
        write_sentences(data, train, test)
    prepare = ("prepare", "classification", "--data", train, "--output", shards)
    made = kept(folder / "prepare-sentences.json", lambda: run(*prepare))
    print(f"`prepare`: {made['mib']:,.0f} MiB, {made['seconds']:,.0f} s\n")
    print("| model | from | highest memory, MiB | seconds | accuracy |\n|---|---|---:|---:|---:|")
    for model in models:
        for name, source in (("shards", shards), ("memory", train)):
            places = ["--saved-models", folder / "saved", "--name", f"{model}-{name}"]

            def measured(model=model, source=source, places=places) -> dict:
                flags = ["--model", model, "--max-tokens", "1000", *([] if source == shards else ["--no-baseline"])]
                done = run("train", "classification", "--data", source, "--runs", folder / "runs", *flags, *places)
                return done | {"evaluated": run("evaluate", "classification", "--data", test, *places)["result"]}

            found = kept(folder / f"sentences-{model}-{name}.json", measured)
            accuracy = found["evaluated"]["accuracy"]
            print(
                f"| `{model}` | {name} | {found['mib']:,.0f} | {found['seconds']:,.0f} | {accuracy:.4f} |", flush=True
            )
    # Last: a process starts with the highest memory of the one that starts it.
    svc = kept(
        folder / "svc.json", lambda: linear_svc(*(pd.read_csv(path, keep_default_na=False) for path in (train, test)))
    )
    print(f"| LinearSVC | memory | | {svc['seconds']:,.0f} | {svc['score']:.4f} |", flush=True)


def size_of(made: dict, suffix: str) -> int:
    """Returns the bytes of the prepared files whose names end so."""
    return sum(file["bytes"] for name, file in made["result"]["files"].items() if name.endswith(suffix))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "unroll-prepare")
    parser.add_argument("--sentences", action="store_true")
    parser.add_argument("--models", nargs="+", default=["linear", "best"])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.sentences:
        measure_sentences(arguments.folder, arguments.data, arguments.models)
        return
    measured = {times: measure(arguments.folder, times, arguments.data) for times in arguments.times}

    print("| corpus | step | highest memory, MiB | seconds | accuracy |\n|---|---|---:|---:|---:|")
    for times, steps in measured.items():
        for name, step in steps.items():
            scores = step["result"].get("scores")
            accuracy = f"{100 * scores['validation']['accuracy']:.1f}" if scores else ""
            title = {"prepare": "prepare", "shards": "train, from shards", "memory": "train, from memory"}[name]
            print(f"| {times} x IMDB | {title} | {step['mib']:,.0f} | {step['seconds']:,.0f} | {accuracy} |")

    made = measured[arguments.times[-1]]["prepare"]
    rows = made["result"]["rows"]["train"]
    per_row = {"shards": size_of(made, ".tfrecord") / rows, "indices": size_of(made, ".npy") / rows}
    print("\n| corpus | training rows | shards, GiB | indices, MiB | prepare, hours |\n|---|---:|---:|---:|---:|")
    for times in COMPUTED:
        count = rows * times / arguments.times[-1]
        gib, mib = count * per_row["shards"] / 2**30, count * per_row["indices"] / 2**20
        hours = made["seconds"] * times / arguments.times[-1] / 3600
        print(f"| {times} x IMDB (computed) | {count:,.0f} | {gib:.2f} | {mib:,.0f} | {hours:.1f} |")


if __name__ == "__main__":
    main()
