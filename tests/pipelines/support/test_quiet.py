import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.support.quiet import capture_stderr_descriptor, hidden
from tests.command_line import ROOT


def test_what_c_code_writes_to_stderr_is_hidden(capfd):
    with capture_stderr_descriptor():
        os.write(2, b"a line of C++\n")
    os.write(2, b"visible\n")
    assert capfd.readouterr().err == "visible\n"


def test_what_was_hidden_is_printed_if_the_block_fails(capfd):
    with pytest.raises(ImportError):
        with capture_stderr_descriptor():
            os.write(2, b"why it failed\n")
            raise ImportError
    assert capfd.readouterr().err == "why it failed\n"


def test_a_hidden_package_cannot_be_imported_within_the_block(monkeypatch):
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with hidden(["wave", "json"]):
        import json  # it is imported already

        assert json.dumps([]) == "[]"
        with pytest.raises(ModuleNotFoundError):
            import wave
    import wave

    assert wave.open


def import_in_a_process(code):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS"))}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


@pytest.mark.long
def test_tensorflow_is_imported_in_silence_with_the_number_of_parallel_operations():
    code = (
        "from pipelines.support.quiet import import_tensorflow; import_tensorflow(parallel_ops=2)\n"
        "import keras, tensorflow, tensorflow_text\n"
        "print(keras.backend.backend())\n"
        "import os; print(os.environ['TF_NUM_INTEROP_THREADS'], os.environ['TF_NUM_INTRAOP_THREADS'])\n"
        "import sys; print([name for name in ('sklearn', 'matplotlib', 'jax', 'IPython') if name in sys.modules])"
    )
    process = import_in_a_process(code)
    assert (process.returncode, process.stderr) == (0, "")
    lines = process.stdout.splitlines()
    assert lines[0] == "tensorflow"
    assert lines[1] == f"2 {max(1, os.cpu_count() // 2)}"
    assert lines[2] == "[]"


@pytest.mark.long
@pytest.mark.parametrize("keeps_memory", [True, False])
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_the_memory_of_a_large_tensor_is_kept_or_returned(keeps_memory):
    code = (
        "import os; os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'\n"  # the kernels of oneDNN always keep it
        f"from pipelines.support.quiet import import_tensorflow; import_tensorflow(keeps_memory={keeps_memory})\n"
        "import tensorflow as tf\n"
        "from pathlib import Path\n"
        "resident_pages = lambda: int(Path('/proc/self/statm').read_text().split()[1])\n"
        "x = tf.ones([2**24]); before = resident_pages(); del x; print((before - resident_pages()) / before)"
    )
    process = import_in_a_process(code)
    assert process.returncode == 0, process.stderr
    assert (float(process.stdout) < 0.01) == keeps_memory
