import dataclasses

import pytest

from serving.settings import Limits, Settings


def test_the_settings_of_a_running_server_cannot_change(tmp_path):
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings(tmp_path).rest_port = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        Limits().max_rows = 1


def test_the_server_is_local_by_default(tmp_path):
    assert Settings(tmp_path).host == "127.0.0.1"
