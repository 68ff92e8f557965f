import errno

import pytest
import tensorflow as tf

from pipelines.support.errors import UserError, is_disk_full, suggestion, too_long_name


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        tf.errors.ResourceExhaustedError(None, None, "saved_model.pb; No space left on device"),
    ],
)
def test_a_full_disk_is_recognized(error):
    assert is_disk_full(error)


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "No such file"), UserError("--epochs 0"), ValueError()])
def test_other_errors_are_not_a_full_disk(error):
    assert not is_disk_full(error)


def test_only_a_similar_name_is_suggested():
    assert suggestion("sise", ["size", "seed"]) == "; did you mean size?"
    assert suggestion("zzz", ["size", "seed"]) == ""
    assert suggestion("urteil", ["Satz", "URTEIL"]) == "; did you mean URTEIL?"


def test_a_name_that_is_too_long_for_a_file(tmp_path):
    with pytest.raises(OSError) as caught:
        (tmp_path / ("x" * 5000)).is_file()
    assert "... is too long for the name of a file: give the path of a file" in too_long_name(caught.value)
    assert too_long_name(FileNotFoundError(2, "No such file", "x")) is None
