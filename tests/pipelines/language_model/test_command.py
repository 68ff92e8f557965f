"""`train|evaluate|predict char-lm` and `language-model` on the command line."""

import json
import subprocess
import sys

import pytest
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tests.command_line import assert_one_line, train_here, where
from tests.pipelines.report_pages import text_of_page
from tests.serving.comparing import served_as_in_process

pytestmark = pytest.mark.slow

SMALL = "--window 16 --batch-size 8 --hidden-size 32 --num-layers 1 --epochs 3 --learning-rate 0.01 --dropout 0"
TEXT = "the cat sat on the mat.\nthe dog sat on the log.\n" * 120


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    (folder / "rhyme.txt").write_text(TEXT)
    return folder


@pytest.fixture(scope="module")
def trained(place):
    process = train_here(
        place, "train", "char-lm", "--data", place / "rhyme.txt", *SMALL.split(), "--json", *where(place)
    )
    assert process.returncode == 0, process.stderr
    return process


def test_train_prints_one_json_object_and_writes_a_run(trained, place):
    result = json.loads(trained.stdout)
    scores = result["scores"]["validation"]
    assert scores["perplexity"] < 2 and scores["characters"] == result["characters"]["valid"] == len(TEXT) - int(
        len(TEXT) * 0.9
    )
    assert scores["bits_per_character"] == pytest.approx(scores["loss"] / 0.693147, rel=1e-4)
    (folder,) = (place / "runs" / "char-lm").iterdir()
    assert {"report.md", "curves.png", "metrics.csv", "config.json", "result.json"} <= {
        path.name for path in folder.iterdir()
    }
    report = (folder / "report.md").read_text()
    assert "perplexity" in report and "sat on" in report and "predict char-lm" in report
    assert "sat on" in text_of_page(folder)
    assert "    | " in trained.stderr, "it shows generated text after each epoch"
    assert "Traceback" not in trained.stderr and "Warning" not in trained.stderr
    exported = place / "saved" / "char-lm" / "1"
    (graph,) = parse_saved_model(str(exported)).meta_graphs
    assert {
        "serving_default",
        "generate",
        "search",
        "score",
        "token_losses",
        "encode",
        "decode",
        "start",
        "step",
    } <= set(graph.signature_def)
    card = json.loads((exported / "model_card.json").read_text())
    assert str(place) not in json.dumps(card)


def test_the_same_command_does_not_train_again(trained, place, run_main):
    again = run_main(place, "train", "char-lm", "--data", place / "rhyme.txt", *SMALL.split(), *where(place))
    assert again.returncode == 0 and "perplexity" in again.stdout and "is finished" in again.stderr


