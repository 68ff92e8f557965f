import numpy as np
import pytest
from scipy import special

from pipelines.labelled.calibration import calibrate, calibrate_together, logits_of


def texts(rows=2000, classes=3, seed=0):
    """Logits from which labels are drawn, and the labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, classes)) * 2
    labels = np.array([rng.choice(classes, p=p) for p in special.softmax(logits, axis=1)])
    return logits, labels


@pytest.mark.parametrize("temperature", [0.25, 1.0, 5.0])
def test_the_factor_undoes_the_temperature(temperature):
    logits, labels = texts()
    calibration = calibrate([temperature * logits], labels)
    assert calibration.factors[0] * temperature == pytest.approx(1, rel=0.1)
    expected = special.softmax(logits, axis=1)
    np.testing.assert_allclose(calibration.probabilities, expected, atol=0.06)


def test_several_labels_have_one_factor_too():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 4)) * 2
    labels = (rng.random(logits.shape) < special.expit(logits)).astype(int)
    calibration = calibrate([3 * logits], labels)
    assert calibration.factors[0] == pytest.approx(1 / 3, rel=0.1)
    scores = calibration.scores(labels)
    expected = -np.where(labels, special.log_expit(logits), special.log_expit(-logits)).mean()
    assert scores["loss"] == pytest.approx(expected, abs=0.005)
    assert scores["accuracy"] == pytest.approx(((logits > 0) == (labels == 1)).mean(), abs=0.001)


def test_a_model_that_does_not_help_gets_nothing():
    logits, labels = texts()
    noise = np.random.default_rng(1).normal(size=logits.shape) * 5
    first, second = calibrate([noise, logits], labels).factors
    assert first == 0 and second == pytest.approx(1, rel=0.1)


def test_two_models_with_errors_of_their_own_share():
    logits, labels = texts()
    rng = np.random.default_rng(1)
    members = [logits + rng.normal(size=logits.shape) * 2 for _ in range(2)]
    calibration = calibrate(members, labels)
    assert calibration.factors[0] == pytest.approx(calibration.factors[1], rel=0.3)
    alone = [calibrate([each], labels).scores(labels)["loss"] for each in members]
    assert calibration.scores(labels)["loss"] < min(alone) - 0.05


def test_few_texts_hardly_move_the_factors():
    logits, labels = texts(rows=4)
    members = [logits, logits[::-1]]
    assert all(0.2 < factor < 0.8 for factor in calibrate(members, labels).factors)
    first, second = calibrate(members, labels, (0, 1)).factors
    assert first < 0.3 and 0.7 < second < 1.3


def test_the_probabilities_of_a_text_do_not_depend_on_its_own_label():
    logits, labels = texts(rows=100)
    others = labels.copy()
    others[::2] = (others[::2] + 1) % 3
    before, after = (calibrate([logits], each).probabilities for each in (labels, others))
    np.testing.assert_array_equal(before[::2], after[::2])  # these are by the factor of the other half
    assert (before[1::2] != after[1::2]).all()


@pytest.mark.parametrize("multi_label", [False, True])
def test_probabilities_have_logits(multi_label):
    probabilities = np.array([[0.2, 0.8], [1.0, 0.0]])
    logits = logits_of(probabilities, multi_label)
    again = special.expit(logits) if multi_label else special.softmax(logits, axis=1)
    np.testing.assert_allclose(again, probabilities, atol=1e-6)


def test_together_each_model_has_its_share_and_its_own_scores(capsys):
    logits, labels = texts()
    rng = np.random.default_rng(1)
    network, of_ngrams = (logits + rng.normal(size=logits.shape) * noise for noise in (1.5, 2.5))
    found = calibrate_together(network, of_ngrams, labels)
    alone = [calibrate([each], labels).scores(labels) for each in (network, of_ngrams)]
    shares = [factor / sum(found.factors) for factor in found.factors]
    assert found.members == (
        {"name": "network", "share": shares[0], **alone[0]},
        {"name": "n-grams", "share": shares[1], **alone[1]},
    )
    assert 0.5 < shares[0] < 1
    assert f"{shares[0]:.0%} are the network's" in capsys.readouterr().err
