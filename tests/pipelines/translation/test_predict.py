import io
import types

import pytest

from pipelines.data.table_options import TableOptions
from pipelines.decoding.options import TRANSLATION, defaults
from pipelines.predicting import engine
from pipelines.support.errors import UserError
from pipelines.translation import predict
from pipelines.translation.predict import Request, ask, find_translator, make_request
from tests.pipelines.predicting.parts import parts_of
from tests.pipelines.translation.stub import CARD, write_export

REQUEST = Request(CARD["generation_defaults"])
NO_OPTIONS = {"beam_width": None, "length_penalty": None, "max_length": None}


@pytest.mark.parametrize("task", ["nmt", "translation"])
def test_the_only_translator_is_found_without_its_pair(tmp_path, task):
    write_export(tmp_path, f"{task}-en-es")
    write_export(tmp_path, "sentiment")
    assert find_translator(tmp_path, task, None).title == f"{task}-en-es/1"


def test_the_newest_version_is_found_or_the_given_one(tmp_path):
    for version in (1, 2, 10):
        write_export(tmp_path, "nmt-en-es", version)
    assert find_translator(tmp_path, "nmt", "en-es").version == 10
    assert find_translator(tmp_path, "nmt", "en-es", version=2).version == 2
    with pytest.raises(UserError, match="nmt-en-es has no version 3; it has 1, 2, 10"):
        find_translator(tmp_path, "nmt", None, version=3)


def test_without_a_translator_of_real_pairs_that_of_the_sample_is_found(tmp_path):
    write_export(tmp_path, "nmt-en-es-sample")
    assert find_translator(tmp_path, "nmt", None).name == "nmt-en-es-sample"
    assert find_translator(tmp_path, "nmt", "en-es").name == "nmt-en-es-sample"
    write_export(tmp_path, "nmt-en-de")
    assert find_translator(tmp_path, "nmt", None).name == "nmt-en-de"
    assert find_translator(tmp_path, "nmt", "en-es").name == "nmt-en-es-sample"


def test_several_translators_are_an_error_that_lists_them(tmp_path):
    write_export(tmp_path, "nmt-en-es")
    write_export(tmp_path, "nmt-en-de")
    with pytest.raises(UserError, match=r"choose one with --pair or --name \(nmt-en-de, nmt-en-es\)"):
        find_translator(tmp_path, "nmt", None)
    assert find_translator(tmp_path, "nmt", "en-de").name == "nmt-en-de"
    assert find_translator(tmp_path, "nmt", None, "nmt-en-es").name == "nmt-en-es"


def test_a_translator_of_the_other_task_name_is_not_found(tmp_path):
    write_export(tmp_path, "translation-en-es", task="translation")
    with pytest.raises(UserError, match="no model 'nmt' in .*train one with `python main.py train nmt`"):
        find_translator(tmp_path, "nmt", None)
    with pytest.raises(UserError, match="no model 'nmt-en-fr' in .*existing: translation-en-es"):
        find_translator(tmp_path, "nmt", "en-fr")


def test_the_options_of_a_request_are_the_given_ones_and_else_the_model_s():
    model = {"beam_width": 3, "length_penalty": 0.6, "max_length": 1000}
    assert make_request(NO_OPTIONS, 1, model) == Request(model, 1)
    assert make_request(NO_OPTIONS | {"beam_width": 7}, 2, model).options == model | {"beam_width": 7}
    assert make_request(NO_OPTIONS | {"length_penalty": 0.0}, 1, model).options["length_penalty"] == 0.0


def test_the_beam_is_wide_enough_for_the_n_best():
    assert make_request(NO_OPTIONS, 9, CARD["generation_defaults"]).options["beam_width"] == 9


