"""What `import layers` offers, and whether its page and its examples tell the truth."""

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


@pytest.mark.parametrize("name", layers.__all__)
def test_every_public_layer_is_documented_and_registered(name):
    layer = getattr(layers, name)
    assert f"`{name}" in PAGE or f" {name}(" in PAGE
    assert "Example:" in layer.__doc__
    assert keras.saving.get_registered_name(layer) == f"unroll>{name}"


@pytest.mark.parametrize("name", layers.__all__)
def test_the_example_runs_and_gives_what_it_shows(name):
    offered = {each: getattr(layers, each) for each in layers.__all__}
    names = {"np": np, "keras": keras, **offered}
    lines = doctest.DocTestParser().get_examples(getattr(layers, name).__doc__)
    assert lines
    for line in lines:
        if line.want:
            shown, got = ast.literal_eval(line.want.strip()), eval(line.source, names)
            # Shapes are shown as tuples, values as lists.
            close(np.array(got) if isinstance(shown, tuple) else got, np.array(shown), atol=1e-3)
        else:
            exec(line.source, names)


def test_the_page_runs():
    names = {"target": keras.Input((None, 64))}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block, names)


def test_without_tensorflow():
    """With another backend `import layers` loads no TensorFlow; nor does it load text, files or pipelines."""
    pytest.importorskip("jax")
    script = "import sys, layers; print([n for n in ('tensorflow', 'tensorflow_text', 'pipelines') if n in sys.modules])"
    environment = {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)}
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert process.stdout.strip() == "[]", process.stderr
