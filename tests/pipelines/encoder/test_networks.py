import keras
import numpy as np
import pytest

from pipelines.encoder import networks
from pipelines.encoder.config import EncoderConfig

IDS = np.array([[5, 9, 7, 8, 6, 4], [5, 9, 7, 0, 0, 0]], "int32")


def make(model, direction, **flags):
    config = EncoderConfig(
        model=model, direction=direction, num_layers=2, hidden_size=8, window=8, vocabulary_size=40, **flags
    ).resolve()
    return config, networks.build(config, 40)


def test_bert_base_has_the_number_of_parameters_of_bert_base():
    config = EncoderConfig(model="transformer", direction="bidirectional", size="bert-base").resolve()
    blocks = 12 * (4 * 768 * 769 + 768 * 3072 + 3072 + 3072 * 768 + 768 + 4 * 768) + 2 * 768
    assert networks.build(config, 30_522).count_params() == 30_522 * 768 + blocks
    assert 105e6 < 30_522 * 768 + blocks < 112e6


@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_masked_positions_are_predicted_from_both_sides_and_not_from_padding(model):
    _, network = make(model, "bidirectional")
    logits = network({"ids": IDS, "positions": np.array([[2, 4], [1, 0]], "int32")}).numpy()
    assert logits.shape == (2, 2, 40)
    for column in (0, 5):  # tokens on either side of position 2
        changed = IDS.copy()
        changed[0, column] = 20
        other = network({"ids": changed, "positions": np.array([[2, 4], [1, 0]], "int32")}).numpy()
        assert np.abs(other[0, 0] - logits[0, 0]).max() > 1e-6
    alone = network({"ids": IDS[1:, :3], "positions": np.array([[1, 0]], "int32")}).numpy()
    np.testing.assert_allclose(alone[0], logits[1], atol=1e-5)


@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_positions_tell_the_order(direction):
    """With one block and no positions, the last token's features are those of a set of the tokens before it."""

    def features(positions, ids):
        flags = {"max_tokens": 8} if positions == "learned" else {}
        config = EncoderConfig(
            model="transformer", direction=direction, num_layers=1, hidden_size=8, window=8, positions=positions,
            vocabulary_size=40, **flags,
        ).resolve()  # fmt: skip
        config.check()
        keras.utils.set_random_seed(1)
        network = networks.encoder_network(*networks.reading_layers(config, networks.build(config, 40)))
        return network(np.array([ids], "int32"))["sequence_output"].numpy()[0, -1]

    for positions in ("none", "sinusoidal", "learned", "rotary"):
        same_order, other_order = features(positions, [5, 9, 7, 8]), features(positions, [9, 5, 7, 8])
        assert (np.abs(same_order - other_order).max() < 1e-5) == (positions == "none")


@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_the_export_has_the_outputs_of_all_layers_and_pools_the_last(model, direction):
    config, network = make(model, direction)
    outputs = networks.encoder_network(*networks.reading_layers(config, network))(IDS)
    assert [layer.shape for layer in outputs["encoder_outputs"]] == [(2, 6, 8)] * 2
    np.testing.assert_array_equal(outputs["mask"], IDS != 0)
    sequence = outputs["sequence_output"].numpy()
    expected = np.concatenate([sequence[1, 2], sequence[1, :3].mean(axis=0), sequence[1, :3].max(axis=0)])
    np.testing.assert_allclose(outputs["pooled_output"][1], expected, atol=1e-5)
    if model == "lstm":
        np.testing.assert_array_equal(sequence, outputs["encoder_outputs"][-1])
