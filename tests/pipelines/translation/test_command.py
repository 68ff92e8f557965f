"""`train`, `evaluate` and `predict` of `nmt` and `translation`."""

import json

import pytest

from pipelines.command_line import TrainCommand
from pipelines.data import sample_pairs
from pipelines.translation.command import Train
from pipelines.translation.config import TranslationConfig
from tests.command_line import assert_one_line, train_here, where
from tests.pipelines.report_pages import text_of_page
from tests.serving.comparing import served_as_in_process

slow = pytest.mark.slow

DATA = ["--data", "train.en", "--target", "train.es"]
SMALL = {
    "num-layers": 1,
    "hidden-size": 32,
    "num-heads": 2,
    "vocabulary-size": 200,
    "epochs": 2,
    "batch-tokens": 250,
    "learning-rate": 0.01,
    "warmup-steps": 40,
    "ema-momentum": 0.9,
    "dropout": 0,
    "label-smoothing": 0,
}
SMALL_FLAGS = [word for name, value in SMALL.items() for word in (f"--{name}", value)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with training pairs."""
    folder = tmp_path_factory.mktemp("nmt")
    english, spanish = sample_pairs.generate(1000)
    (folder / "train.en").write_text("\n".join(english) + "\n")
    (folder / "train.es").write_text("\n".join(spanish) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    """What trained a translator in `folder`."""
    process = train_here(folder, "train", "nmt", *DATA, *SMALL_FLAGS, "--json", *where(folder))
    assert process.returncode == 0, process.stderr
    return process


def saved(folder):
    return where(folder)[2:]


@pytest.mark.parametrize(
    ("task", "flags", "name"),
    [
        ("nmt", {}, "nmt-en-es"),
        ("translation", {}, "translation-en-es"),
        ("nmt", {"data": "multi30k", "pair": "de-en"}, "nmt-de-en"),
        ("nmt", {"data": "a.txt", "target": "b.txt"}, None),
    ],
)
def test_the_export_is_named_after_the_task_and_the_languages(monkeypatch, task, flags, name):
    calls = []
    monkeypatch.setattr(TrainCommand, "train", lambda self, config, name=None: calls.append((self.task, config, name)))
    Train(task=task, config=TranslationConfig(**flags))()
    assert calls == [(task, TranslationConfig(**flags).resolve(), name)]


@pytest.mark.long
@slow
def test_train_prints_one_json_object_and_writes_a_run(trained, folder):
    result = json.loads(trained.stdout)
    scores = result["scores"]["validation"]
    assert "Traceback" not in trained.stderr and "Warning" not in trained.stderr
    assert result["pair"] == "en-es" and scores["bleu"] > 0 and scores["rows"] == result["rows"]["valid"]
    (run,) = (folder / "runs" / "nmt").iterdir()
    names = {path.name for path in run.iterdir()}
    files = {
        "report.md",
        "attention.svg",
        "curves.png",
        "lengths.png",
        "attention.png",
        "metrics.csv",
        "config.json",
        "result.json",
    }
    assert files <= names
    report = (run / "report.md").read_text()
    assert "BLEU" in report and "tok:13a" in report and "predict nmt" in report
    assert "What to do next:" in text_of_page(run)


@pytest.mark.long
@slow
def test_the_model_card_has_no_paths_of_the_machine(trained, folder):
    card = json.loads((folder / "saved" / "nmt-en-es" / "1" / "model_card.json").read_text())
    assert card["pair"] == "en-es" and card["generation_defaults"]["beam_width"] == 5
    assert str(folder) not in json.dumps(card) and "train.en" not in json.dumps(card["config"])


@pytest.mark.long
@slow
def test_the_same_command_does_not_train_again(trained, folder, run_main):
    again = run_main(folder, "train", "nmt", *DATA, *SMALL_FLAGS, *where(folder))
    assert again.returncode == 0 and "BLEU" in again.stdout and "is finished" in again.stderr


@pytest.mark.long
@slow
def test_predict_prints_the_translations(trained, folder, run_main):
    process = run_main(folder, "predict", "nmt", "The dog sees a house.", "", *saved(folder))
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert len(lines) == 2 and lines[0].endswith(".") and lines[1] == "" and "note: empty" in process.stderr
    flags = ["predict", "nmt", "The dog sees a house.", "", "a", *saved(folder)]
    assert run_main(folder, *flags, "--stream").stdout == run_main(folder, *flags, "--beam-width", 1).stdout


@slow
@pytest.mark.long
def test_predict_prints_the_n_best(trained, folder, run_main):
    reference = ["--reference", "El perro ve una casa.", "casa una"]
    scored = run_main(folder, "predict", "nmt", "The dog sees a house.", *reference, *saved(folder))
    assert scored.returncode == 0 and "the most probable: El perro" in scored.stdout, scored.stderr
    assert_one_line(
        run_main(folder, "predict", "nmt", "a", "b", "c", *reference, *saved(folder)),
        "3 sentences and 2 after --reference",
    )
    command = ["predict", "nmt", "The dog sees a house.", "--n-best", 3, *saved(folder)]
    (prediction,) = json.loads(run_main(folder, *command, "--json").stdout)["predictions"]
    scores = [candidate["score"] for candidate in prediction["translations"]]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    assert prediction["translation"] == prediction["translations"][0]["translation"]
    lines = run_main(folder, *command).stdout.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == [
        candidate["translation"] for candidate in prediction["translations"]
    ]


@pytest.mark.long
@slow
def test_predict_translates_a_file_line_by_line(trained, folder, tmp_path, run_main):
    (tmp_path / "in.txt").write_text("The dog.\n\nA cow sees the man.\n" + "The dog sees a house. " * 100 + "\n")
    files = ["--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt"]
    process = run_main(folder, "predict", "nmt", *files, "--json", *saved(folder))
    assert process.returncode == 0, process.stderr
    lines = (tmp_path / "out.txt").read_text().split("\n")
    assert len(lines) == 5 and lines[0] and lines[1] == "" and lines[2] and lines[4] == ""
    counts = {"rows": 4, "skipped": 0, "poisoned": 0, "empty": 1, "longer than the model reads, cut": 1}
    assert json.loads(process.stdout) == {"model": "nmt-en-es/1", **counts}


@pytest.mark.long
@slow
def test_evaluate_measures_pairs(trained, folder, tmp_path, run_main):
    english, spanish = sample_pairs.generate(60, seed=5)
    (tmp_path / "t.tsv").write_text("".join(f"{e}\t{s}\n" for e, s in zip(english, spanish, strict=True)))
    flags = ["--data", tmp_path / "t.tsv", "--output", tmp_path / "out.txt"]
    process = run_main(folder, "evaluate", "nmt", *flags, "--json", *saved(folder))
    assert process.returncode == 0, process.stderr
    measures = json.loads(process.stdout)
    assert measures["rows"] == 60 and 0 < measures["bleu"] < 100
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 60


@slow
@pytest.mark.long
def test_evaluate_reports_that_the_model_was_trained_on_the_pairs(trained, folder, run_main):
    process = run_main(folder, "evaluate", "nmt", *DATA, *saved(folder))
    assert "The model was trained on these pairs" in process.stdout, process.stderr


def assert_close(found, expected):
    """Texts are equal; numbers are rounded, and may differ in the last digit where the graph was optimized."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1.5e-4)
    elif isinstance(expected, (dict, list)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_close(found[key], expected[key])
    else:
        assert found == expected


@slow
@pytest.mark.long
def test_a_server_returns_the_same_translations(trained, folder, run_main, tmp_path):
    plain = ["predict", "nmt", "the red house", "a big dog", "--pair", "en-es", "--json"]
    with_options = [*plain, "--n-best", 2, "--beam-width", 3]
    sampled = [*plain, "--n-best", 2, "--temperature", 1, "--seed", 3]
    expected = {
        flags: json.loads(run_main(folder, *flags, *saved(folder)).stdout)["predictions"]
        for flags in map(tuple, (plain, with_options, sampled))
    }
    with served_as_in_process(folder / "saved", "nmt-en-es", tmp_path) as client:
        addresses = (f"127.0.0.1:{client.server.grpc_port}", f"http://127.0.0.1:{client.server.rest_port}")
        for i, (flags, predictions) in enumerate(expected.items()):
            process = run_main(folder, *flags, "--server", addresses[i % 2])
            assert process.returncode == 0, process.stderr
            assert_close(json.loads(process.stdout)["predictions"], predictions)
        stream = ["predict", "nmt", "the red house", "--pair", "en-es", "--stream", "--temperature", 1, "--seed", 3]
        own = run_main(folder, *stream, *saved(folder)).stdout
        assert own and [run_main(folder, *stream, "--server", each).stdout for each in addresses] == [own, own]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train nmt --data train.en --target short.es", "have 1,000 and 1 lines"),
        ("train nmt --data nowhere --pair en-es", "no such file or folder: nowhere"),
        ("train nmt --pair english", "--pair english"),
        ("train nmt --pair en-de", "the embedded sample is en-es"),
        ("train nmt --data train.en --target train.es --max-tokens 3", "--max-tokens 3"),
        ("train nmt --target train.es", "--target train.es: give the source sentences with --data"),
        ("train nmt --data train.en --target train.es --valid-target train.es", "with --valid"),
        (
            "train nmt --data han.tsv --vocabulary-size 100",
            "--vocabulary-size 100: it must be at least",
        ),
        ("train nmt --data train.en --target train.es --pair es-en", "--data train.en is en by its name"),
        ("train translation --model rnn --norm post", "--norm has no effect here: it needs --model transformer"),
        ("train nmt --beam-width 17", "--beam-width 17: it must be at least 1, at most 16"),
    ],
)
def test_train_reports_a_mistake_in_one_line(folder, run_main, arguments, message):
    (folder / "short.es").write_text("El perro.\n")
    han = ["".join(map(chr, range(0x4E00 + 9 * i, 0x4E00 + 9 * i + 9))) for i in range(40)]
    (folder / "han.tsv").write_text("".join(f"{text}\t{text}\n" for text in han))
    assert_one_line(run_main(folder, *arguments.split(), *where(folder)), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict nmt", "in quotes"),
        ("predict nmt x --input train.en", "either"),
        ("predict nmt x --output out.txt", "--output needs --input"),
        ("predict nmt x --pair en-es --server localhost:1 --seed 1 --beam-width 2", "--beam-width has no effect here"),
        ("predict nmt x --stream --n-best 2", "--stream prints one translation of each sentence"),
        ("predict nmt x --stream --json", "--stream prints one translation of each sentence"),
        ("predict nmt x --reference y --temperature 1", "leave out --input and all flags of search"),
        ("predict nmt --input train.en --json", "--json with --input needs --output"),
        ("predict nmt --input train.en --n-best 2", "leave out --input"),
        ("predict nmt x --server localhost:1", "--server needs --pair"),
        (
            "predict nmt x --pair en-es --server localhost:1 --version 1",
            "--version 1: a server always uses its newest version",
        ),
        ("predict nmt --input train.en --pair en-es --server localhost:1", "leave out --input"),
        ("predict nmt x --pair en-es --server localhost:1 --n-best 17", "--beam-width 17"),
        ("predict nmt x --pair en-fr", "no model 'nmt-en-fr'"),
        ("evaluate translation --pair en-fr", "no model 'translation-en-fr'"),
    ],
)
def test_flags_that_do_not_go_together_are_an_error_in_one_line(folder, run_main, arguments, message):
    assert_one_line(run_main(folder, *arguments.split(), *saved(folder)), message)


@pytest.mark.long
@slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("evaluate nmt", "was trained on real pairs"),
        ("evaluate nmt --data . --split dev", "has no dev.en and dev.es"),
        ("predict nmt x --beam-width 0", "--beam-width 0"),
        ("predict nmt x --temperature -1", "--temperature -1"),
        ("predict nmt x --n-best 6 --beam-width 2", "--n-best 6"),
        ("predict nmt --input nowhere.txt", "no such file"),
        ("predict nmt --input train.en --output train.es", "exists already"),
    ],
)
def test_a_trained_model_s_commands_report_a_mistake_in_one_line(trained, folder, run_main, arguments, message):
    assert_one_line(run_main(folder, *arguments.split(), *saved(folder)), message)