@pytest.mark.parametrize(
    ("given", "n_best", "message"),
    [
        ({"beam_width": 0}, 1, "--beam-width 0: it must be at least 1, at most 16"),
        ({"beam_width": 17}, 1, "--beam-width 17"),
        ({"length_penalty": -1.0}, 1, "--length-penalty -1.0"),
        ({"max_length": 1001}, 1, "--max-length 1001"),
        ({"beam_width": 2}, 3, "--n-best 3: it must be from 1 to --beam-width, 2"),
        ({}, 0, "--n-best 0"),
        ({}, 17, "--beam-width 17"),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_the_flag(given, n_best, message):
    with pytest.raises(UserError, match=message):
        make_request(NO_OPTIONS | given, n_best, defaults(TRANSLATION))


def test_an_option_of_sampling_makes_a_request_for_samples():
    request = make_request({"temperature": 0.5, "max_length": 7, "beam_width": None}, 3, defaults(TRANSLATION))
    assert request.signature == "sample" and request.n_best == 3
    assert request.options | {"temperature": 0.5, "max_length": 7, "seed": 1} == request.options
    assert make_request({"beam_width": 3}, 1, defaults(TRANSLATION)).signature == "translate"
    with pytest.raises(UserError, match="--beam-width has no effect here"):
        make_request({"temperature": 0.5, "beam_width": 3}, 1, {})
    with pytest.raises(UserError, match="--temperature -1"):
        make_request({"temperature": -1.0}, 1, {})


def test_several_samples_have_several_seeds():
    asked = []

    def signature(texts, request):
        asked.append(request.options["seed"])
        return {"translation": [f"{text} {asked[-1]}" for text in texts], "log_probability": [-1.0] * len(texts)}

    results = ask(signature, ["a", " "], make_request({"seed": 2**31 - 1}, 2, {}))
    assert asked == [2**31 - 1, 0]
    samples = [{"translation": f"a {seed}", "log_probability": -1.0} for seed in (2**31 - 1, 0)]
    assert results[0]["translations"] == samples
    assert results[1]["note"] == "empty" and "note" not in results[0]


def test_texts_are_translated_with_notes_about_unusual_ones(tmp_path):
    results = predict.translate_texts(write_export(tmp_path, "nmt-en-es"), ["a cat", " ", "x" * 30], REQUEST)
    assert results == [
        {"text": "a cat", "translation": "A CAT", "score": -1.0},
        {"text": " ", "translation": " ", "score": -1.0, "note": predict.EMPTY},
        {"text": "x" * 30, "translation": "X" * 30, "score": -1.0, "note": predict.CUT},
    ]


def test_the_n_best_are_at_most_those_that_the_model_returns(tmp_path):
    exported = write_export(tmp_path, "nmt-en-es")
    (result,) = predict.translate_texts(exported, ["A cat"], Request(REQUEST.options, 2))
    assert result["translations"] == [
        {"translation": "A CAT", "score": -1.0},
        {"translation": "a cat", "score": -2.0},
    ]
    (result,) = predict.translate_texts(exported, ["A cat"], Request(REQUEST.options, 5))
    assert len(result["translations"]) == 2


def test_a_file_is_translated_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "_CHUNK_LINES", 2)
    (tmp_path / "in.txt").write_bytes(b"\xef\xbb\xbfa cat\r\n\nlonger than twenty characters\nend")
    exported = write_export(tmp_path, "nmt-en-es")
    counts = translate_file(exported, str(tmp_path / "in.txt"), tmp_path / "out.txt", REQUEST)
    assert (tmp_path / "out.txt").read_text() == "A CAT\n\nLONGER THAN TWENTY CHARACTERS\nEND\n"
    assert counts == {"rows": 4, "skipped": 0, "poisoned": 0, predict.EMPTY: 1, predict.CUT: 1}


def test_stdin_is_translated_to_stdout(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\nb\n")))
    assert translate_file(write_export(tmp_path, "nmt-en-es"), "-", None, REQUEST)["rows"] == 2
    assert capsys.readouterr().out == "A\nB\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [("nowhere.txt", "no such file: nowhere.txt"), ("empty.txt", "empty.txt is empty"), ("latin.txt", "is not UTF-8")],
)
def test_a_file_that_cannot_be_read_is_an_error_and_nothing_is_written(tmp_path, monkeypatch, source, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_bytes(5 * "\u00e9\n".encode("latin1"))
    exported = write_export(tmp_path, "nmt-en-es")
    with pytest.raises(UserError, match=message):
        translate_file(exported, source, tmp_path / "out.txt", REQUEST)
    assert not (tmp_path / "out.txt").exists()


def test_the_parts_of_a_distributed_translation_are_the_file_of_the_plain_command(tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "_CHUNK_LINES", 2)
    (tmp_path / "in.txt").write_bytes(b"\xef\xbb\xbfa cat\r\n\nlonger than twenty characters\npoison\nend")
    exported = write_export(tmp_path, "nmt-en-es")
    translate_file(exported, str(tmp_path / "in.txt"), tmp_path / "out.txt", REQUEST)
    steps = predict.file_steps(TableOptions(), ".txt", REQUEST)
    parts = parts_of(steps, exported, tmp_path / "in.txt")
    assert len(parts) == 3 and b"".join(part for part, _ in parts).decode() == (tmp_path / "out.txt").read_text()
    assert [set(record["counts"]) & {predict.EMPTY, predict.CUT} for _, record in parts] == [
        {predict.EMPTY},
        {predict.CUT},
        set(),
    ]
    parts = parts_of(steps, exported, tmp_path / "in.txt", fails_for="poison")
    assert parts[1][0] == b"LONGER THAN TWENTY CHARACTERS\n\n" and list(parts[1][1]["poisoned"]) == [1]


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
def test_the_texts_of_tables_are_translated(tmp_path, suffix):
    (tmp_path / "in.jsonl").write_text('{"id": 1, "text": "a cat"}\n')
    exported = write_export(tmp_path, "nmt-en-es")
    translate_file(exported, str(tmp_path / "in.jsonl"), tmp_path / f"out{suffix}", REQUEST)
    row = {".txt": "A CAT", ".csv": "id,text,translation,score\n1,a cat,A CAT,-1.000000"}
    row[".jsonl"] = '{"id": 1, "text": "a cat", "translation": "A CAT", "score": -1.0}'
    assert (tmp_path / f"out{suffix}").read_text() == f"{row[suffix]}\n"


def translate_file(exported, source, target, request):
    steps = predict.file_steps(TableOptions(), target.suffix if target else ".txt", request)
    return engine.predict_files(exported, source, target, steps)
