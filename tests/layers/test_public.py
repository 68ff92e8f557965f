"""What `import layers` offers, and whether its page tells the truth."""

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

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", layers.__all__)
def test_every_public_layer_is_documented_and_registered(name):
    layer = getattr(layers, name)
    assert f"`{name}" in PAGE or f" {name}(" in PAGE
    assert "Example:" in layer.__doc__
    assert keras.saving.get_registered_name(layer) == f"unroll>{name}"


@pytest.mark.parametrize("name", layers.__all__)
def test_its_example_gives_what_it_shows(name):
    names = {"keras": keras, "np": np, **{public: getattr(layers, public) for public in layers.__all__}}
    examples = doctest.DocTestParser().get_examples(getattr(layers, name).__doc__)
    assert examples
    for example in examples:
        if not example.want:
            exec(example.source, names)
            continue
        got, shown = eval(example.source, names), ast.literal_eval(example.want.strip())
        if isinstance(shown, tuple):  # shapes
            assert tuple(got) == shown
        else:
            np.testing.assert_allclose(keras.ops.convert_to_numpy(got), shown, atol=1e-3)


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
