"""`train|evaluate|predict nmt` as their users meet them."""

import json

import matplotlib.image
import pytest

from pipelines import nmt_answers
from pipelines.data import sample_pairs
from tests.command_line import assert_one_line, main, where
from tests.serving.comparing import assert_served_as_in_process
from tests.serving.conftest import serving

SMALL = "--layers 1 --hidden-size 32 --heads 2 --vocabulary-size 200 --epochs 2 --batch-tokens 250 --learning-rate 0.01 --warm-up 40 --average 0.9"
SMALL += " --dropout 0 --sampling 0 --label-smoothing 0"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    english, spanish = sample_pairs.generate(1000)
    (folder / "train.en").write_text("\n".join(english) + "\n")
    (folder / "train.es").write_text("\n".join(spanish) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(place):
    process = main(place, "train", "nmt", "--data", "train.en", "--target", "train.es", *SMALL.split(), "--json", *where(place))
    assert process.returncode == 0, process.stderr
    return process


def saved(place):
    return where(place)[2:]


def test_train_prints_one_json_object_and_leaves_a_run(trained, place):
    result = json.loads(trained.stdout)
    scores = result["scores"]["validation"]
    assert "Traceback" not in trained.stderr and "Warning" not in trained.stderr
    assert result["pair"] == "en-es" and scores["bleu"] > 0 and scores["rows"] == result["rows"]["valid"]
    (folder,) = (place / "runs" / "nmt").iterdir()
    names = {path.name for path in folder.iterdir()}
    assert {"report.md", "curves.png", "lengths.png", "attention.png", "metrics.csv", "config.json", "result.json"} <= names
    report = (folder / "report.md").read_text()
    assert "BLEU" in report and "tok:13a" in report and "predict nmt" in report
    card = json.loads((place / "saved" / "nmt-en-es" / "1" / "model_card.json").read_text())
    assert card["pair"] == "en-es" and str(place) not in json.dumps(card) and "train.en" not in json.dumps(card["config"])


def test_the_same_command_does_not_train_again(trained, place, here):
    again = here(place, "train", "nmt", "--data", "train.en", "--target", "train.es", *SMALL.split(), *where(place))
    assert again.returncode == 0 and "BLEU" in again.stdout and "is finished" in again.stderr


def test_predict_answers_with_the_translations_and_draws_where_it_looked(trained, place, tmp_path, here):
    picture = ["--attention", tmp_path / "a.png", "--each-head"]
    process = here(place, "predict", "nmt", "The dog sees a house.", "", *picture, *saved(place))
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert len(lines) == 2 and lines[0].endswith(".") and lines[1] == "" and "note: empty" in process.stderr
    height, width, _ = matplotlib.image.imread(tmp_path / "a.png").shape
    assert height > 100 and width > 400


def test_predict_in_json_with_the_n_best(trained, place, here):
    process = here(place, "predict", "nmt", "The dog sees a house.", "--best", 3, "--json", *saved(place))
    (prediction,) = json.loads(process.stdout)["predictions"]
    scores = [candidate["score"] for candidate in prediction["translations"]]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    assert prediction["translation"] == prediction["translations"][0]["translation"]


def test_predict_a_file_line_for_line(trained, place, tmp_path, here):
    (tmp_path / "in.txt").write_text("The dog.\n\nA cow sees the man.\n")
    process = here(place, "predict", "nmt", "--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt", "--json", *saved(place))
    assert process.returncode == 0, process.stderr
    lines = (tmp_path / "out.txt").read_text().split("\n")
    assert len(lines) == 4 and lines[0] and lines[1] == "" and lines[2] and lines[3] == ""
    assert json.loads(process.stdout) == {"model": "nmt-en-es/1", "lines": 3, "empty": 1}


def test_evaluate(trained, place, tmp_path, here):
    english, spanish = sample_pairs.generate(60, seed=5)
    (tmp_path / "t.tsv").write_text("".join(f"{e}\t{s}\n" for e, s in zip(english, spanish, strict=True)))
    process = here(place, "evaluate", "nmt", "--data", tmp_path / "t.tsv", "--json", "--output", tmp_path / "out.txt", *saved(place))
    assert process.returncode == 0, process.stderr
    measures = json.loads(process.stdout)
    assert measures["rows"] == 60 and 0 < measures["bleu"] < 100 and len((tmp_path / "out.txt").read_text().splitlines()) == 60
    table = nmt_answers.table(measures)
    assert f"{measures['bleu']:.2f}" in table and "tok:13a" in table and "learned from" not in table
    known = here(place, "evaluate", "nmt", "--data", "train.en", "--target", "train.es", *saved(place))
    assert "The model learned from these pairs" in known.stdout


def test_a_sentence_that_is_not_read_whole_is_said(trained, place, tmp_path, here):
    long = "The dog sees a house. " * 100
    (tmp_path / "in.txt").write_text(f"The dog.\n{long}\n")
    process = here(place, "predict", "nmt", "--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt", "--json", *saved(place))
    assert json.loads(process.stdout)["longer than the model reads, cut"] == 1
    assert "note: longer than the model reads, cut" in here(place, "predict", "nmt", long, *saved(place)).stderr


def test_a_server_answers_as_the_model_itself(trained, place, here):
    assert_served_as_in_process(place / "saved", "nmt-en-es")
    command = ["predict", "nmt", "the red house", "a big dog", "--pair", "en-es", "--best", 2, "--beam-width", 3, "--json"]
    own = here(place, *command, "--saved-models", place / "saved")
    with serving(place / "saved") as client:
        for server in (f"127.0.0.1:{client.server.grpc_port}", f"http://127.0.0.1:{client.server.rest_port}"):
            asked = here(place, *command, "--server", server)
            assert asked.returncode == 0, asked.stderr
            assert json.loads(asked.stdout)["predictions"] == json.loads(own.stdout)["predictions"]
        plain = [*command[:4], "--pair", "en-es", "--json"]
        asked = here(place, *plain, "--server", f"127.0.0.1:{client.server.grpc_port}")
        assert json.loads(asked.stdout)["predictions"] == json.loads(here(place, *plain, *saved(place)).stdout)["predictions"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("train nmt --data train.en --target short.es", "have 1,000 and 1 lines"),
        ("train nmt --data nowhere --pair en-es", "no such file or folder: nowhere"),
        ("train nmt --pair english", "--pair english"),
        ("train nmt --pair en-de", "the sample has en-es"),
        ("train nmt --data train.en --target train.es --max-tokens 3", "--max-tokens 3"),
        ("train nmt --target train.es", "--target train.es: give what it translates with --data"),
        ("train nmt --data train.en --target train.es --valid-target train.es", "with --valid"),
        ("train nmt --data han.tsv --vocabulary-size 100", "--vocabulary-size 100: these texts have so many different characters"),
        ("train nmt --data train.en --target train.es --pair es-en", "--data train.en is of en"),
        ("evaluate nmt", "was trained on real pairs"),
        ("evaluate nmt --data . --split dev", "has no dev.en and dev.es"),
        ("predict nmt", "in quotes"),
        ("predict nmt x --input train.en", "either"),
        ("predict nmt x --beam-width 0", "--beam-width 0"),
        ("predict nmt x --beam-width 1000", "--beam-width 1000"),
        ("predict nmt x --best 6 --beam-width 2", "--best 6"),
        ("predict nmt x --attention a.jpg", ".png"),
        ("predict nmt x --attention a.png --beam-width 1", "leave out --beam-width"),
        ("predict nmt x --attention a.png --best 9", "leave out --best"),
        ("predict nmt x --output out.txt", "--output is for --input"),
        ("predict nmt x --pair en-es --server localhost:1 --version 1", "--version 1: a server answers"),
        ("predict nmt x --pair en-fr", "no model 'nmt-en-fr'"),
        ("predict nmt --input nowhere.txt", "no such file"),
        ("predict nmt --input train.en --output train.es", "exists already"),
        ("predict nmt --input train.en --best 2", "leave out --input"),
    ],
)
def test_what_cannot_be_is_one_line(trained, place, here, arguments, said):
    (place / "short.es").write_text("El perro.\n")
    han = ["".join(map(chr, range(0x4E00 + 9 * i, 0x4E00 + 9 * i + 9))) for i in range(40)]
    (place / "han.tsv").write_text("".join(f"{text}\t{text}\n" for text in han))
    folders = where(place) if arguments.startswith("train") else saved(place)
    assert_one_line(here(place, *arguments.split(), *folders), said)
