import pytest
import tensorflow as tf

from pipelines.training import precision


@pytest.fixture
def cpu_info(tmp_path, monkeypatch):
    """Sets the content of /proc/cpuinfo on a machine without a GPU."""
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(precision, "CPU_INFO", path)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [])
    return lambda flags: path.write_text(f"processor\t: 0\nmodel name\t: amx_bf16 in a name\nflags\t\t: {flags}\n" * 2)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_policy_is_returned_unchanged(cpu_info, policy):
    cpu_info("fpu amx_bf16")
    assert precision.training_policy(policy) == policy


@pytest.mark.parametrize(
    ("flags", "policy"),
    [
        ("fpu sse avx512_bf16 amx_bf16 amx_tile", "mixed_bfloat16"),
        ("fpu sse avx2", "float32"),
        ("fpu amx_bf16_of_another_name", "float32"),
        ("", "float32"),
    ],
)
def test_auto_depends_on_the_flags_of_the_processor(cpu_info, flags, policy):
    cpu_info(flags)
    assert precision.training_policy("auto") == policy


def test_another_flag_can_be_added(cpu_info, monkeypatch):
    cpu_info("fpu avx512_bf16")
    monkeypatch.setattr(precision, "CPU_FLAGS", ("amx_bf16", "avx512_bf16"))
    assert precision.training_policy("auto") == "mixed_bfloat16"


def test_auto_is_float32_where_there_is_no_cpuinfo(cpu_info):
    assert precision.training_policy("auto") == "float32"  # `cpu_info` has written no file


@pytest.mark.parametrize(
    ("details", "policy"),
    [
        ({"compute_capability": (8, 0)}, "mixed_bfloat16"),
        ({"compute_capability": (9, 0)}, "mixed_bfloat16"),
        ({"compute_capability": (7, 5)}, "float32"),
        ({}, "float32"),
    ],
)
def test_with_a_gpu_auto_depends_on_its_compute_capability(cpu_info, monkeypatch, details, policy):
    cpu_info("fpu amx_bf16")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: ["the first", "another"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", {"the first": details}.__getitem__)
    assert precision.training_policy("auto") == policy
