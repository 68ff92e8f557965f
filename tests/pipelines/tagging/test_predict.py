import json

import pytest

from pipelines.data.table_options import TableOptions
from pipelines.predicting import engine
from pipelines.tagging import predict
from pipelines.tagging.command import Predict
from tests.pipelines.predicting.parts import parts_of
from tests.pipelines.tagging.small import SENTENCES, WORD_TAGS


class FakeExport:
    """A tagger that is not saved."""

    def __init__(self, tagger):
        self.signatures = tagger.signatures()

    def card(self):
        return {"config": {"column": "xpos"}, "classes": list(WORD_TAGS)}

    def load(self):
        return self


@pytest.mark.parametrize("suffix", Predict.suffixes)
@pytest.mark.parametrize("pretokenized", [False, True])
def test_the_parts_of_a_distributed_tagging_are_the_file_of_the_plain_command(
    make_small, tmp_path, monkeypatch, suffix, pretokenized
):
    monkeypatch.setattr(predict, "_CHUNK_LINES", 2)
    export, source, target = FakeExport(make_small("lstm").tagger), tmp_path / "in.txt", tmp_path / f"out{suffix}"
    source.write_text("".join(f"{' '.join(words)}\n" for words in SENTENCES) + "\nAnna sees . Is the sea near ?\n")
    steps = predict.file_steps(export, TableOptions(), suffix, pretokenized)
    counts = engine.predict_files(export, str(source), target, steps)
    parts = parts_of(steps, export, source)
    header = suffix == ".csv"
    lines = [line for i, (part, _) in enumerate(parts) for line in part.decode().splitlines(True)[header and i > 0 :]]
    assert len(parts) == 2 and "".join(lines) == target.read_text()
    assert sum(record["counts"]["tokens"] for _, record in parts) == counts["tokens"]
    parts = parts_of(steps, export, source, fails_for="sees")
    assert [list(record["poisoned"]) for _, record in parts] == [[0, 3, 6], [0]]
    if suffix == ".jsonl":
        first = json.loads(parts[0][0].splitlines()[0])
        assert first["text"] == "Anna sees the sea ." and not first["tokens"]
