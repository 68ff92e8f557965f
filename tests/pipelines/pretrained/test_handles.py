import pytest

from pipelines.pretrained import handles
from pipelines.support.errors import UserError


@pytest.mark.parametrize(("handle", "message"), [("absent", "there is no such folder"), (".", "is not a SavedModel")])
def test_what_is_no_module_is_refused(handle, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"--encoder {handle}.*{message}"):
        handles.module_folder(handle)
