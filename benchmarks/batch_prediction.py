"""Measures `predict --ray local` against the plain command, its memory, and kills.

    python benchmarks/batch_prediction.py [--rows 1000000] [--kills 5] [--actors 2] [--more 1 4] [--export FOLDER]

Trains the classifier `bag` on the embedded sample (or takes the folder of an export of `sentiment`) and labels made-up
reviews of about 450 characters: with the plain command; with Ray; and with Ray while the driver, actors and readers are
killed by SIGKILL in turn. Prints texts per second with the start of all processes included, the memory of all processes
in the course of the job, and whether the outputs are identical. Then labels them with --more other numbers of actors,
and compares their times with the model

    t(N) = start + rows / (rate * min(N, cores))

whose start and rate are those of one actor with all texts and with a tenth of them. Needs requirements-ray.txt and an
otherwise idle machine.
"""

import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tiny_runs import ROOT

from pipelines.data import sample_reviews

_SAMPLES = 5000
_MEGABYTE = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--actors", type=int, default=cores)
    parser.add_argument("--more", type=int, nargs="*", default=[1, 2 * cores], help="other numbers of actors")
    parser.add_argument("--export", type=Path, help="SAVED_MODELS/NAME of an export of `sentiment`")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unroll-benchmark-") as name:
        folder = Path(name)
        export = arguments.export or trained(folder)
        source = folder / "reviews.csv"
        write_reviews(source, arguments.rows)
        print(f"{arguments.rows:,} texts, {source.stat().st_size / 1e6:,.0f} MB, {arguments.actors} actors", flush=True)
        model = ["--name", export.name, "--saved-models", export.parent, "--input", source]

        seconds, memory = run([*model, "--output", folder / "plain.csv"])
        report("plain", arguments.rows, seconds, memory)
        plain_seconds = seconds
        on_ray = [*model, "--ray", "local", "--actors", arguments.actors, "--output"]
        seconds, memory = run([*on_ray, folder / "ray"])
        report("ray", arguments.rows, seconds, memory)
        print(f"  throughput: {plain_seconds / seconds:.2f} of that of the plain command", flush=True)
        print(f"  identical to the plain file: {is_joined(folder / 'ray', folder / 'plain.csv')}", flush=True)

        killed(on_ray, folder / "killed", arguments.kills, len(list((folder / "ray").glob("part-*"))))
        print(f"  identical to the undisturbed run: {equal(folder / 'ray', folder / 'killed')}", flush=True)
        if arguments.more:
            measured = {arguments.actors: seconds}
            check_model(arguments, model, folder, measured, cores)


def check_model(arguments, model: list, folder: Path, measured: dict[int, float], cores: int) -> None:
    """Prints the seconds of several numbers of actors beside those of the model.

    Args:
        measured: number of actors -> seconds that are known already.
    """
    few, tenth = folder / "few.csv", arguments.rows // 10
    write_reviews(few, tenth)

    def seconds_of(actors: int, source: Path) -> float:
        flags = [
            *model[:-1],
            source,
            "--ray",
            "local",
            "--actors",
            actors,
            "--output",
            folder / f"{actors}-{source.stem}",
        ]
        return run(flags)[0]

    measured |= {actors: seconds_of(actors, folder / "reviews.csv") for actors in {1, *arguments.more} - {*measured}}
    rate = (arguments.rows - tenth) / (measured[1] - seconds_of(1, few))
    start = measured[1] - arguments.rows / rate
    print(f"model: start {start:.1f} s, {rate:,.0f} texts per second and actor\n")
    print("| actors | seconds | model |\n|---:|---:|---:|")
    for actors, seconds in sorted(measured.items()):
        print(f"| {actors} | {seconds:.1f} | {start + arguments.rows / (rate * min(actors, cores)):.1f} |", flush=True)


def trained(folder: Path) -> Path:
    places = ["--runs", folder / "runs", "--saved-models", folder / "saved"]
    command = [sys.executable, ROOT / "main.py", "train", "sentiment", "--model", "bag", *places]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return folder / "saved" / "sentiment-sample"


