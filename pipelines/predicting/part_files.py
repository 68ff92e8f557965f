"""The folder of a batch prediction: part files in the order of the input, and a manifest.

    part-00000-00000.csv    file 0, part 0: appears complete, by rename
    part-00000-00001.csv
    progress.jsonl          a line for each part, and for each file that has been read completely; until the job ends
    manifest.json           what is predicted; at the end also what came of it

The manifest is written first, so that another model, other files or other options are refused by a folder that has
parts already. A folder without a part takes them: the job has ended because of a mistake, which was corrected.
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from pipelines.predicting.file_steps import add_counts
from pipelines.support.errors import UserError
from pipelines.support.files import make_folders, read_json, shown, sync, write_json, written_beside

MANIFEST = "manifest.json"
_PROGRESS, _LOCK = "progress.jsonl", "lock"
_SCHEMA = 1
_MAX_LISTED = 100  # poisoned rows in the manifest


class PartFiles:
    """An open folder. Use `opened`.

    Attributes:
        finished: the manifest of a finished job, else None.
        done: file number -> part numbers that are written.
        ends: file number -> (number of its parts, its rows that could not be read) of files that were read completely.
    """

    def __init__(self, folder: Path, plan: dict, suffix: str):
        self._folder, self._plan, self._suffix = folder, plan, suffix
        self._parts: dict[tuple[int, int], dict] = {}
        self.done: dict[int, set[int]] = {}
        self.ends: dict[int, int] = {}
        self.finished = self._start()

    def rows(self) -> int:
        """Returns the number of rows in the parts that are written."""
        return sum(part["counts"]["rows"] for part in self._parts.values())

    def add(self, file: int, number: int, content: bytes, record: dict) -> None:
        """Writes a part, unless it is written already.

        Args:
            record: "counts" and "poisoned", row of the part -> reason.
        """
        if number in self.done.get(file, ()):
            return
        name = self._name(file, number)
        with written_beside(self._folder / name, "wb") as output:
            output.write(content)
        line = {"part": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), **record}
        self._append({"file": file, "number": number, **line})
        self._keep(file, number, line)

    def end(self, file: int, num_parts: int) -> None:
        """Records that a file has been read completely."""
        self._append({"file": file, "parts": num_parts})
        self.ends[file] = num_parts

    def finish(self) -> dict:
        """Writes the manifest of a finished job, and returns it.

        Raises:
            RuntimeError: a part is missing.
        """
        for file, path in enumerate(self._plan["files"]):
            if self.done.get(file, set()) != set(range(self.ends.get(file, -1))):
                raise RuntimeError(f"parts of {path['path']} are missing")
        total, poisoned, parts = {"poisoned": 0}, [], []
        for key in sorted(self._parts):
            part = self._parts[key]
            counts = part["counts"]
            add_counts(total, counts | {"poisoned": len(part["poisoned"])})
            poisoned += [
                {"part": part["part"], "row": int(row), "reason": reason} for row, reason in part["poisoned"].items()
            ]
            parts.append({name: part[name] for name in ("part", "sha256", "bytes")} | {"rows": counts["rows"]})
        if not parts:
            raise UserError("the input has no rows")
        result = {"counts": total, "poisoned": poisoned[:_MAX_LISTED], "parts": parts}
        self.finished = self._plan | {"finished": True} | result
        write_json(self._folder / MANIFEST, self.finished)
        (self._folder / _PROGRESS).unlink()
        return self.finished

    def _name(self, file: int, number: int) -> str:
        return f"part-{file:05}-{number:05}{self._suffix}"

    def _start(self) -> dict | None:
        """Writes or checks the manifest, and reads what is done. Returns the manifest of a finished job."""
        path = self._folder / MANIFEST
        if not path.exists():
            write_json(path, self._plan | {"finished": False})
            return None
        kept = _read_manifest(path)
        different = [name for name, value in self._plan.items() if kept.get(name) != json.loads(json.dumps(value))]
        if different and not kept["finished"] and not self._has_parts():
            write_json(path, self._plan | {"finished": False})
            return None
        if different:
            raise UserError(
                f"{shown(self._folder)} has a batch prediction with other {' and '.join(different)} (see {MANIFEST}): "
                "give another --output"
            )
        if kept["finished"]:
            return kept
        self._read_progress()
        return None

    def _has_parts(self) -> bool:
        """Whether a process has written something that belongs to the kept plan."""
        return (self._folder / _PROGRESS).exists() or any(self._folder.glob("part-*"))

    def _read_progress(self) -> None:
        path = self._folder / _PROGRESS
        if not path.exists():
            return
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]  # the last line of a killed process may be a part of one
        if complete != content:
            with written_beside(path, "wb") as file:
                file.write(complete)
        for line in complete.splitlines():
            record = json.loads(line)
            file = record.pop("file")
            if "parts" in record:
                self.ends[file] = record["parts"]
            elif (self._folder / record["part"]).exists():
                self._keep(file, record.pop("number"), record)

    def _append(self, line: dict) -> None:
        is_new = not (self._folder / _PROGRESS).exists()
        with open(self._folder / _PROGRESS, "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync(self._folder)

    def _keep(self, file: int, number: int, line: dict) -> None:
        self._parts[file, number] = line
        self.done.setdefault(file, set()).add(number)


@contextlib.contextmanager
def opened(folder: Path, plan: dict, suffix: str) -> Iterator[PartFiles]:
    """Opens the folder of a batch prediction; a new one is made. No other process can open it at the same time.

    Args:
        plan: what is predicted, for JSON; "files" has a dict with "path" for each file.
        suffix: of the parts.

    Raises:
        UserError: the folder has something else or another prediction, or another process has opened it.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--output {folder}: with --ray it is a folder, and this is a file: give another name")
    if folder.is_dir() and not (folder / MANIFEST).exists():
        foreign = [path.name for path in folder.iterdir() if path.name != _LOCK and not path.name.startswith(".tmp-")]
        if foreign:
            raise UserError(
                f"--output {folder} is not empty ({foreign[0]}) and has no {MANIFEST} of a batch prediction: give "
                "another folder"
            )
    make_folders(folder)
    with open(folder / _LOCK, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{shown(folder)} is being written by another process: wait for it") from error
        yield PartFiles(folder, {"schema": _SCHEMA} | plan, suffix)


def _read_manifest(path: Path) -> dict:
    try:
        kept = read_json(path)
        if isinstance(kept, dict) and "finished" in kept:
            return kept
    except ValueError:  # no JSON, or no UTF-8
        pass
    raise UserError(f"{shown(path)} is damaged, or of another program: give another --output")
