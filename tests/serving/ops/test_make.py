import json

from serving.check import SERVER_VERSIONS
from serving.ops import make


def test_the_registered_ops_have_their_attributes():
    ops = make.registered_ops()
    assert ops["Identity"] == ["T"] and {"DstT", "SrcT", "Truncate"} <= set(ops["Cast"])


def test_the_text_list_contains_only_the_ops_that_the_package_adds(monkeypatch, capsys):
    lists = iter([{"Identity": ["T"]}, {"Identity": ["T"], "TokenizeText": []}])
    monkeypatch.setattr(make, "registered_ops", lambda: next(lists))
    make.main("text")
    assert json.loads(capsys.readouterr().out) == {"TokenizeText": []}


def test_merge_joins_the_lists(tmp_path, capsys):
    (tmp_path / "core.json").write_text('{"Identity": ["T"], "A": []}')
    (tmp_path / "text.json").write_text('{"TokenizeText": [], "A": ["N"]}')
    make.main("merge", str(tmp_path / "core.json"), str(tmp_path / "text.json"))
    assert capsys.readouterr().out == '{"A":["N"],"Identity":["T"],"TokenizeText":[]}\n'


def test_the_stored_lists_contain_tensorflow_and_the_text_ops():
    folder = (make.__spec__.origin).rsplit("/", 1)[0]
    for version in SERVER_VERSIONS:
        with open(f"{folder}/{version}.json", encoding="utf-8") as file:
            ops = json.load(file)
        assert ops["Identity"] == ["T"] and "SentencepieceTokenizeOp" in ops
