"""Kills trainings with SIGKILL at random moments, and compares what they end with.

    python benchmarks/kills.py --folder PATH [--kills 20] [--only NAME ...] [--jobs 1] [--seed N]

For each of the tiny runs, a training is started again and again and killed after a random time, from the start of the
process to its end, export included, until it has finished or was killed KILLS_PER_TRAINING times; then it runs to its
end. Further trainings follow until there are --kills kills. Each must end with the weights and metrics of a training
that was never killed, bit for bit, with one version of the export, and with no temporary file left.
"""

import argparse
import collections
import concurrent.futures
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tiny_runs import RUNS, command, write_data

KILLS_PER_TRAINING = 5
# What a process prints -> what it does from then on.
STAGES = {"measuring with": "exporting", "exporting, and": "exporting", "resuming at": "training", "epoch ": "training"}


def run(arguments: list[str], log: Path, seconds: float | None = None) -> str | None:
    """Runs a process; kills it after `seconds`. Returns what it did when it was killed, None if it ended before."""
    with open(log, "w") as file:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=file)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            if process.wait() == -signal.SIGKILL:
                return stage(log.read_text())
            status = process.returncode
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{log.read_text()}")
    return None


def stage(printed: str) -> str:
    found = [name for line in printed.splitlines() for start, name in STAGES.items() if line.startswith(start)]
    return found[-1] if found else "starting"


def outcome(folder: Path) -> dict[str, bytes]:
    """Returns what a training ended with: name -> bytes."""
    (run_folder,) = folder.glob("runs/*/r")
    found = {"metrics.csv": (run_folder / "metrics.csv").read_bytes()}
    for name in ("last.npz", "best.npz"):
        with np.load(run_folder / "checkpoints" / name) as saved:  # `position` has the duration
            found |= {f"{name}/{key}": saved[key].tobytes() for key in saved.files if key != "position"}
    (version,) = folder.glob("saved/*/*/saved_model.pb")
    variables = sorted(version.parent.glob("variables/variables.data*"))
    return found | {path.name: path.read_bytes() for path in variables}


def problems(folder: Path, expected: dict[str, bytes]) -> list[str]:
    """Returns what is wrong with a training that has ended."""
    versions = [path.name for path in folder.glob("saved/*/*")]
    if versions != ["1"]:
        return [f"versions {versions}"]
    found = outcome(folder)
    different = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
    leftovers = [str(path.relative_to(folder)) for path in folder.rglob(".tmp-*")]
    return [f"{name} differs" for name in sorted(different)] + [f"{name} is left" for name in leftovers]


def measure(name: str, data: Path, folder: Path, kills: int, seed: int) -> dict:
    """Kills trainings of one kind `kills` times. Returns the numbers of its row in the table."""
    choose = random.Random(f"{seed} {name}")
    started = time.monotonic()
    run(command(name, data, folder / "undisturbed"), folder / "undisturbed.log")
    duration = time.monotonic() - started
    expected = outcome(folder / "undisturbed")
    stages, wrong, trainings = collections.Counter(), [], 0
    while stages.total() < kills:
        trainings += 1
        place, killed = folder / f"training-{trainings}", []
        while len(killed) < min(KILLS_PER_TRAINING, kills - stages.total()):
            seconds = choose.uniform(0, duration)
            at = run(command(name, data, place), folder / f"training-{trainings}.log", seconds)
            if at is None:
                break
            killed.append(f"{at} after {seconds:.1f} s")
            stages[at] += 1
        run(command(name, data, place), folder / f"training-{trainings}.log")
        found = problems(place, expected)
        wrong += [f"{name}, training {trainings} ({', '.join(killed)}): {problem}" for problem in found]
        print(f"{name}, training {trainings}: killed {', '.join(killed) or 'never'}: {found or 'equal'}", flush=True)
        if not found:
            shutil.rmtree(place)
    return {"name": name, "seconds": duration, "stages": stages, "trainings": trainings, "wrong": wrong}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the trainings go; a new temporary folder by default")
    parser.add_argument("--kills", type=int, default=20, help="of each kind of training")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--jobs", type=int, default=1, help="kinds of trainings in parallel")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    arguments = parser.parse_args()
    folder = (arguments.folder or Path(tempfile.mkdtemp(prefix="unroll-kills-"))).resolve()
    print(f"seed {arguments.seed}, in {folder}", flush=True)
    write_data(folder / "data")
    for name in arguments.only:
        (folder / name).mkdir()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(
            pool.map(
                lambda name: measure(name, folder / "data", folder / name, arguments.kills, arguments.seed),
                arguments.only,
            )
        )
    print("| run | seconds | trainings | kills while starting | training | exporting | not equal |")
    print("|---|---|---|---|---|---|---|")
    for row in results:
        counts = " | ".join(str(row["stages"][name]) for name in ("starting", "training", "exporting"))
        print(f"| {row['name']} | {row['seconds']:.0f} | {row['trainings']} | {counts} | {len(row['wrong'])} |")
    wrong = [line for row in results for line in row["wrong"]]
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
