import numpy as np
import pytest

from pipelines.export.network import load_network
from pipelines.inspect.models import find
from pipelines.inspect.weights import require_recurrent, untrained_network
from pipelines.support.errors import UserError
from tests.pipelines.language_model import models

pytestmark = pytest.mark.long  # they train or load models


def test_networks_without_a_state_are_refused():
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