def test_predict_continues_as_the_training_text_does(trained, place, run_main):
    process = run_main(
        place, "predict", "char-lm", "the c", "--max-length", 30, "--temperature", 0, "--saved-models", place / "saved"
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("the cat sat on the ")


def test_predict_in_json(trained, place, run_main):
    flags = ["--max-length", 5, "--seed", 3, "--json", "--saved-models", place / "saved"]
    answers = [
        json.loads(run_main(place, "predict", "char-lm", "the c", "Z\u00fcrich", *flags).stdout)["predictions"]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert [answer["tokens"] for answer in answers[0]] == [5, 5]
    assert "note" not in answers[0][0] and "never seen in training" in answers[0][1]["note"]


def test_predict_ends_after_the_stop_text_and_starts_a_text_without_a_prompt(trained, place, run_main):
    process = run_main(
        place, "predict", "char-lm", "--stop", ".", "--temperature", 0, "--saved-models", place / "saved"
    )
    assert process.stdout.count(".") == 1 and process.stdout.endswith(".\n")


def test_predict_streams_the_same_text(trained, place, run_main):
    flags = ["predict", "char-lm", "the c", "", "--stop", "og", "--seed", 3, "--saved-models", place / "saved"]
    streamed = run_main(place, *flags, "--stream")
    assert streamed.returncode == 0 and streamed.stdout == run_main(place, *flags).stdout


def test_evaluate_reports_the_perplexity_of_the_run(trained, place, run_main):
    (place / "end.txt").write_text(TEXT[int(len(TEXT) * 0.9) :])
    process = run_main(
        place, "evaluate", "char-lm", "--data", place / "end.txt", "--json", "--saved-models", place / "saved"
    )
    measures, scores = json.loads(process.stdout), json.loads(trained.stdout)["scores"]["validation"]
    (ngrams,) = scores.pop("baselines")
    assert ngrams["name"] == "n-gram model of order 6" and ngrams["perplexity"] > 1
    for name, value in scores.items():
        assert measures[name] == pytest.approx(value, rel=1e-5), name


def test_predict_shows_what_comes_next_and_how_likely_a_text_is(trained, place, run_main):
    where_saved = ["--saved-models", place / "saved"]
    process = run_main(place, "predict", "char-lm", "the c", "--next", 3, "--min-p", 0.5, *where_saved)
    assert process.returncode == 0, process.stderr
    first = process.stdout.splitlines()[2].split()
    assert first[0] == "a" and float(first[1]) > 0.8 and "--min-p 0.5 leaves 1 token" in process.stdout
    likely, unlikely = json.loads(
        run_main(place, "predict", "char-lm", "the cat sat", "tac eht tas", "--score", "--json", *where_saved).stdout
    )["predictions"]
    assert likely["perplexity"] < 3 < unlikely["perplexity"] and len(likely["surprisal"]) == 11
    process = run_main(place, "predict", "char-lm", "the cat s", "--search", "--max-length", 9, *where_saved)
    assert process.stdout.splitlines()[1].endswith("at on the"), process.stdout
    (place / "lines.txt").write_text("the cat sat\n")
    process = run_main(
        place, "predict", "char-lm", "--score", "--input", "lines.txt", "--output", "scored.csv", *where_saved
    )
    assert process.returncode == 0 and (place / "scored.csv").read_text().startswith("text,log_probability")


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "flags"),
    [
        ("ngram", ["--order", 5]),
        pytest.param("average", [*SMALL.split(), "--order", 3], marks=pytest.mark.exhaustive),
        ("feedforward", [*SMALL.split(), "--order", 9]),
    ],
)
def test_the_models_of_a_fixed_number_of_tokens_are_trained_measured_and_exported(place, run_main, model, flags):
    flags = [flag for flag in flags if flag not in ("--num-layers", "1")]
    process = train_here(
        place, "train", "char-lm", "--data", place / "rhyme.txt", "--model", model, *flags, "--name", model, "--json",
        *where(place),
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    perplexity = result["scores"]["validation"]["perplexity"]
    assert perplexity < {"ngram": 1.5, "feedforward": 2.5, "average": 6}[model]
    saved = ["--name", model, "--saved-models", place / "saved"]
    if model == "ngram":
        continued = run_main(place, "predict", "char-lm", "the c", "--temperature", 0, "--max-length", 20, *saved)
        assert continued.stdout.startswith("the cat sat on the ")
        assert_one_line(
            run_main(place, "predict", "char-lm", "a", "--cache-size", 5, *saved), "--cache-size needs a recurrent"
        )
    (place / "end.txt").write_text(TEXT[int(len(TEXT) * 0.9) :])
    measured = json.loads(run_main(place, "evaluate", "char-lm", "--data", place / "end.txt", "--json", *saved).stdout)
    assert measured["perplexity"] == pytest.approx(perplexity, rel=1e-5)


@pytest.mark.long
def test_a_model_of_documents_ends_its_texts(place, run_main):
    (place / "lines.txt").write_text("the cat sat.\nthe dog sat on the log.\n" * 200)
    command = ["train", "char-lm", "--data", place / "lines.txt", "--documents", "line", "--model", "ngram"]
    process = train_here(place, *command, "--name", "lines", "--json", *where(place))
    assert process.returncode == 0, process.stderr
    scores = json.loads(process.stdout)["scores"]["validation"]
    assert scores["perplexity"] < 1.2 and scores["tokens"] == 20 * (12 + 23) + 40  # with the end tokens
    saved = ["--name", "lines", "--saved-models", place / "saved"]
    process = run_main(place, "predict", "char-lm", "the c", "the d", "--temperature", 0, *saved)
    assert process.stdout == "the cat sat.\nthe dog sat on the log.\n", process.stderr
    process = run_main(place, "predict", "char-lm", "the c", "--search", "--max-length", 50, *saved)
    assert process.stdout.splitlines()[1].endswith("   at sat.")
    whole, part = json.loads(
        run_main(place, "predict", "char-lm", "the cat sat.", "the cat", "--score", "--json", *saved).stdout
    )["predictions"]
    assert whole["surprisal"][-1][0] == "<end>" and whole["surprisal"][-1][1] < 0.1 < part["surprisal"][-1][1]
    assert whole["tokens"] == 13


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--model ngram --order 7", "--order 7: it must be from 2 to 6"),
        ("--model ngram --order 6", "too few for --order 6: lower it"),
        ("--model ngram --hidden-size 5", "--hidden-size has no effect here: it needs --model simple"),
        ("--model lstm --order 3", "--order has no effect here: it needs --model ngram, feedforward or average"),
        ("--model average --num-layers 3", "--num-layers has no effect here"),
    ],
)
def test_settings_that_do_not_fit_the_model_are_refused(tmp_path, run_main, flags, message):
    (tmp_path / "short.txt").write_text("abcd")
    process = run_main(tmp_path, "train", "char-lm", "--data", "short.txt", *flags.split(), *where(tmp_path))
    assert_one_line(process, message)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("a --next 0", "--next 0: it must be from 1"),
        ("--score", "--score needs texts"),
        ("a --next 3 --score", "--next and --score do not go together"),
        ("a --next 3 --max-length 3", "--max-length has no effect with --next"),
        ("a --search --temperature 1", "--temperature has no effect with --search"),
        ("a --score --seed 1", "--seed has no effect with --score"),
        ("a --beam-width 3", "--beam-width has no effect without --search"),
        ("a --stream --cache-size 5", "--cache-size has no effect with --stream"),
        ("a --stream --search", "--search and --stream do not go together"),
        ("a --stream --json", "--stream prints the text alone: leave out --json"),
        ("a --next 3 --cache-size 5", "--cache-size has no effect with --next"),
        ("a --input b.txt --output c.csv", "--input has no effect without --score"),
        ("--score --input b.txt --json", "--json with --input needs --output"),
        ("--score --input b.txt --output c.csv --server localhost:1", "leave out --input"),
        ("a --text-column text", "--text-column needs --input"),
    ],
)
def test_flags_that_do_not_fit_together_are_refused(tmp_path, run_main, flags, message):
    assert_one_line(run_main(tmp_path, "predict", "char-lm", *flags.split()), message)


