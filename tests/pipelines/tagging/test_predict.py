import json

import pytest

from pipelines.support.errors import UserError
from pipelines.tagging import predict
from tests.pipelines.distributed.parts import parts_of
from tests.pipelines.tagging.small import SENTENCES, WORD_TAGS


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


class FakeExport:
    """A tagger that is not saved."""

    def __init__(self, tagger):
        self.signatures = tagger.signatures()

    def card(self):
        return {"config": {"column": "xpos"}, "classes": list(WORD_TAGS)}

    def load(self):
        return self


@pytest.mark.parametrize("suffix", predict.OUTPUT_SUFFIXES)
@pytest.mark.parametrize("pretokenized", [False, True])
def test_the_parts_of_a_distributed_tagging_are_the_file_of_the_plain_command(
    make_small, tmp_path, monkeypatch, suffix, pretokenized
):
    monkeypatch.setattr(predict, "_CHUNK_LINES", 2)
    export, source, target = FakeExport(make_small("lstm").tagger), tmp_path / "in.txt", tmp_path / f"out{suffix}"
    source.write_text("".join(f"{' '.join(words)}\n" for words in SENTENCES) + "\nAnna sees . Is the sea near ?\n")
    counts = predict.predict_file(export, str(source), target, pretokenized)
    parts = parts_of(predict.file_steps(export, pretokenized, suffix), export, source)
    header = suffix == ".csv"
    lines = [line for i, (part, _) in enumerate(parts) for line in part.decode().splitlines(True)[header and i > 0 :]]
    assert len(parts) == 2 and "".join(lines) == target.read_text()
    assert sum(record["counts"]["tokens"] for _, record in parts) == counts["tokens"]
    parts = parts_of(predict.file_steps(export, pretokenized, suffix), export, source, fails_for="sees")
    assert [list(record["poisoned"]) for _, record in parts] == [[0, 3, 6], [0]]
    if suffix == ".jsonl":
        first = json.loads(parts[0][0].splitlines()[0])
        assert first["text"] == "Anna sees the sea ." and not first["tokens"]
