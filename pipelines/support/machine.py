"""What is known about this machine without TensorFlow: packages, processor, memory, disk, GPU."""

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Features of processors that make training faster, as Linux names them.
CPU_FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!]+)", re.MULTILINE)
_SECONDS = 20  # for nvidia-smi


def differences_from_lock(lock: Path, requirements: Path) -> list[str]:
    """Compares the installed packages with a lock file.

    A lock file holds for several systems and versions of Python. So it may have several versions of a package, and
    packages that this system does not need: only those that Unroll itself imports must be there.

    Args:
        lock, requirements: lines `name==version`, which may go on with markers or a comment.

    Returns:
        One text per package that is missing or has another version; [] if there is none.
    """
    needed = set(_versions(requirements))
    found = []
    for name, locked in _versions(lock).items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name in needed:
                found.append(f"{name} is missing (the lock has {locked[0]})")
            continue
        if version not in locked:
            found.append(f"{name} {version} (the lock has {' or '.join(locked)})")
    return found


def optional_package(name: str, requirements: Path) -> dict[str, str | None]:
    """Returns the "installed" version of a package and the one that a file of requirements asks for, "required".

    Each is None if there is none.
    """
    installed = None
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        installed = importlib.metadata.version(name)
    lines = requirements.read_text(encoding="utf-8") if requirements.is_file() else ""
    match = re.search(rf"^{re.escape(name)}(?:\[[^]]*])?==([A-Za-z0-9.+!]+)", lines, re.MULTILINE)
    return {"installed": installed, "required": match[1] if match else None}


def processor() -> dict:
    """Returns the processor: "name", "cores" that this process may use, "of" all cores, and "features"."""
    lines = []
    with contextlib.suppress(OSError):  # not Linux
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    values = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = set((values.get("flags") or values.get("Features") or "").split())
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "name": values.get("model name") or platform.processor() or platform.machine(),
        "cores": usable,
        "of": os.cpu_count(),
        "features": [feature for feature in CPU_FEATURES if feature in flags],
    }


def free_memory() -> int | None:
    """Returns the bytes of memory that a new process can use; None if that is unknown.

    In a container it is what the container's limit leaves, if that is less.
    """
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return None
    if match is None:
        return None
    available = int(match[1]) * 1024
    with contextlib.suppress(OSError, ValueError):  # no limit: the file is missing, or says "max"
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
        available = min(available, max(0, limit))
    return available


def free_disk(folder: Path) -> int:
    """Returns the free bytes of the disk that has `folder`, or where it would be made."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def gpus() -> list[str]:
    """Returns the names of the NVIDIA GPUs; [] if there are none, or the driver does not answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return process.stdout.splitlines() if process.returncode == 0 else []


def python() -> dict:
    """Returns "version", "executable" and "system"."""
    system = f"{platform.system()} {platform.machine()}"
    return {"version": platform.python_version(), "executable": sys.executable, "system": system}


def _versions(path: Path) -> dict[str, list[str]]:
    """Returns package -> its versions in a file of requirements."""
    found: dict[str, list[str]] = {}
    for name, version in _PINNED.findall(path.read_text(encoding="utf-8")):
        found.setdefault(name.lower(), []).append(version)
    return found
