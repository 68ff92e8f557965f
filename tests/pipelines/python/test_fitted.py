import gc
import os
import pickle

from pipelines.python import fitted
from pipelines.python.fitted import FittedExport


def an_export(folder):
    path = folder / "spam" / "2"
    (path / "variables").mkdir(parents=True)
    (path / "variables" / "data").write_bytes(b"\0weights")
    (path / "model_card.json").write_text('{"task": "classification"}')
    return path


def test_an_export_knows_its_name_and_card(tmp_path):
    export = FittedExport(an_export(tmp_path))
    assert export.exported.title == "spam/2" and export.card == {"task": "classification"}


def test_a_pickle_holds_the_files(tmp_path):
    path = an_export(tmp_path)
    content = pickle.dumps(FittedExport(path))
    assert b"unroll" in content and b"pipelines" not in content
    for file in [file for file in path.rglob("*") if file.is_file()]:
        file.unlink()
    copy = pickle.loads(content)
    assert (copy.exported.path / "variables" / "data").read_bytes() == b"\0weights"
    assert copy.card == {"task": "classification"}
    folder = copy.exported.path
    del copy
    gc.collect()
    assert not folder.exists()


def test_a_temporary_folder_goes_with_its_owner_but_not_with_a_copy_in_another_process(monkeypatch):
    class Owner:
        pass

    owner, other = Owner(), Owner()
    folder, kept = fitted.temporary_folder(owner), fitted.temporary_folder(other)
    assert folder.is_dir() and folder.name.startswith(fitted.PREFIX)
    del owner
    gc.collect()
    assert not folder.exists()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        del other
        gc.collect()
    assert kept.is_dir()
    kept.rmdir()