@pytest.mark.long
def test_a_server_answers_as_the_model_itself(trained, place, run_main, tmp_path):
    with served_as_in_process(place / "saved", "char-lm", tmp_path) as client:
        for way in (["--max-length", 8, "--seed", 3], ["--next", 5], ["--score"], ["--search"]):
            command = ["predict", "char-lm", "the c", "", *way, "--json"]
            own = run_main(place, *command, "--saved-models", place / "saved")
            rest = way[0] in ("--next", "--search")  # and gRPC for the others
            server = f"http://127.0.0.1:{client.server.rest_port}" if rest else f"127.0.0.1:{client.server.grpc_port}"
            asked = run_main(place, *command, "--server", server)
            assert asked.returncode == 0, asked.stderr
            assert json.loads(asked.stdout)["predictions"] == json.loads(own.stdout)["predictions"]
        stream = ["predict", "char-lm", "the c", "", "--stream", "--stop", "o", "--seed", 3]
        own = run_main(place, *stream, "--saved-models", place / "saved")
        for server in (f"http://127.0.0.1:{client.server.rest_port}", f"127.0.0.1:{client.server.grpc_port}"):
            asked = run_main(place, *stream, "--server", server)
            assert asked.returncode == 0 and asked.stdout == own.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train char-lm --data nowhere.txt", "no such file"),
        ("train char-lm --data .", "is a folder"),
        ("train char-lm --data empty.txt", "is empty"),
        ("train char-lm --data rhyme.txt --window 4000", "--window"),
        ("train char-lm --data rhyme.txt --model transformer --hidden-size 30", "--num-heads"),
        ("train char-lm --data rhyme.txt --num-heads 8", "--num-heads has no effect here"),
        ("train char-lm --data rhyme.txt --vocabulary-size 50", "--vocabulary-size has no effect here"),
        ("evaluate char-lm", "--data"),
        ("evaluate char-lm --data empty.txt", "is empty"),
        ("predict char-lm x --temperature -1", "--temperature"),
        ("predict char-lm x --max-length 1000000", "--max-length"),
        ("predict char-lm x --top-p 0", "--top-p"),
        ("predict char-lm x --min-p 2", "--min-p 2.0: it must be at least 0, at most 1"),
        ("predict char-lm x --repetition-penalty 0", "--repetition-penalty"),
        ("predict char-lm x --version 7", "no version 7"),
    ],
)
def test_a_mistake_of_the_user_is_one_line(trained, place, run_main, arguments, message):
    (place / "empty.txt").write_text("")
    folders = where(place) if arguments.startswith("train") else where(place)[2:]
    assert_one_line(run_main(place, *arguments.split(), *folders), message)


