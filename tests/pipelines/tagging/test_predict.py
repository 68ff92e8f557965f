import pytest

from pipelines.support.errors import UserError
from pipelines.tagging import predict


def test_files_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "_CHUNK_LINES", 2)
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffone\r\ntwo\n\nfour".encode())
    assert list(predict._chunks(str(path))) == [["one", "two"], ["", "four"]]


def test_other_encodings_are_named(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("Ärger".encode("latin1"))
    with pytest.raises(UserError, match="is not UTF-8"):
        list(predict._chunks(str(path)))


def test_an_empty_file_and_other_suffixes_are_refused(tmp_path):
    (tmp_path / "empty.txt").touch()
    with pytest.raises(UserError, match="is empty"):
        predict.predict_file(None, str(tmp_path / "empty.txt"), None, False)
    with pytest.raises(UserError, match=r"\.conllu, \.jsonl"):
        predict.predict_file(None, str(tmp_path / "empty.txt"), tmp_path / "out.txt", False)
