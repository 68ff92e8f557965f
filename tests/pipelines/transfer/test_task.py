import dataclasses

import keras
import numpy as np
import pytest

from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.training.checkpoints import Position
from pipelines.transfer import task
from pipelines.transfer.config import TransferConfig
from tests.layers import hub_modules


@pytest.fixture(scope="module")
def splits():
    texts = np.array(["a gripping film", "the dull story"] * 10, dtype=object)
    data = Labelled(texts, np.arange(20, dtype=np.int32) % 2)
    return LabelledSplits(data, data, None, ("bad", "good"), {})


@pytest.fixture(scope="module")
def modules(tmp_path_factory, splits):
    folder = tmp_path_factory.mktemp("modules")
    hub_modules.save_bert(folder / "bert", dropout=0.1)
    hub_modules.save_preprocessor(folder / "preprocess")
    config = TransferConfig(encoder=str(folder / "bert"), preprocessor=str(folder / "preprocess"), head_epochs=1)
    return config, task.make_tokenizer(config, splits)


@pytest.fixture
def compiled(modules, splits, tmp_path):
    config = task.complete_config(modules[0], splits, modules[1])
    encoded = task.encode(config, splits, modules[1], tmp_path)
    model = task.build(config, splits, modules[1], None, training=True)
    task.compile_model(config, model, 30)
    return config, encoded, model


@pytest.mark.long
def test_the_learning_rate_falls_from_group_to_group(compiled):
    config, _, model = compiled
    model.optimizer.build(model.trainable_variables)
    names = list(model.get_layer("encoder").groups())
    factors = {
        name: model.optimizer._factors[model.optimizer._var_key(variables[0])]
        for name, variables in model.get_layer("encoder").groups().items()
    }
    assert names[-1] == "pooler" and factors["pooler"] == 1.0
    assert factors[names[-2]] == config.layer_decay and factors[names[0]] == config.layer_decay ** (len(names) - 1)


def test_fit_options_change_nothing_before_an_epoch_begins(compiled):
    config, encoded, model = compiled
    trainable = len(model.trainable_variables)
    options = task.fit_options(config, encoded, model)
    assert len(model.trainable_variables) == trainable and "train_step" not in vars(model)
    assert not options.split_batches and not options.save_within_epochs  # the module has dropout of its own
    options.on_epoch_begin(Position(epoch=0))
    assert len(model.trainable_variables) == 2  # the head
    options.on_epoch_begin(Position(epoch=1))
    assert len(model.trainable_variables) > 2


def test_top_groups_are_drawn_anew_before_a_new_training(modules, splits, tmp_path):
    config = task.complete_config(dataclasses.replace(modules[0], reset_top=2), splits, modules[1])
    encoded = task.encode(config, splits, modules[1], tmp_path)
    model = task.build(config, splits, modules[1], None, training=True)
    task.compile_model(config, model, 30)
    groups = model.get_layer("encoder").groups()
    before = {name: [variable.numpy() for variable in variables] for name, variables in groups.items()}
    options = task.fit_options(config, encoded, model)
    options.initialize()
    changed = [
        name
        for name, values in before.items()
        if any((new.numpy() != old).any() for new, old in zip(groups[name], values, strict=True))
    ]
    assert changed == list(groups)[-2:] == ["layer_2", "pooler"]
    options.on_epoch_begin(Position(epoch=0))
    assert len(model.trainable_variables) == 2 + sum(len(groups[name]) for name in changed)


def test_the_validator_counts_the_trainable_weights(compiled, modules):
    config, encoded, model = compiled
    scores = task.make_validator(config, modules[1], encoded, model)()
    assert set(scores) == {"val_loss", "val_accuracy", "trainable_weights"}
    assert scores["trainable_weights"] == sum(keras.ops.size(variable) for variable in model.trainable_variables)


def test_the_servable_labels_strings(compiled, modules, splits):
    config, _, model = compiled
    servable = task.make_servable(config, splits, modules[1], model)
    requests = task.example_requests(servable)
    assert set(requests) == set(servable.signatures()) == {"serving_default", "classes"}
    outputs = servable.classify(requests["serving_default"]["text"])
    np.testing.assert_allclose(outputs["probabilities"].numpy().sum(axis=1), 1, atol=1e-5)
