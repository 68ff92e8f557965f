import numpy as np
import pytest

from pipelines.pretrained.outputs import text_features

SEQUENCE = np.float32([[[1, 2], [3, 4], [9, 9]]])
MEAN = [[2, 3]]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (np.float32([[5, 6]]), [[5, 6]]),
        ({"pooled_output": np.float32([[5, 6]]), "sequence_output": SEQUENCE}, [[5, 6]]),
        ({"sequence_output": SEQUENCE, "mask": np.array([[1, 1, 0]])}, MEAN),
        ({"default": np.float32([[5, 6]]), "ids": np.int32([[1]])}, [[5, 6]]),
    ],
)
def test_a_text_has_its_usual_output_or_the_mean_over_its_tokens(outputs, expected):
    np.testing.assert_allclose(text_features("module", outputs), expected)


def test_another_output_can_be_named_and_a_mask_given():
    outputs = {"pooled_output": np.float32([[5, 6]]), "tokens": SEQUENCE}
    np.testing.assert_allclose(text_features("module", outputs, np.array([[1, 1, 0]]), "tokens"), MEAN)


@pytest.mark.parametrize(
    ("outputs", "key", "message"),
    [
        ({"ids": np.int32([[1]])}, None, r"module is no encoder: its outputs \(ids\) are no features"),
        ({"vector": np.float32([[1]])}, None, "module has no output with a usual name, only vector: name it"),
        ({"vector": np.float32([[1]])}, "x", "module has no output 'x' with features, only vector: name it"),
    ],
)
def test_outputs_without_features_are_refused(outputs, key, message):
    with pytest.raises(ValueError, match=message):
        text_features("module", outputs, key=key, remedy=": name it")