def write_reviews(path: Path, rows: int) -> None:
    texts = sample_reviews.generate(_SAMPLES)[0]
    draw = random.Random(1)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "text"])
        writer.writerows((i, f"{draw.choice(texts)} {draw.choice(texts)}") for i in range(rows))


def start(flags: list) -> subprocess.Popen:
    command = [sys.executable, ROOT / "main.py", "predict", "sentiment", *flags]
    return subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True)


def run(flags: list) -> tuple[float, list[float]]:
    """Returns the seconds of a prediction, and the memory of all its processes at each second, in bytes."""
    started, memory = time.monotonic(), []
    process = start(flags)
    while process.poll() is None:
        memory.append(sum(resident(pid) for pid, _ in tree(process.pid)))
        time.sleep(1)
    if process.returncode:
        sys.exit(process.stderr.read())
    return time.monotonic() - started, memory


def report(name: str, rows: int, seconds: float, memory: list[float]) -> None:
    print(f"{name}: {seconds:.1f} s, {rows / seconds:,.0f} texts per second")
    quarters = [memory[len(memory) * i // 4 : len(memory) * (i + 1) // 4] for i in range(4)]
    peaks = ", ".join(f"{max(quarter, default=0) / _MEGABYTE:,.0f}" for quarter in quarters)
    print(f"  memory of all processes, peaks of the four quarters of the time: {peaks} MB", flush=True)


def killed(on_ray: list, output: Path, kills: int, num_parts: int) -> None:
    """Runs a job while one process after the other is killed: the driver, an actor, a reader, the driver, ..."""
    process, started, done = start([*on_ray, output]), time.monotonic(), []
    for i in range(kills):
        whom = ("driver", "actor", "reader")[i % 3]
        while len(list(output.glob("part-*"))) < num_parts * (i + 1) // (kills + 1):
            if process.poll() is not None:
                sys.exit(f"it ended before kill {i + 1}: {process.stderr.read()}")
            time.sleep(0.05)
        if whom == "driver":
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process = start([*on_ray, output])
        else:
            start_of_name = "ray::MapWorker" if whom == "actor" else "ray::MapBatches"
            found = [pid for pid, name in tree(process.pid) if name.startswith(start_of_name)]
            if not found:  # the reader may have read everything
                found = [pid for pid, name in tree(process.pid) if name.startswith("ray::MapWorker")]
                whom = "actor"
            os.kill(found[0], signal.SIGKILL)
        done.append(f"{whom} after {len(list(output.glob('part-*')))} parts")
    if process.wait():
        sys.exit(process.stderr.read())
    print(f"killed: {', '.join(done)}; {time.monotonic() - started:.1f} s", flush=True)


def tree(pid: int) -> list[tuple[int, str]]:
    """Returns (process id, command line) of a process and of all that it and its children have started."""
    parents, names = {}, {}
    for folder in Path("/proc").iterdir():
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_text()
        except (ValueError, OSError):
            continue
    found, new = [], {pid}
    while new:
        found += [(each, names.get(each, "")) for each in new]
        new = {child for child, parent in parents.items() if parent in new}
    return found


def resident(pid: int) -> int:
    """Returns the memory of a process in bytes, with its share of what several have; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def is_joined(parts: Path, plain: Path) -> bool:
    """Whether the parts, without all headers but the first, are the file of the plain command."""
    with open(plain, "rb") as file:
        for i, path in enumerate(sorted(parts.glob("part-*"))):
            content = path.read_bytes()
            content = content if i == 0 else content.partition(b"\n")[2]
            if file.read(len(content)) != content:
                return False
        return not file.read(1)


def equal(one: Path, other: Path) -> bool:
    names = [sorted(path.name for path in folder.iterdir()) for folder in (one, other)]
    return names[0] == names[1] and all((one / name).read_bytes() == (other / name).read_bytes() for name in names[0])


if __name__ == "__main__":
    main()
