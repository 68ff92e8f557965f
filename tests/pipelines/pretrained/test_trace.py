import numpy as np
import pytest
import tensorflow as tf

from tests.pipelines.pretrained.conftest import TEXTS


@pytest.mark.long
def test_the_trace_has_the_states_of_every_layer(encoder):
    values = encoder.signatures()["trace"](text=tf.constant(TEXTS))
    assert values["tokens"][1].numpy().tolist() == [b"<start>", b"a", b"dog", b"<end>", b"", b""]
    assert values["lengths"].numpy().tolist() == [6, 4, 2] and values["cut"].numpy().tolist() == [True, False, False]
    outputs = encoder.__call__(tf.constant(TEXTS), training=False)
    mask = tf.cast(outputs["mask"], tf.float32)[:, :, None]
    np.testing.assert_allclose(values["layer_1_hidden"], outputs["encoder_outputs"][0] * mask, atol=1e-6)
    assert values["layer_1_forget_gate"].shape == (3, 6, 8)
