"""Cuts the power of a training after every system call that changes a file, in a model of a file system.

    python benchmarks/power_cut.py --folder PATH [--only NAME ...] [--seed N]

Records the system calls of whole tiny trainings with strace and replays them (see tests/power_cut.py). Prints the
number of cuts, and every file or version that a cut leaves incomplete.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tiny_runs import ROOT, RUNS, command, write_data

from tests import power_cut


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the trainings go; a new temporary folder by default")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=["sentiment-lstm"])
    parser.add_argument("--seed", type=int, default=1, help="of the crashes that keep some of the unsynced changes")
    arguments = parser.parse_args()
    folder = (arguments.folder or Path(tempfile.mkdtemp(prefix="unroll-power-cut-"))).resolve()
    write_data(folder / "data")
    num_wrong = 0
    for name in arguments.only:
        disk, trace = folder / name, folder / f"{name}.trace"
        disk.mkdir()
        power_cut.record(command(name, folder / "data", disk), trace, check=True, stdout=sys.stderr)
        cuts, wrong = power_cut.replay(trace, disk, ROOT, arguments.seed)
        print(f"{name}: {cuts:,} cuts, {len(wrong)} problems", *wrong, sep="\n", flush=True)
        num_wrong += len(wrong)
        trace.unlink()
    sys.exit(bool(num_wrong))


if __name__ == "__main__":
    main()
