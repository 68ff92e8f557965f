import sys

import pytest

from pipelines.support import kernels

OWN = {"environment": kernels.OWN_KERNELS}
OTHER = {"environment": None}


@pytest.mark.parametrize(
    ("cards", "given", "expected"),
    [
        ([OWN], {}, kernels.OWN_KERNELS),
        ([OWN, OWN], {}, kernels.OWN_KERNELS),
        ([OWN, OTHER], {}, {}),
        ([OTHER], {}, {}),
        ([{}], {}, {}),
        ([], {}, {}),
        ([OWN], {kernels.ONEDNN: "1"}, {kernels.ONEDNN: "1"}),
        ([{"environment": {"PATH": "0", kernels.ONEDNN: "7"}}], {}, {}),
        ([{"environment": {"PATH": "0", kernels.ONEDNN: "0"}}], {}, kernels.OWN_KERNELS),
    ],
)
def test_what_all_cards_recommend_is_set_unless_the_user_has_set_it(cards, given, expected, monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    environment = dict(given)
    assert kernels.choose(cards, environment) == (environment != given)
    assert environment == expected


def test_nothing_is_set_after_the_import_of_tensorflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", object())
    environment = {}
    assert not kernels.choose([OWN], environment) and environment == {}
