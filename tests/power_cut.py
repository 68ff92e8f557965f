"""What a power cut can leave of the files that a process writes.

The system calls of a process are recorded with strace and replayed on a model of a file system. In the model, a file's
bytes are durable after `fsync` of the file, and its name after `fsync` of its folder. At each cut, the model is
pessimistic in several ways: names may be written without the bytes, as ext4 and xfs do, or not at all.
"""

import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

_CALLS = (
    "openat,open,creat,write,writev,pwrite64,pwritev,pwritev2,lseek,ftruncate,truncate,rename,renameat,renameat2,link,"
    "linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,fsync,fdatasync,sendfile,copy_file_range"
)
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
_UNFINISHED = re.compile(r"^(\d+) +(\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_DESCRIPTOR = re.compile(r"(?:\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})+)>(\(deleted\))?")
_RANDOM_CRASHES = 2  # per cut


def record(command: list[str], trace: Path, **options) -> subprocess.CompletedProcess:
    """Runs a command and writes the system calls with which it changes files to `trace`."""
    strace = ["strace", "-f", "-y", "-qq", "-xx", "--seccomp-bpf", "-e", "signal=none", "-e", f"trace={_CALLS}"]
    strace += ["-s", str(2**27), "-o", str(trace)]
    return subprocess.run([*strace, *map(str, command)], **options)


def calls(trace: Path) -> Iterator[tuple[str, str, int]]:
    """Yields (name, arguments, result) of the successful calls, in the order in which they ended."""
    unfinished = {}
    with open(trace) as file:
        for line in file:
            if match := _UNFINISHED.match(line):
                unfinished[match[1]] = match[2]
                continue
            if match := _RESUMED.match(line):
                line = f"{match[1]} {unfinished.pop(match[1])}{match[2]}"
            if (match := _LINE.match(line)) and int(match[3]) >= 0:
                yield match[1], match[2], int(match[3])


class File:
    """A file: its bytes, those of them that are durable, and the position of the next write."""

    def __init__(self, number: int):
        self.number = number
        self.data, self.durable, self.position = bytearray(), b"", 0

    def write(self, data: bytes, position: int) -> None:
        self.data.extend(bytes(max(0, position - len(self.data))))
        self.data[position : position + len(data)] = data

    def sync(self) -> None:
        self.durable = bytes(self.data)


class Folder:
    """A folder: its entries, and those of them that are durable."""

    def __init__(self):
        self.entries, self.durable = {}, {}

    def sync(self) -> None:
        self.durable = dict(self.entries)


