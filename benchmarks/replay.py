"""Records what tiny runs compute, so that a change of the code can be proved to change nothing.

    python benchmarks/replay.py                # of the commit before the change
    python benchmarks/replay.py                # after it: compares

Trains the runs of tiny_runs.py, all embedded samples and a prepared run of each task, and records for each: the arrays
of its weights and its position, result.json, report.md, the answers of `predict` and `evaluate`, the arrays of prepared
data, and the variables of the export; then every `--help` text and the refusals of tests/test_refusals.py. Times,
random numbers of runs and versions of packages are left out. Two recordings of one commit on one machine are equal.

Of each array, the SHA-256 and 64 values are recorded, so that the comparison can tell rounding (1e-6) from another
result (1e-1). Another machine, or other packages, give other last bits: the first recording of a machine and its
packages is kept in replays/, and each later one is compared with it. Each difference is printed; the status is 1 if
there is one. --output and --compare name other files.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tiny_runs

ROOT = tiny_runs.ROOT
_VALUES = 64  # of an array that are recorded
_SHOWN = 40  # differences that are printed
# Fields of result.json, config.json and answers that differ between two equal runs.
_MASKED = {
    "run", "started", "finished", "versions", "machine", "epoch_seconds", "training_seconds", "seconds", "export_files",
    "sha256", "modules", "texts_per_second", "tokens_per_second", "rate", "peak_memory", "created", "modified",
}  # fmt: skip
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TIMED = re.compile(
    r"second|minute|\d (?:s|min|h)\b|\bms\b|/s\b|GiB|MiB|\d{4}-\d\d-\d\d|tensorflow|keras|numpy|sentencepiece|python",
    re.I,
)
_SAMPLES = {name: f"{name} --preset quick --epochs 1" for name in ("classification", "sentiment", "tagging", "char-lm")}
_SAMPLES["language-model"] = "language-model --preset quick --epochs 1"
_SAMPLES["nmt"] = "nmt --preset quick --epochs 1"
_SAMPLES["encoder"] = "encoder --preset quick --epochs 1"
# Task -> (file of tiny_runs, flags of `train` on the prepared data).
_PREPARED = {
    "classification": ("reviews.csv", "--model gru --hidden-size 8"),
    "tagging": ("tokens.tsv", "--hidden-size 8"),
    "char-lm": ("reviews.csv", "--hidden-size 8"),
    "nmt": ("pairs.tsv", "--model attention --hidden-size 16"),
    "encoder": ("reviews.csv", "--hidden-size 8"),
}
_INPUTS = {
    "tagging": "Anna left Oslo .",
    "nmt": "a man reads a book",
    "translation": "a man reads a book",
    "encoder": "a dull [MASK] with a good end",
}
# Task -> (suffix of the file that `predict --input` writes, further flags).
_FILES = {
    "tagging": (".conllu",),
    "char-lm": (".csv", "--score"),
    "language-model": (".csv", "--score"),
    "nmt": (".txt",),
    "encoder": (".npy",),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="file to write, JSON")
    parser.add_argument("--compare", type=Path, help="an earlier recording")
    parser.add_argument("--only", nargs="+", help="names of runs; by default all")
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        options.output.write_text(json.dumps(recorded(options.one, options.data)))
        return 0
    output, before = options.output, options.compare
    if not output:
        first = kept_recording()
        before = before or (first if first.exists() else None)
        output = first.with_suffix(".after.json") if first.exists() else first
        output.parent.mkdir(exist_ok=True)
    recording = record_all(options.only)
    output.write_text(json.dumps(recording, indent=1, sort_keys=True))
    print(f"recorded in {output}", file=sys.stderr)
    if not before:
        return 0
    differences = list(compare(json.loads(before.read_text()), recording))
    for line in differences[:_SHOWN]:
        print(line)
    print(f"{len(differences)} differences" if differences else "no difference")
    return int(bool(differences))


def kept_recording() -> Path:
    """Returns the file of the first recording of this machine and its packages."""
    packages = sorted(f"{each.name}=={each.version}" for each in importlib.metadata.distributions())
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        processor = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())[1]
    key = hashlib.sha256("\n".join([platform.python_version(), processor, *packages]).encode()).hexdigest()[:12]
    return ROOT / "replays" / f"{platform.system().lower()}-{platform.machine()}-{key}.json"


def names() -> list[str]:
    """Names of all recordings, the longest first."""
    samples = [f"sample {name}" for name in _SAMPLES]
    return [*tiny_runs.RUNS, *(f"prepared {task}" for task in _PREPARED), *samples, "command line"]


def record_all(only: list[str] | None) -> dict:
    """Records each name in a process of its own, two at a time."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        data = Path(folder) / "data"
        tiny_runs.write_data(data)

        def record(name: str) -> dict:
            output = Path(folder) / f"{name}.json"
            command = [sys.executable, __file__, "--one", name, "--data", data, "--output", output]
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
            subprocess.run([str(part) for part in command], check=True, env=environment)
            print(f"recorded {name}", file=sys.stderr)
            return json.loads(output.read_text())

        chosen = only or names()
        return dict(zip(chosen, pool.map(record, chosen), strict=True))


