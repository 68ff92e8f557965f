import keras
import numpy as np
import pytest

from pipelines.tagging import networks
from tests.pipelines.tagging.small import EACH_KIND


@pytest.mark.parametrize("kind", EACH_KIND)
def test_a_training_step_changes_every_weight(make_small, kind):
    made = make_small(kind)
    model = keras.models.clone_model(made.model)
    rng = np.random.default_rng(0)
    shape = (4, 5)
    sizes = {"words": made.features.vocabulary_size, "spellings": networks.NUM_SPELLINGS, "affixes": 50}
    inputs = {name: rng.integers(1, size, shape + (7,) * (name == "affixes")) for name, size in sizes.items()}
    if "characters" in model.input:
        inputs["characters"] = rng.integers(1, made.features.num_characters, (*shape, 6))
    inputs["words"][1:, 3:] = 0
    crf = model.get_layer("crf")
    assert crf.trainable == made.config.crf
    model.trainable = True
    crf.trainable = made.config.crf
    trains_with = {name: each.astype(np.int32) for name, each in inputs.items()}
    old = {weight.path: weight.numpy().copy() for weight in model.weights}
    model.compile("adam", crf.loss, run_eagerly=True)
    model.fit(trains_with, rng.integers(0, 3, shape), verbose=0)
    unchanged = {weight.path for weight in model.weights if (old[weight.path] == weight.numpy()).all()}
    assert unchanged == (set() if made.config.crf else {weight.path for weight in crf.weights})