class Disk:
    """The files below the folder `root`, which is empty and durable at first. Relative paths start at `current`."""

    def __init__(self, root: Path, current: Path):
        self.root = Path(root).resolve()
        self.current = Path(current).resolve()
        self.tree = Folder()
        self.files = []

    def find(self, path: str | None) -> File | Folder | None:
        """Returns what is at `path`; None if there is nothing, or the path is outside the root."""
        path = path and os.path.normpath(self.current / path)
        if not path or os.path.commonpath([path, self.root]) != str(self.root):
            return None
        found = self.tree
        for name in Path(path).relative_to(self.root).parts:
            found = found.entries.get(name) if isinstance(found, Folder) else None
        return found

    def _parent(self, path: str) -> tuple[Folder | None, str]:
        path = os.path.normpath(self.current / path)
        return self.find(os.path.dirname(path)), os.path.basename(path)

    def apply(self, name: str, arguments: str, result: int) -> bool:
        """Applies a call. Returns whether it concerns the files below the root."""
        strings = [_decoded(text) for text in _STRING.findall(arguments)]
        descriptors = [None if deleted else os.fsdecode(_decoded(path)) for path, deleted in _open_files(arguments)]
        if name in ("open", "openat", "creat"):
            return self._open(os.fsdecode(strings[0]), name == "creat" or arguments)
        if name.startswith("mkdir"):
            return self._put(os.fsdecode(strings[0]), Folder())
        if name.startswith(("unlink", "rmdir")):
            return self._put(os.fsdecode(strings[0]), None)
        if name.startswith(("rename", "link")):
            moved = self.find(os.fsdecode(strings[0]))
            if moved and name.startswith("rename"):
                self._put(os.fsdecode(strings[0]), None)
            return bool(moved) and self._put(os.fsdecode(strings[1]), moved)
        if name in ("sendfile", "copy_file_range"):
            return self._copy(name, descriptors, result)
        found = self.find(os.fsdecode(strings[0]) if name == "truncate" else descriptors[0])
        if found is None:
            return False
        if name in ("fsync", "fdatasync"):
            found.sync()
        elif name == "lseek":
            found.position = result
        elif name.endswith("truncate"):
            size = int(arguments.rsplit(", ", 1)[1])
            found.data[size:] = bytes(max(0, size - len(found.data)))
        elif name in ("write", "writev"):
            found.write(b"".join(strings)[:result], found.position)
            found.position += result
        else:  # pwrite64, pwritev
            found.write(b"".join(strings)[:result], int(re.findall(r", (\d+)", arguments)[-1]))
        return True

    def _open(self, path: str, flags: str | bool) -> bool:
        folder, name = self._parent(path)
        creates = flags is True or "O_CREAT" in flags
        if folder is None or (flags is not True and "O_TMPFILE" in flags):
            return False
        found = folder.entries.get(name)
        if found is None and creates:
            found = folder.entries[name] = File(len(self.files))
            self.files.append(found)
        if not isinstance(found, File):
            return False
        truncates = flags is True or "O_TRUNC" in flags
        if truncates:
            found.data.clear()
        found.position = len(found.data) if flags is not True and "O_APPEND" in flags else 0
        return creates or truncates

    def _put(self, path: str, item: File | Folder | None) -> bool:
        folder, name = self._parent(path)
        if folder is None:
            return False
        if item is None:
            folder.entries.pop(name, None)
        else:
            folder.entries[name] = item
        return True

    def _copy(self, name: str, descriptors: list, count: int) -> bool:
        """Applies a copy by the kernel, from one file's position to another's."""
        source, target = descriptors if name == "copy_file_range" else reversed(descriptors)
        copied, found = self.find(source), self.find(target)
        if found is None:
            return False
        data = copied.data if copied else Path(source).read_bytes()
        found.write(bytes(data[found.position : found.position + count]), found.position)  # both start at the start
        found.position += count
        return True

    def view(self, entries, data) -> dict[str, tuple[int, bytes] | None]:
        """Returns path -> (number of the file, its bytes); None for folders.

        Args:
            entries: folder -> its entries. data: file -> its bytes.
        """
        found, folders = {}, [("", self.tree)]
        while folders:
            prefix, folder = folders.pop()
            for name, item in entries(folder).items():
                if isinstance(item, Folder):
                    found[prefix + name] = None
                    folders.append((f"{prefix}{name}/", item))
                else:
                    found[prefix + name] = (item.number, data(item))
        return found

    def _unsynced_folders(self) -> Iterator[Folder]:
        folders = [self.tree]
        while folders:
            folder = folders.pop()
            if folder.entries != folder.durable:
                yield folder
            folders.extend(item for item in folder.entries.values() if isinstance(item, Folder))

    def crashes(self, choose: random.Random) -> Iterator[tuple[str, dict]]:
        """Yields (description, view) of what a power cut can leave at this moment."""
        yield "all names, synced bytes", self.view(lambda folder: folder.entries, lambda file: file.durable)
        yield "synced names and bytes", self.view(lambda folder: folder.durable, lambda file: file.durable)
        for late in self._unsynced_folders():
            yield (
                "all names but those of one folder, synced bytes",
                self.view(
                    lambda folder, late=late: folder.durable if folder is late else folder.entries,
                    lambda file: file.durable,
                ),
            )
        for _ in range(_RANDOM_CRASHES):
            yield (
                "some names, some bytes",
                self.view(
                    lambda folder: choose.choice((folder.entries, folder.durable)),
                    lambda file: choose.choice((bytes(file.data), file.durable)),
                ),
            )


def replay(trace: Path, root: Path, current: Path, seed: int = 1) -> tuple[int, list[str]]:
    """Cuts the power after each call of a trace.

    A file is whole if it has all bytes that are ever written to it, and a version if it has all its files at the end.
    Files and folders whose names start with `.tmp-` are temporary: nobody reads them.

    Returns:
        (number of cuts, what is wrong after them). A cut is good if every file and version is whole, and if there is a
        result.json only where its export is whole.
    """
    last = Disk(root, current)
    for call in calls(trace):
        last.apply(*call)
    whole = [bytes(file.data) for file in last.files]
    end = last.view(lambda folder: folder.entries, lambda file: whole[file.number])
    versions = {path: _below(end, path) for path in end if end[path] is None and Path(path).name.isdecimal()}
    disk, choose, cuts, wrong = Disk(root, current), random.Random(seed), 0, {}
    for call in calls(trace):
        if not disk.apply(*call) or call[0] == "lseek":
            continue
        cuts += 1
        for description, view in disk.crashes(choose):
            for problem in _problems(view, whole, versions, disk.root):
                wrong.setdefault(problem, f"cut {cuts} (after {call[0]}; {description}): {problem}")
    return cuts, list(wrong.values())


def _problems(view: dict, whole: list[bytes], versions: dict[str, set], root: Path) -> Iterator[str]:
    for path, file in view.items():
        if file and not any(part.startswith(".tmp-") for part in path.split("/")) and file[1] != whole[file[0]]:
            yield f"{path} has {len(file[1])} of {len(whole[file[0]])} bytes"
    for path, files in versions.items():
        if path in view and _below(view, path) != files:
            yield f"{path} lacks {sorted(files - _below(view, path))[:3]}"
    for path, file in view.items():
        if Path(path).name == "result.json" and file[1] == whole[file[0]]:
            export = os.path.relpath(json.loads(file[1])["export"], root)
            if export not in view:
                yield f"{path} is there without {export}"


def _below(view: dict, folder: str) -> set[str]:
    return {path for path in view if path.startswith(f"{folder}/")}


def _open_files(arguments: str) -> list[tuple[str, str]]:
    return _DESCRIPTOR.findall(arguments)


def _decoded(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
