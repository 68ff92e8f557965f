import numpy as np
import pytest
import tensorflow as tf

from pipelines.export import saved_model
from pipelines.inspect.models import find
from pipelines.inspect.weights import load_network, require_recurrent, untrained_network
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
    tf.saved_model.save(saved_model._attributes(generator), str(tmp_path), signatures=signatures)
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
    with pytest.raises(UserError, match="no state"):
        require_recurrent(models.make_config("transformer"))


def test_the_forget_bias_is_set_in_all_layers():
    config = models.make_config("lstm")
    network = untrained_network(config, 20, forget_bias=3)
    for i in (1, 2):
        i_bias, f_bias, c_bias, o_bias = np.split(network.get_layer(f"recurrent_{i}").cell.bias.numpy(), 4)
        assert (f_bias == 3).all()
        assert not np.concatenate([i_bias, c_bias, o_bias]).any()
    assert (np.split(untrained_network(config, 20).get_layer("recurrent_1").cell.bias.numpy(), 4)[1] == 1).all()
    with pytest.raises(UserError, match="no forget gate"):
        untrained_network(models.make_config("gru"), 20, forget_bias=3)
    same = [untrained_network(config, 20, seed=s).get_layer("recurrent_1").cell.kernel.numpy() for s in (1, 1, 2)]
    assert (same[0] == same[1]).all() and (same[0] != same[2]).any()


def test_the_networks_of_a_classifier_and_a_tagger_have_the_weights_of_the_export(saved):
    for name in ("gru", "tagger"):
        model = find(saved(name), (name,))[0]
        _, network = load_network(model.exported, model.loaded)
        for weight, variable in zip(network.weights, model.variables(), strict=False):
            np.testing.assert_array_equal(weight.numpy(), variable.numpy())
