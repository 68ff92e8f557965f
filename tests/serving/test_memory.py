"""The limit on the arenas of malloc, and the memory that it returns."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from serving import memory

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = """
import ctypes, os, sys, tempfile, threading
from serving import memory

if sys.argv[1] == "limited":
    assert memory.limit_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
wait = threading.Barrier(33)

def allocate():
    libc.malloc(ctypes.c_size_t(4096))  # a thread's first allocation chooses its arena
    wait.wait()

for _ in range(32):
    threading.Thread(target=allocate, daemon=True).start()
wait.wait()
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, stream)
libc.fclose(stream)
"""


def count_arenas(mode: str, path: Path) -> int:
    subprocess.run([sys.executable, "-c", SCRIPT, mode, str(path)], cwd=ROOT, check=True)
    return path.read_text().count("<heap ")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_many_threads_share_a_few_arenas(tmp_path, monkeypatch):
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    cores = os.cpu_count()
    assert count_arenas("limited", tmp_path / "limited") <= max(2, cores)
    assert count_arenas("default", tmp_path / "default") > max(2, cores)


def test_the_environment_takes_precedence(monkeypatch):
    monkeypatch.setenv("MALLOC_ARENA_MAX", "7")
    assert not memory.limit_arenas()


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not memory.limit_arenas()


RETURNING = """
import ctypes
from pathlib import Path
from serving import memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(65536) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, 65536)
for block in blocks[:-1]:  # the last one keeps malloc from returning the others
    libc.free(block)
before = resident()
memory.return_freed()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_memory_that_was_freed_is_returned():
    command = [sys.executable, "-c", RETURNING]
    returned = int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    assert returned > 50_000_000


def test_other_c_libraries_return_memory_themselves(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    memory.return_freed()
