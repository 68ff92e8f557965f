import pytest

from pipelines.transfer.module_seeds import _random_nodes, _read, has_random_ops, set_seeds
from tests.layers import hub_modules


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    hub_modules.save_bert(folder, dropout=0.1)
    model = _read(folder)
    for node in _random_nodes(model):  # a seed that an earlier test has set in this process is in them
        node.attr["seed"].i = node.attr["seed2"].i = 0
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())
    return folder


def seeds(folder):
    return [(node.attr["seed"].i, node.attr["seed2"].i) for node in _random_nodes(_read(folder))]


def test_only_a_module_with_dropout_has_random_operations(bert, tmp_path):
    hub_modules.save_sentences(tmp_path)
    assert has_random_ops(bert) and not has_random_ops(tmp_path)


def test_every_random_operation_gets_a_seed_of_its_own_and_keeps_it(bert):
    set_seeds(bert, 7)
    seeded = seeds(bert)
    assert all(first == 7 for first, _ in seeded) and len({second for _, second in seeded}) == len(seeded) > 0
    set_seeds(bert, 8)
    assert seeds(bert) == seeded
