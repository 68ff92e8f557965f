import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import unroll
from tests.command_line import ROOT
from tests.pipelines.pretrained import hub_server
from tests.pipelines.pretrained.checkpoints import TEXTS, write_bert


@pytest.mark.long
def test_a_checkpoint_is_a_function_of_texts_and_a_step_of_a_pipeline(tmp_path):
    encoder = unroll.load_encoder(str(write_bert(tmp_path)))
    vectors = encoder(TEXTS)
    assert vectors.shape == (len(TEXTS), 8) and vectors.dtype == np.float32
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], vectors[0], atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).handle, encoder.handle)
    pipeline = make_pipeline(encoder, LogisticRegression(C=100))
    assert pipeline.fit(TEXTS * 2, [0, 1, 1, 0] * 2).predict(TEXTS[:2]).tolist() == [0, 1]


@pytest.mark.long
def test_a_layer_takes_a_repository_and_trains(tmp_path):
    """A process of its own, which reads the variables of huggingface_hub."""
    with hub_server.serve(write_bert(tmp_path / "bert")) as hub:
        environment = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        process = subprocess.run(
            [sys.executable, "-c", LAYER], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True
        )
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout.split() == ["[None,", "8]", "True", "layer_1"]


LAYER = """
import keras, unroll
text = keras.Input((), dtype="string")
encoder = unroll.HubEncoder("hf://org/tiny", output_key="pooled_output")
vectors = encoder(text)
encoder.unfreeze(top=2)
model = keras.Model(text, keras.layers.Dense(1)(vectors))
print(list(vectors.shape), len(model.trainable_weights) > 4, list(encoder.groups())[1])
"""


@pytest.mark.long
def test_the_layer_alone_names_where_such_handles_are_read():
    with pytest.raises(ValueError, match="HubEncoder: hf://x: write hf://ORG/NAME"):
        unroll.HubEncoder("hf://x")
    code = "from layers.hub_module import resolve\nresolve('hf://org/tiny')"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "unroll.HubEncoder, after `import unroll`" in process.stderr


def test_mistakes_are_user_errors():
    with pytest.raises(unroll.UserError, match="there is no such folder"):
        unroll.load_encoder("nowhere").encode(["a"])
    with pytest.raises(unroll.UserError, match="hf://ORG/NAME"):
        unroll.load_encoder("hf://x").encode(["a"])