def recorded(name: str, data: Path) -> dict:
    """Returns everything about one name, in a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if name == "command line":
            return command_line()
        return run(name, data, Path(folder))


def run(name: str, data: Path, folder: Path) -> dict:
    """Prepares if asked, trains, predicts and evaluates, and returns what came out."""
    found = {}
    if name in tiny_runs.RUNS:
        task, file, flags = tiny_runs.RUNS[name]
        arguments = [task, "--data", str(data / file), *flags.replace("DATA", str(data)).split()]
    elif name.startswith("prepared"):
        task = name.split()[1]
        file, flags = _PREPARED[task]
        call("prepare", task, "--data", str(data / file), "--output", "prepared")
        found["prepared"] = {str(path.relative_to("prepared")): file_of(path) for path in files(Path("prepared"))}
        arguments = [task, "--data", "prepared", "--epochs", "1", *flags.split()]
    else:
        task, *flags = _SAMPLES[name.split()[1]].split()
        file, arguments = None, [task, *flags]
    found["train"] = masked_lines(call("train", *arguments, "--run", "r", "--runs", "runs", "--saved-models", "saved"))
    folder_of_run = Path("runs") / task / "r"
    found["weights"] = arrays_of(folder_of_run / "checkpoints" / "best.npz")
    found["result"] = masked(json.loads((folder_of_run / "result.json").read_text()))
    found["report"] = masked_lines((folder_of_run / "report.md").read_text())
    export = next(path.parent for path in sorted(Path("saved").rglob("saved_model.pb")))
    found["variables"] = variables_of(export)
    text = _INPUTS.get(task, "a dull film with a good end")
    of_export = ("--name", export.parent.name, "--saved-models", "saved", "--json")
    found["predict"] = answer("predict", task, text, *of_export)
    Path("texts.txt").write_text(f"{text}\n\na good film , \u00e9t\u00e9\n")
    suffix, *flags = _FILES.get(task, (".csv",))
    call("predict", task, "--input", "texts.txt", "--output", f"out{suffix}", *flags, *of_export)
    found["predicted file"] = file_of(Path(f"out{suffix}"))
    if file and task != "encoder":
        found["evaluate"] = answer("evaluate", task, "--data", str(data / file), *of_export)
    return found


def call(*arguments: str) -> str:
    """Returns what a command prints on stdout.

    Raises:
        RuntimeError: its status is not 0.
    """
    status, output, errors = ended(arguments)
    if status:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {status}: {errors}")
    return output


def ended(arguments) -> tuple[int, str, str]:
    """Returns status, stdout and stderr of a command, run in this process."""
    import main as command

    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = command.main(list(arguments))
        except SystemExit as error:  # --help
            status = error.code
    return status or 0, *(stream.buffer.getvalue().decode() for stream in (output, errors))


def answer(*arguments: str):
    return masked(json.loads(call(*arguments)))


def command_line() -> dict:
    """Returns all texts of --help and --help-all, and what is refused with which message."""
    from pipelines.task import TASKS
    from tests.test_refusals import FILES, REFUSALS

    commands = ["", "train", "evaluate", "predict", "tune", "prepare", "serve", "check", "list", "compare", "remove"]
    commands += ["doctor", "learn", "inspect"]
    commands += [
        f"{command} {task}" for command in ("train", "predict", "evaluate", "prepare", "tune") for task in TASKS
    ]
    helps = {
        f"{command}{flag}": ended([*command.split(), f"--help{flag}"])[1]
        for command in commands
        for flag in ("", "-all")
    }
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    return {"help": helps, "refusals": {flags: ended(["train", *flags.split()]) for flags, _ in REFUSALS}}


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def file_of(path: Path):
    """Returns a manifest without times, the arrays of a .npy or .npz file, lines, or the checksum of another file."""
    if path.suffix == ".json":
        return masked(json.loads(path.read_text()))
    if path.suffix in (".npy", ".npz"):
        return arrays_of(path)
    if path.name.startswith("out."):
        return path.read_text().splitlines()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def arrays_of(path: Path) -> dict:
    """Returns the arrays of a .npy or .npz file as `array_of`, and the position of a checkpoint."""
    import numpy as np

    loaded = np.load(path, allow_pickle=False)
    arrays = {"": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in sorted(loaded.files)}
    position = arrays.pop("position", None)
    found = {name: array_of(array) for name, array in arrays.items()}
    return found if position is None else found | {"position": masked(json.loads(str(position)))}


def array_of(array) -> dict:
    """Returns shape, dtype, checksum and some values, evenly spaced, of an array."""
    import numpy as np

    found = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype == object:
        return found | {"sha256_of_values": hashlib.sha256(repr(array.tolist()).encode()).hexdigest()}
    flat = np.ascontiguousarray(array).ravel()
    found["sha256_of_values"] = hashlib.sha256(flat.tobytes()).hexdigest()
    if flat.dtype.kind in "fiu" and flat.size:
        found["values"] = flat[np.linspace(0, flat.size - 1, min(_VALUES, flat.size)).astype(int)].tolist()
    return found


def variables_of(export: Path) -> dict:
    """Returns the variables of a SavedModel, but for those that TensorFlow counts saves with."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(export / "variables" / "variables"))
    shapes = reader.get_variable_to_shape_map()
    import numpy as np

    names = sorted(name for name in shapes if name != "_CHECKPOINTABLE_OBJECT_GRAPH" and "save_counter" not in name)
    return {name: array_of(np.asarray(reader.get_tensor(name))) for name in names}


