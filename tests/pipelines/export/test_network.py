import numpy as np
import pytest
import tensorflow as tf

from pipelines.export import saved_model
from pipelines.export.network import load_network
from pipelines.support.errors import UserError
from tests.pipelines.language_model import models

pytestmark = pytest.mark.long  # they train or load models


class Saved:
    """What `load_network` needs of an export."""

    path = "saved_models/char-lm/1"

    def __init__(self, folder, task="char-lm", **settings):
        self._folder, self._card = folder, {"task": task, "config": settings}

    def card(self):
        return self._card

    def load(self):
        return tf.saved_model.load(str(self._folder))


@pytest.mark.parametrize("model", ["gru", "transformer"])
def test_the_network_of_an_export_computes_what_it_did(model, tmp_path):
    config, _, network, generator = models.make(model)
    signatures = {"encode": generator.encode.get_concrete_function()}
    tf.saved_model.save(saved_model.attributes(generator), str(tmp_path), signatures=signatures)
    settings = {name: value for name, value in vars(config).items() if name not in ("data", "valid")}
    restored_config, restored = load_network(Saved(tmp_path, **settings))
    ids = np.array([[2, 5, 6, 7]], np.int32)
    np.testing.assert_allclose(restored(ids), network(ids), atol=1e-6)
    assert (restored_config.model, restored_config.hidden_size) == (model, config.hidden_size)
    wrong = Saved(tmp_path, **(settings | {"hidden_size": 32}))
    with pytest.raises(UserError, match="another version"):
        load_network(wrong)


def test_other_exports_are_refused(tmp_path):
    with pytest.raises(UserError, match="of the task translation, whose networks are not built again"):
        load_network(Saved(tmp_path, task="translation"))
    with pytest.raises(UserError, match="n-gram"):
        load_network(Saved(tmp_path, model="ngram"))
