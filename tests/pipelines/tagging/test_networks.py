import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.runs import continuing
from pipelines.support.records import read_record, write_record
from pipelines.tagging import features, networks
from pipelines.training import checkpoints
from pipelines.training.checkpoints import Position
from tests.pipelines.small_runs import write_run
from tests.pipelines.tagging.small import EACH_KIND, SENTENCES, WORD_TAGS


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


@pytest.mark.parametrize("kind", EACH_KIND)
def test_a_network_with_new_words_and_tags_scores_the_old_ones_as_before(make_small, kind, tmp_path):
    made = make_small(kind)
    run = write_run(tmp_path, "first", task="tagging", config={})
    write_record(run / "result.json", read_record(run / "result.json", "") | {"classes": list(WORD_TAGS)})
    (run / "checkpoints").mkdir()
    checkpoints.save(run / "checkpoints" / "best.npz", made.model.weights, Position())
    grown = features.grown(made.features, [["zebras", "zzz"]] * 3, 100)
    assert grown.vocabulary_size == made.features.vocabulary_size + 2
    model = networks.build(made.config, grown, (*WORD_TAGS, "GADGET"), False)
    continuing.restore(dataclasses.replace(made.config, start_weights=str(run / "checkpoints" / "best.npz")), model)
    inputs = [[*SENTENCES[0], "zebras"], SENTENCES[1]]
    found = [
        of_network({name: each.to_tensor() for name, each in read(tf.ragged.constant(inputs)).items()}).numpy()
        for of_network, read in ((made.model, made.features), (model, grown))
    ]
    np.testing.assert_allclose(found[1][..., :3], found[0], rtol=1e-5, atol=1e-5)
    if made.config.crf:
        np.testing.assert_array_equal(
            model.get_layer("crf").transitions[:3, :3], made.model.get_layer("crf").transitions
        )
        assert not np.any(model.get_layer("crf").transitions[3])
