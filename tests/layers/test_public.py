"""The public names of `layers`, their examples, and docs/layers.md."""

import ast
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import layers
from tests.layers.checks import close

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
LAYERS = [name for name in layers.__all__ if isinstance(getattr(layers, name), type)]


@pytest.mark.parametrize("name", LAYERS)
def test_every_public_layer_is_documented_and_registered(name):
    layer = getattr(layers, name)
    assert f"`{name}" in PAGE or f" {name}(" in PAGE
    assert "Example:" in layer.__doc__
    assert keras.saving.get_registered_name(layer) == f"unroll>{name}"


@pytest.mark.any_backend
@pytest.mark.parametrize("name", LAYERS)
def test_the_example_gives_the_documented_values(name):
    namespace = {"np": np, "keras": keras, **{each: getattr(layers, each) for each in layers.__all__}}
    lines = doctest.DocTestParser().get_examples(getattr(layers, name).__doc__)
    assert lines
    for line in lines:
        if line.want:
            expected, got = ast.literal_eval(line.want.strip()), eval(line.source, namespace)
            # The examples write shapes as tuples and values as lists.
            close(np.array(got) if isinstance(expected, tuple) else got, np.array(expected), atol=1e-3)
        else:
            exec(line.source, namespace)


def test_the_code_in_the_documentation_runs():
    namespace = {"target": keras.Input((None, 64))}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, namespace)


@pytest.mark.long
@pytest.mark.any_backend
def test_without_tensorflow():
    """With the JAX backend, `import layers` imports neither TensorFlow nor the pipelines."""
    pytest.importorskip("jax")
    script = (
        "import sys, layers; print([n for n in ('tensorflow', 'tensorflow_text', 'pipelines') if n in sys.modules])"
    )
    environment = {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)}
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert process.stdout.strip() == "[]", process.stderr
