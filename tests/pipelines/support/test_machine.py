import importlib.metadata
import os

from pipelines.support import machine


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_other_and_missing_packages_are_named(tmp_path):
    numpy = importlib.metadata.version("numpy")
    lock = write(
        tmp_path / "lock",
        f"numpy=={numpy} ; python_version > '3' \\",
        "    --hash=sha256:00",
        "pandas==0.1 ; python_version < '3' \\",
        "pandas==0.2 \\",
        "needed-package==1.0",
        "of-another-system==1.0 ; sys_platform == 'x'",
        "# a==1",
    )
    requirements = write(tmp_path / "requirements", "needed-package==1.0  # its reason")
    assert machine.differences_from_lock(lock, requirements) == [
        f"pandas {importlib.metadata.version('pandas')} (the lock has 0.1 or 0.2)",
        "needed-package is missing (the lock has 1.0)",
    ]


def test_the_processor_memory_and_disk_are_found(tmp_path):
    found = machine.processor()
    assert 1 <= found["cores"] <= found["of"] == os.cpu_count() and found["name"]
    memory = machine.free_memory()
    assert memory is None or memory > 0
    assert machine.free_disk(tmp_path / "not" / "there") > 0


def test_gpus_are_those_that_nvidia_smi_lists(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpus() == []
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA X, 80 GiB, 1.2'\n")
    program.chmod(0o755)
    assert machine.gpus() == ["NVIDIA X, 80 GiB, 1.2"]
    program.write_text("#!/bin/sh\necho failed\nexit 9\n")
    assert machine.gpus() == []


def test_an_optional_package_beside_what_is_required(tmp_path):
    requirements = write(tmp_path / "requirements", "numpy[all,more]==0.1  # its reason", "numpy-other==3")
    numpy = importlib.metadata.version("numpy")
    assert machine.optional_package("numpy", requirements) == {"installed": numpy, "required": "0.1"}
    assert machine.optional_package("absent", requirements) == {"installed": None, "required": None}
    assert machine.optional_package("absent", tmp_path / "absent") == {"installed": None, "required": None}