def masked(value):
    """Returns JSON without the fields that differ between two equal runs."""
    if isinstance(value, dict):
        return {name: masked(each) for name, each in value.items() if name not in _MASKED}
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        return re.sub(r"/\S*/", "", value)  # folders
    return value


def masked_lines(text: str) -> list[str]:
    """Returns the lines of a text; those with times, memory or versions without their numbers."""
    lines = (re.sub(r"/\S*/", "", line) for line in text.splitlines())
    return [_NUMBER.sub("#", line) if _TIMED.search(line) else line for line in lines]


def compare(before, after, place: str = ""):
    """Yields a line for each difference of two recordings; of arrays, the largest difference of recorded values."""
    if isinstance(before, dict) and isinstance(after, dict):
        if "values" in before and "values" in after and before != after and before["shape"] == after["shape"]:
            largest = max(abs(x - y) for x, y in zip(before["values"], after["values"], strict=True))
            yield f"{place}: the recorded values differ by at most {largest:.1e}"
            return
        for name in [*before, *(name for name in after if name not in before)]:
            if name not in before or name not in after:
                yield f"{place}/{name}: only {'after' if name in after else 'before'}"
            else:
                yield from compare(before[name], after[name], f"{place}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (x, y) in enumerate(zip(before, after, strict=True)):
            yield from compare(x, y, f"{place}/{i}")
    elif before != after:
        yield f"{place}: {str(before)[:100]!r} -> {str(after)[:100]!r}"


if __name__ == "__main__":
    sys.exit(main())
