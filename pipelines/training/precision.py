"""The dtype policy of a training."""

from pathlib import Path

import tensorflow as tf

CPU_INFO = Path("/proc/cpuinfo")
CPU_FLAGS = ("amx_bf16",)  # of the processors on which mixed_bfloat16 is faster, measured with benchmarks/precision.py
COMPUTE_CAPABILITY = (8, 0)  # of the first NVIDIA GPUs that multiply bfloat16


def training_policy(precision: str) -> str:
    """Returns the name of the Keras dtype policy for `precision`.

    Args:
        precision: a policy, which is returned unchanged, or "auto": mixed_bfloat16 where the hardware multiplies it
            faster.
    """
    if precision != "auto":
        return precision
    return "mixed_bfloat16" if _multiplies_bfloat16_faster() else "float32"


def _multiplies_bfloat16_faster() -> bool:
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        return details.get("compute_capability", (0, 0)) >= COMPUTE_CAPABILITY
    return any(flag in _cpu_flags() for flag in CPU_FLAGS)


def _cpu_flags() -> set[str]:
    """Returns the features of the processor as Linux names them; none on other systems."""
    if not CPU_INFO.exists():
        return set()
    lines = (line for line in CPU_INFO.read_text().splitlines() if line.startswith("flags"))
    return set(next(lines, "").partition(":")[2].split())
