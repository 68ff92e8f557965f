import keras
import numpy as np
import pytest

from pipelines.classification import members, networks, task
from pipelines.labelled.calibration import calibrate
from pipelines.linear import limits, ngrams
from tests.pipelines.classification.conftest import make


@pytest.fixture(scope="module")
def small():
    return make(model="best", max_ngrams=300)


@pytest.mark.long
def test_the_network_of_columns_computes_what_the_model_does(small, tmp_path):
    encoded = task.encode(small.config, small.splits, small.tokenizer, tmp_path)
    texts = encoded.train | {networks.COLUMNS: encoded.columns}
    inputs = {name: values[:6].to_tensor() for name, values in texts.items()}
    model = networks.of_columns(small.model)
    assert [weight.path for weight in model.weights] == [weight.path for weight in small.model.weights]
    usual = small.model({name: inputs[name] for name in ("ids", "characters")}, training=False)
    np.testing.assert_allclose(model(inputs, training=False), usual, atol=1e-5)


@pytest.mark.long
def test_the_validator_scores_both_members_together(small, tmp_path):
    encoded = task.encode(small.config, small.splits, small.tokenizer, tmp_path)
    hashed = ngrams.hash_texts(encoded.valid, **small.config.ngram_lengths(2))
    columns = encoded.valid | {networks.COLUMNS: ngrams.columns_of(hashed, encoded.telling.hashes)}
    valid = small.splits.valid
    layers = [small.model.get_layer(name) for name in (networks.NETWORK_LOGITS, networks.LINEAR_LOGITS)]
    both = keras.Model(small.model.input, [layer.output for layer in layers])
    logits = both({name: values.to_tensor() for name, values in encoded.valid.items()})
    scores = calibrate([each.numpy() for each in logits], valid.labels).scores(valid.labels)
    expected = {f"val_{name}": value for name, value in scores.items()}
    for inputs in (encoded.valid, columns):
        scores = members.validator(small.config, small.model, inputs, valid)()
        assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.long
def test_a_network_that_does_not_help_is_left_out(small):
    random = make(model="best", max_ngrams=300, scale=100.0)  # its logits are huge and wrong
    assert random.servable.calibration.factors[0] < 0.02 * random.servable.calibration.factors[1]
    names = {signature.name for signature in random.servable.classify.get_concrete_function().variables}
    assert not any(networks.NGRAM_PROJECTION in name and "kernel" in name for name in names)
    # The linear model alone answers texts that are shorter than those of training.
    fading = [each.model.get_layer(networks.NGRAM_LOGITS).fading for each in (make(model="linear"), random)]
    assert fading == [limits.FADING, limits.FADING]
