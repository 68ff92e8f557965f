import subprocess
import sys

import pytest

from tests.command_line import ROOT


@pytest.mark.long
def test_any_file_is_read_or_refused_with_bounded_memory():
    """See read_anything.py: damaged and random files of all formats, and cells of 1 GiB."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.pipelines.data.read_anything"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr[-3000:]