def test_the_card_has_the_defaults_of_all_options(trained, place):
    card = json.loads((place / "saved" / "char-lm" / "1" / "model_card.json").read_text())
    assert card["generation_defaults"]["top_p"] == 0.95 and card["generation_defaults"]["min_p"] == 0.0
    assert card["scores"]["validation"]["perplexity"] > 1 and card["task"] == "char-lm"


@pytest.mark.long
def test_predict_takes_the_sampling_options(trained, place, run_main):
    flags = ["--max-length", 30, "--temperature", 0, "--json", "--saved-models", place / "saved"]
    plain, penalized, min_p = (
        json.loads(run_main(place, "predict", "char-lm", "the c", *flags, *more).stdout)["predictions"][0]["text"]
        for more in ([], ["--repetition-penalty", 5], ["--min-p", 1, "--temperature", 1])
    )
    assert penalized != plain and min_p == plain


@pytest.mark.long
def test_language_model_has_subword_tokens_by_default(place, run_main, without_verification):
    flags = [*SMALL.split(), "--vocabulary-size", 60, "--json", *where(place)]
    process = run_main(place, "train", "language-model", "--data", place / "rhyme.txt", *flags)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["config"]["tokenizer"] == "subword" and result["model"] == "language-model/1"
    assert result["rows"]["valid"] < result["characters"]["valid"]


CLIENT = """
import sys
import tensorflow as tf, tensorflow_text

signatures = tf.saved_model.load(sys.argv[1]).signatures
state = signatures["start"](text=tf.constant([sys.argv[2]]))
for _ in range(20):
    ids = tf.argmax(state.pop("logits"), axis=-1, output_type=tf.int32)
    print(signatures["decode"](ids=ids[:, None])["text"].numpy()[0].decode(), end="", flush=True)
    state = signatures["step"](ids=ids, **state)
"""


@pytest.mark.long
def test_a_client_without_our_code_generates_token_by_token(trained, place):
    command = [sys.executable, "-I", "-c", CLIENT, str(place / "saved" / "char-lm" / "1"), "the c"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=place)
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("at sat on the")
