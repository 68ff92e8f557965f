import pytest

from pipelines.support.errors import UserError
from pipelines.transfer.config import TransferConfig

SHALLOW = ["embeddings", "layer_1"]
DEEP = ["embeddings", *(f"layer_{i}" for i in range(12)), "pooler"]


def test_few_texts_get_more_epochs_and_a_deep_encoder_a_lower_learning_rate():
    few, many = TransferConfig().complete(500, SHALLOW), TransferConfig().complete(20_000, DEEP)
    assert few.batch_size < many.batch_size and few.head_epochs > many.head_epochs and few.top_epochs > many.top_epochs
    small_bert = ["embeddings", *(f"layer_{i}" for i in range(4)), "pooler"]
    assert few.learning_rate > TransferConfig().complete(500, small_bert).learning_rate > many.learning_rate
    assert None not in (few.unfreeze_groups, few.epochs, many.unfreeze_groups, many.epochs)


def test_a_flag_wins_over_the_data():
    values = {"batch_size": 5, "head_epochs": 0, "head_learning_rate": 0.1, "top_epochs": 9, "unfreeze_groups": 3}
    config = TransferConfig(recipe="own", learning_rate=0.5, **values)
    assert config.complete(500, DEEP) == config


def test_only_groups_that_exist_are_unfrozen():
    assert TransferConfig().complete(500, ["embeddings"]).unfreeze_groups == 1
    assert TransferConfig().complete(500, []).top_epochs == 0


def test_what_is_drawn_anew_is_trained_from_the_first_stage_on():
    config = TransferConfig(reset_top=3, top_epochs=1).complete(500, DEEP)
    assert [stage.unfreeze_groups for stage in config.stages] == [3, 3]
    assert config.head_learning_rate < TransferConfig().complete(500, DEEP).head_learning_rate


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"reset_top": 3}, r"--reset-top 3.*at most 2 here \(embeddings, layer_1\)"),
        ({"reset_top": 2, "unfreeze_groups": 1}, "--unfreeze-groups 1.*the groups of --reset-top must be trained"),
    ],
)
def test_groups_that_cannot_be_drawn_anew_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        TransferConfig(encoder="bert", **values).complete(500, SHALLOW)


def test_the_stages_follow_each_other():
    config = TransferConfig(head_epochs=1, top_epochs=0, all_epochs=2).complete(500, DEEP)
    assert [stage.name for stage in config.stages] == ["head", "all"]
    assert [config.stage_at(epoch).name for epoch in range(4)] == ["head", "all", "all", "all"]


def test_modules_and_validation_are_part_of_the_record():
    config = TransferConfig(encoder="bert", valid="v.csv")
    assert config.module_handles() == {"encoder": "bert"} and config.data_files() == {"valid": "v.csv"}
    assert TransferConfig(encoder="bert", preprocessor="p").module_handles() == {"encoder": "bert", "preprocessor": "p"}


def test_by_default_the_encoder_is_trained_from_a_solved_head():
    config = TransferConfig(encoder="bert").resolve()
    assert config.recipe == "unfrozen"
    small, large = (config.complete(500, DEEP, size) for size in (384, 768))
    assert small.solve_head and small.ngrams and not small.head_epochs
    assert [stage.name for stage in small.stages] == ["top 13"]  # all but the embeddings
    assert small.learning_rate == 2 * large.learning_rate == pytest.approx(1e-4, rel=0.1)
    small.check()
    frozen = config.complete(500, [], 384)  # a module without trainable weights
    assert not frozen.trains and [stage.epochs for stage in frozen.stages] == [1]


@pytest.mark.parametrize("values", [{"top_epochs": 2}, {"solve_head": True}, {"drop_layers": 1}])
def test_a_flag_that_a_recipe_chooses_leaves_the_rest_to_the_user(values):
    config = TransferConfig(encoder="bert", **values).resolve()
    assert config.recipe == "own"
    complete = config.complete(500, DEEP, 384)
    assert {name: getattr(complete, name) for name in values} == values and not complete.ngrams


def test_split_batches_run_two_operations_in_parallel():
    assert TransferConfig().parallel_ops() == 2 and TransferConfig(split_batches=False).parallel_ops() is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"encoder": None}, "--encoder is missing"),
        ({"max_labels": 1}, "--max-labels 1"),
        ({"drop_layers": -1}, "--drop-layers -1"),
        ({"unfreeze_groups": 0}, "--unfreeze-groups 0"),
        ({"reset_top": -1}, "--reset-top -1"),
        ({"head_layers": -1}, "--head-layers -1"),
        ({"head_layers": 1, "head_size": 0}, "--head-size 0"),
        ({"head_size": 64}, "--head-size has no effect here: it needs --head-layers"),
        ({"drop_layers": 1, "reset_top": 1}, "--reset-top has no effect"),
        ({"recipe": "linear", "drop_layers": 1}, "--drop-layers has no effect here: --recipe chooses it"),
        ({"recipe": "auto", "folds": 3}, "--folds has no effect"),
        ({"solve_head": True, "head_layers": 1}, "--head-layers has no effect here: --solve-head"),
        ({"layer_decay": 0.0}, "--layer-decay 0.0"),
        ({"warmup_fraction": 1.5}, "--warmup-fraction 1.5"),
        ({"head_epochs": 0, "top_epochs": 0}, "--head-epochs 0"),
        ({"drop_layers": 1, "output_key": "x"}, "--output-key has no effect"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(values, message):
    with pytest.raises(UserError, match=message):
        TransferConfig(**{"encoder": "bert"} | values).resolve().check()
