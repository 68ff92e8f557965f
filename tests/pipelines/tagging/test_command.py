"""`train`, `evaluate` and `predict tagging`, as a user calls them."""

import json

import pytest

from pipelines.data import sample_tags
from tests.command_line import assert_one_line, lines_of, train_here, where
from tests.serving.comparing import served_as_in_process

SMALL = ["--hidden-size", "16", "--embedding-size", "8", "--character-size", "4", "--epochs", "1", "--no-baseline"]
TEXT = "Anna doesn't live in Oslo. She lives in Rome!"


def train(place, *flags):
    flags = ["--preset", "quick", "--tokenizer", "english", *flags, *SMALL, *where(place)]
    process = train_here(place, "train", "tagging", *flags)
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The run and the export of a file with entities."""
    place = tmp_path_factory.mktemp("tagging")
    sentences = ["Anna\tB-PER\nlives\tO\nin\tO\nNew\tB-LOC\nYork\tI-LOC\n", "She\tO\nleft\tO\n.\tO\n"]
    (place / "ner.tsv").write_text("\n".join(f"x{i}\tO\n{sentences[i % 2]}" for i in range(60)))
    train(place, "--data", place / "ner.tsv")
    return place


def predict(run_main, place, *arguments):
    return run_main(place, "predict", "tagging", *arguments, "--name", "ner", "--saved-models", place / "saved")


@pytest.mark.long
def test_a_text_is_printed_with_tags_underneath(place, run_main):
    process = predict(run_main, place, TEXT)
    tokens, tags, *others = lines_of(process.stdout)
    assert tokens.split()[:3] == ["Anna", "does", "n't"]
    assert len(tags.split()) == len(tokens.split())


@pytest.mark.long
def test_json_has_positions_in_the_text(place, run_main):
    (result,) = json.loads(predict(run_main, place, "--json", TEXT).stdout)["predictions"]
    assert [TEXT[a:b] for a, b in zip(result["start"], result["end"], strict=True)] == result["tokens"]
    assert result["sentence"][-1] == 1 and len(result["scores"]) == len(result["tags"])


@pytest.mark.long
def test_files_of_entities(linear, run_main, tmp_path):
    (tmp_path / "in.csv").write_text("id,body\n7,Anna lives in New York\n8,She left\n")
    flags = ["--name", "linear", "--saved-models", linear / "saved", "--text-column", "body"]
    found = {}
    for tool in ("entities", "spacy", "doccano"):
        process = run_main(linear, "predict", "tagging", "--input", tmp_path / "in.csv", "--for", tool, *flags)
        found[tool] = process.stdout.splitlines()
    head, *rows = found["entities"]
    assert head == "id,text_number,entity,label,score,start,end"
    assert [row.rpartition(",0.")[0] for row in rows] == ["7,1,Anna,PER", "7,1,New York,LOC"]
    spans = [[0, 4, "PER"], [14, 22, "LOC"]]
    assert json.loads(found["spacy"][0]) == ["Anna lives in New York", {"entities": spans}]
    assert json.loads(found["doccano"][0])["label"] == spans
    refused = ["--input", tmp_path / "in.csv", "--output", tmp_path / "x.conllu", "--for", "entities", *flags]
    assert_one_line(
        run_main(linear, "predict", "tagging", *refused), "must end in .csv, .tsv, .jsonl, .parquet or .xlsx"
    )


@pytest.mark.long
def test_tokens_can_be_given(place, run_main):
    process = predict(run_main, place, "--json", "--pretokenized", "Anna lives in New York")
    (result,) = json.loads(process.stdout)["predictions"]
    assert result["tokens"] == ["Anna", "lives", "in", "New", "York"] and len(result["tags"]) == 5


@pytest.mark.long
@pytest.mark.parametrize("suffix", ["conllu", "jsonl", "csv"])
def test_a_file_is_tagged_line_by_line(place, run_main, tmp_path, suffix):
    source, target = tmp_path / "lines.txt", tmp_path / f"tagged.{suffix}"
    source.write_text(f"{TEXT}\n\nTwo ships.\n")
    process = predict(run_main, place, "--input", source, "--output", target, "--json")
    counts = json.loads(process.stdout)
    assert (counts["rows"], counts["empty"]) == (3, 1)
    assert counts["tokens"] == 12 + 3
    assert "Oslo" in target.read_text()
    assert_one_line(predict(run_main, place, "--input", source, "--output", target), f"{target} exists already")


@pytest.mark.long
def test_conllu_is_printed(place, run_main, tmp_path):
    (tmp_path / "lines.txt").write_text("Two ships.\n")
    process = predict(run_main, place, "--input", tmp_path / "lines.txt")
    rows = [line.split("\t") for line in lines_of(process.stdout) if not line.startswith("#")]
    assert [row[1] for row in rows] == ["Two", "ships", "."] and {len(row) for row in rows} == {10}


@pytest.mark.long
def test_the_evaluation_of_a_file(place, run_main, tmp_path):
    mistakes = tmp_path / "mistakes.csv"
    flags = ["--name", "ner", "--data", place / "ner.tsv", "--mistakes", mistakes, "--saved-models", place / "saved"]
    process = run_main(place, "evaluate", "tagging", *flags)
    assert "trained on" in process.stdout and "F1" in process.stdout
    assert mistakes.read_text().startswith("token,predicted,expected,probability,sentence")


@pytest.mark.long
def test_the_evaluation_of_the_sample(tmp_path, run_main, monkeypatch):
    monkeypatch.setattr(sample_tags, "_NUM_TRAIN", 1000)
    train(tmp_path)
    flags = ["--name", "tagging-sample", "--json", "--saved-models", tmp_path / "saved"]
    scores = json.loads(run_main(tmp_path, "evaluate", "tagging", *flags).stdout)
    assert scores["accuracy"] > 0.5 and not scores["trained_on"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give texts: either"),
        (["a", "--input", "x"], "give texts: either"),
        (["a", "--output", "x.csv"], "--output needs --input"),
        (["--input", "x", "--json"], "--json with --input needs --output"),
        (["--input", "x", "--server", "http://localhost:1"], "--server is for texts"),
        (["--input", "absent.txt"], "no such file: absent.txt"),
        (["--input", "x", "--output", "out.txt"], "must end in .conllu, .jsonl, .csv, .tsv, .parquet or .xlsx"),
    ],
)
def test_flags_that_do_not_fit_are_refused(place, run_main, arguments, message):
    assert_one_line(predict(run_main, place, *arguments), message)


@pytest.mark.long
def test_a_server_answers_as_the_model_itself(place, run_main, tmp_path):
    raw = ["predict", "tagging", TEXT, "", "--name", "ner", "--json"]
    tokens = ["predict", "tagging", "Anna lives in New York", "She", "--pretokenized", "--name", "ner", "--json"]
    with served_as_in_process(place / "saved", "ner", tmp_path) as client:
        for flags in (raw, tokens):
            own = json.loads(run_main(place, *flags, "--saved-models", place / "saved").stdout)["predictions"]
            for server in (f"127.0.0.1:{client.server.grpc_port}", f"http://127.0.0.1:{client.server.rest_port}"):
                asked = run_main(place, *flags, "--server", server)
                assert asked.returncode == 0, asked.stderr
                predictions = json.loads(asked.stdout)["predictions"]
                for result, expected in zip(predictions, own, strict=True):
                    assert result["scores"] == pytest.approx(expected["scores"], abs=1e-5)
                    for each, same in zip(result["entities"], expected["entities"], strict=True):
                        assert each == same | {"score": pytest.approx(same["score"], abs=1e-5)}
                    same = {name: expected[name] for name in ("scores", "entities")}
                    assert result | same == expected


@pytest.mark.long
def test_a_model_of_real_sentences_is_not_measured_on_the_sample(place, run_main):
    process = run_main(place, "evaluate", "tagging", "--name", "ner", "--saved-models", place / "saved")
    assert_one_line(process, "give sentences to measure it on with --data")


def test_one_tag_alone_is_refused(run_main, tmp_path):
    (tmp_path / "one.tsv").write_text("a\tX\nb\tX\n\nc\tX\n\nd\tX\n")
    process = run_main(tmp_path, "train", "tagging", "--data", tmp_path / "one.tsv", *where(tmp_path))
    assert_one_line(process, "all tokens have the tag 'X'; at least two tags are needed")
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def linear(place):
    """The same place, with the run and the export of a linear model."""
    process = train_here(
        place, "train", "tagging", "--data", place / "ner.tsv", "--model", "linear", "--name", "linear", *where(place)
    )
    assert process.returncode == 0, process.stderr
    assert "weights of the linear model" in process.stderr
    (report,) = place.glob("runs/tagging/*-linear-*/report.md")
    assert "## Learning" not in report.read_text() and not report.with_name("curves.png").exists()
    assert "hidden Markov model" in process.stdout and "linear CRF" not in process.stdout  # it is no baseline of itself
    return place


@pytest.mark.long
def test_a_linear_model_tags_and_is_evaluated(linear, run_main):
    flags = ["--name", "linear", "--saved-models", linear / "saved"]
    texts = ["Anna lives in New York", "She left ."]
    predictions = json.loads(run_main(linear, "predict", "tagging", *texts, "--json", *flags).stdout)["predictions"]
    assert [each["tags"] for each in predictions] == [["B-PER", "O", "O", "B-LOC", "I-LOC"], ["O"] * 3]
    assert all(0.5 < score <= 1 for each in predictions for score in each["scores"])
    assert [[each["text"] for each in result["entities"]] for result in predictions] == [["Anna", "New York"], []]
    scores = json.loads(run_main(linear, "evaluate", "tagging", "--data", linear / "ner.tsv", "--json", *flags).stdout)
    assert scores["span_f1"] == 1


@pytest.mark.long
def test_a_server_answers_as_the_linear_model_itself(linear, run_main, tmp_path):
    flags = ["predict", "tagging", TEXT, "", "Anna New York", "--name", "linear", "--json"]
    with served_as_in_process(linear / "saved", "linear", tmp_path) as client:
        own = json.loads(run_main(linear, *flags, "--saved-models", linear / "saved").stdout)["predictions"]
        asked = run_main(linear, *flags, "--server", f"http://127.0.0.1:{client.server.rest_port}")
        body = {"signature_name": "entities", "inputs": {"text": ["Anna \U0001f600 Anna", ""]}}
        status, answer = client.http("/v1/models/linear:predict", body)
        assert status == 200 and answer["outputs"]["num_entities"] == [2, 0]
        assert answer["outputs"]["start"] == [[0, 7], [0, 0]] and answer["outputs"]["start_utf16"] == [[0, 8], [0, 0]]
        assert [each["tags"] for each in json.loads(asked.stdout)["predictions"]] == [each["tags"] for each in own]


@pytest.mark.long
def test_settings_of_networks_have_no_effect_on_a_linear_model(place, run_main):
    for flags in (["--hidden-size", "8"], ["--epochs", "3"], ["--no-crf"], ["--characters", "none"]):
        arguments = ["--data", place / "ner.tsv", "--model", "linear", *flags, *where(place)]
        assert_one_line(
            run_main(place, "train", "tagging", *arguments), f"{flags[0]} has no effect here: it needs --model"
        )
    arguments = ["--data", place / "ner.tsv", "--model", "lstm", "--penalty", "0.5", *where(place)]
    assert_one_line(
        run_main(place, "train", "tagging", *arguments), "--penalty has no effect here: it needs --model linear"
    )
