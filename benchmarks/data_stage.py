"""Compares the two ways of data into a training: all texts in memory, and prepared shards.

    python benchmarks/data_stage.py --data PATH/TO/imdb/train.csv.xz --rows 500 25000

Prints a table in Markdown: for random rows of a table of labelled texts, the seconds of CPU and the highest resident
memory of a process that reads, splits and encodes them for `classification --model cnn`, of one that prepares them, and
of one that opens what was prepared; then the bytes on the disk. Seconds of CPU depend little on other work.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from training import ROOT

sys.path.insert(0, str(ROOT))

FLAGS = {"model": "cnn", "max_tokens": 400}


def stage(data: str, output: str | None) -> dict:
    """Runs one stage in this process: `prepare` if there is an output, else what a training does before its epochs."""
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    from pipelines.classification import task
    from pipelines.classification.config import ClassificationConfig
    from pipelines.classification.data import load
    from pipelines.runs.prepare import prepare

    config = ClassificationConfig(data=data, **FLAGS).resolve()
    if output:
        prepare("classification", config, Path(output))
    else:
        splits = load(config)
        task.encode(config, splits, task.make_tokenizer(config, splits), Path(data).parent)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"seconds": used.ru_utime + used.ru_stime, "mebibytes": used.ru_maxrss / 1024}


def measure(data: Path, output: Path | None = None) -> str:
    """Returns a cell of the table: a stage in a process of its own."""
    command = [sys.executable, __file__, "--stage", data, *(["--output", output] if output else [])]
    process = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(process.stdout.splitlines()[-1])
    return f"{result['seconds']:.1f} s, {result['mebibytes']:,.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a table with text, label and url")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 25_000])
    parser.add_argument("--stage", help="for the processes of this benchmark")
    parser.add_argument("--output", help="for the processes of this benchmark")
    arguments = parser.parse_args()
    if arguments.stage:
        print(json.dumps(stage(arguments.stage, arguments.output)))
        return
    print("| rows | in memory | `prepare` | training opens the shards | table | prepared |")
    print("|---:|---:|---:|---:|---:|---:|")
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            table, output = Path(folder) / "table.csv", Path(folder) / "prepared"
            pd.read_csv(arguments.data).sample(rows, random_state=0).to_csv(table, index=False)
            cells = [measure(table), measure(table, output), measure(output)]
            size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
            sizes = [f"{each / 2**20:.1f} MiB" for each in (table.stat().st_size, size)]
            print(f"| {rows:,} | {' | '.join(cells + sizes)} |", flush=True)


if __name__ == "__main__":
    main()
