import pytest

from pipelines.learn.figures.shapes import NUM_LAYERS, compute, transformer_shapes


@pytest.mark.long
def test_the_counts_are_those_of_the_paper_and_the_shapes_those_of_the_network():
    found, lesson = compute(), transformer_shapes()
    # Vaswani et al. 2017, figure 1: two sublayers in a block of the encoder, three in one of the decoder.
    assert found.counts["skip connections"] == (2 * NUM_LAYERS, 3 * NUM_LAYERS)
    assert found.counts["feed-forward networks"] == (NUM_LAYERS, NUM_LAYERS)
    assert found.counts["attentions"] == (NUM_LAYERS, 2 * NUM_LAYERS)
    assert found.shapes["encoder_6"] == (2, 7, 512) and found.shapes["decoder_6"] == (2, 5, 512)
    assert found.shapes["logits"] == (2, 5, 1000)
    d, m, blocks = 512, 1024, NUM_LAYERS
    attention, norm, feed_forward = 4 * d * (d + 1), 2 * d, (d + 1) * m + (m + 1) * d
    in_blocks = blocks * (3 * attention + 5 * norm + 2 * feed_forward)
    rest = found.parameters - in_blocks
    assert 1000 * d <= rest <= 2 * 1000 * d + 10_000, "the embedding, and the last norms"
    assert "5 N skip connections, 2 N feed-forward networks" in lesson.steps[4].text
    assert "[2, 5, 1000]" in lesson.steps[3].drawing and "[2, 7, 512]" in lesson.steps[2].drawing
