"""`train`, `evaluate` and `predict` of `sentiment` and `classification` as users call them.

Real processes where a process is what is tested; else `main.main` in this process, which saves TensorFlow's import.
"""

import csv
import fcntl
import json
import os
import re
import shlex
import subprocess

import pytest

from main import parse
from pipelines.data import sample_reviews
from tests.command_line import assert_one_line, lines_of, main, where
from tests.pipelines.report_pages import text_of_page
from tests.serving.comparing import served_as_in_process

pytestmark = pytest.mark.slow

CHARTS = ("curves", "calibration", "confusion", "lengths", "precision_recall")
QUICK = "--model bag --epochs 4 --batch-size 16 --ngram-buckets 2000 --vocabulary-size 300"


def write_reviews(path, rows=400, seed=1):
    texts, labels, films, _ = sample_reviews.generate(rows, seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "sentiment", "url"])
        writer.writerows(zip(texts, labels, films, strict=True))
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def trained(place):
    """The finished process of a run on a file."""
    data = write_reviews(place / "reviews.csv")
    process = main(place, "train", "sentiment", "--data", data, *QUICK.split(), "--json", *where(place))
    assert process.returncode == 0, process.stderr
    return process


def test_the_result_is_one_json_object_and_everything_else_goes_to_stderr(trained):
    result = json.loads(trained.stdout)
    assert result["scores"]["validation"]["accuracy"] > 0.6
    assert result["classes"] == ["negative", "positive"]
    assert result["sample"] is False
    assert "epoch 4/4" in trained.stderr
    ours = r"run |epoch \d/4: |\d+ texts to train on|measuring with|fitting the baselines|exporting, and"
    assert [line for line in lines_of(trained.stderr) if not re.match(ours, line)] == []  # no messages of TensorFlow


def test_a_run_leaves_its_record_its_report_and_an_export(trained, place):
    result = json.loads(trained.stdout)
    (folder,) = (place / "runs" / "sentiment").iterdir()
    assert folder.name.startswith("reviews-bag-")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "config.json",
        "lock",
        "tokenizer/tokenizer.json",
        "checkpoints/last.npz",
        "checkpoints/best.npz",
        "metrics.csv",
        *(f"{chart}.{format}" for chart in CHARTS for format in ("png", "svg")),
        "predictions.csv",
        "report.html",
        "report.md",
        "export.json",
        "result.json",
    }
    config = json.loads((folder / "config.json").read_text())
    assert config["task"] == "sentiment"
    assert config["config"]["epochs"] == 4 and config["config"]["seed"] == 1
    assert {"python", "tensorflow", "keras"} <= set(config["versions"])
    card = json.loads((place / "saved" / "sentiment" / "1" / "model_card.json").read_text())
    assert card["classes"] == result["classes"] and card["scores"] == result["scores"]
    assert str(place) not in json.dumps(card)
    report = (folder / "report.md").read_text()
    for part in ("## Scores", "## Worst mistakes", "curves.png", "none of the training texts is longer", "## Record"):
        assert part in report
    page = text_of_page(folder)
    assert "This model labels" in page and "Compared with the baselines" in page and "What to do next:" in page
    command = re.search("The command of this run:\n(.*)\n", page)[1]
    assert parse(shlex.split(command)[2:]).config.epochs == 4
    assert len((folder / "metrics.csv").read_text().splitlines()) == 5


@pytest.mark.long
def test_the_same_command_again_says_that_it_is_finished(trained, place):
    again = main(place, "train", "sentiment", "--data", place / "reviews.csv", *QUICK.split(), *where(place))
    assert again.returncode == 0 and "is finished" in again.stderr
    assert "accuracy" in again.stdout and "report.html" in again.stdout
    assert os.listdir(place / "saved" / "sentiment") == ["1"]


@pytest.mark.long
def test_a_lost_export_is_made_again(trained, place, run_main, without_verification):
    saved = place / "saved" / "sentiment"
    (saved / "1").rename(saved / "kept")
    try:
        again = run_main(place, "train", "sentiment", "--data", place / "reviews.csv", *QUICK.split(), *where(place))
        assert again.returncode == 0 and "epoch 1" not in again.stderr
        assert (saved / "1" / "saved_model.pb").exists()
    finally:
        if not (saved / "1").exists():
            (saved / "kept").rename(saved / "1")


def test_another_config_in_the_same_run_is_refused(trained, place, run_main):
    (folder,) = (place / "runs" / "sentiment").iterdir()
    process = run_main(
        place,
        "train",
        "sentiment",
        "--data",
        place / "reviews.csv",
        "--run",
        folder.name,
        *where(place),
        *QUICK.split()[:2],
        "--epochs",
        "9",
    )
    assert_one_line(process, "was started with --", "give another --run")


def test_a_second_process_on_the_same_run_is_refused(trained, place, run_main):
    folder = place / "runs" / "sentiment" / "busy"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = run_main(place, "train", "sentiment", "--run", "busy", *where(place))
    (folder / "lock").unlink()
    folder.rmdir()
    assert_one_line(process, "is being trained by another process")


@pytest.mark.long
def test_classification_takes_labels_as_they_are_spelled_and_names_the_export_after_its_data(
    tmp_path, run_main, without_verification
):
    texts = sample_reviews.generate(240)[0]
    rows = [f'"{text}",{("neg", "pos", "Odd", "Odd")[i % 4]}' for i, text in enumerate(texts)]
    (tmp_path / "stars.csv").write_text("text,stars\n" + "\n".join(rows) + "\n")
    flags = "--data stars.csv --model bag --class-weights --epochs 1 --tokenizer subword --vocabulary-size 200"
    flags += " --json"
    process = run_main(tmp_path, "train", "classification", *flags.split(), *where(tmp_path))
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["classes"] == ["Odd", "neg", "pos"]
    assert (tmp_path / "saved" / "stars" / "1").is_dir()


@pytest.mark.long
def test_a_full_disk_leaves_no_half_written_file(tmp_path):
    """A real full disk: a small file system in memory, where the system allows it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip("only root on Linux can make a small file system")
    try:
        process = main(tmp_path, "train", "sentiment", "--epochs", "1", *where(disk))
        assert_one_line(process, "the disk is full", "repeat the same command")
        assert not [path for path in disk.rglob("*") if path.name.startswith(".tmp-")]
        assert not list(disk.rglob("saved_model.pb"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.long
def test_predict_texts(trained, place):
    process = main(
        place,
        "predict",
        "sentiment",
        "--saved-models",
        place / "saved",
        "The plot was brilliant and charming.",
        "",
        "\U0001f600",
    )
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[0].startswith("positive") and "(empty)" in lines[1] and "without letters" in lines[2]
    assert process.stderr.strip() == "model sentiment/1"


def test_predict_texts_as_json(trained, place, run_main):
    process = run_main(
        place, "predict", "sentiment", "--saved-models", place / "saved", "Caf\u00e9, dull & slow", "--json"
    )
    answer = json.loads(process.stdout)
    (prediction,) = answer["predictions"]
    assert answer["model"] == "sentiment/1"
    assert prediction["text"] == "Caf\u00e9, dull & slow"
    assert prediction["probabilities"][prediction["label"]] == prediction["score"]


@pytest.mark.long
def test_predict_explains(trained, place, run_main):
    command = [
        "predict",
        "sentiment",
        "--saved-models",
        place / "saved",
        "--explain",
        "The plot was brilliant and charming.",
        "",
    ]
    process = run_main(place, *command)
    lines = lines_of(process.stdout)
    assert process.returncode == 0 and lines[0].startswith("positive")
    assert lines[1].split()[0] == "for" and ("brilliant +" in lines[1] or "charming +" in lines[1])
    assert lines[2].split()[0] == "against" and lines[-1].split() == ["against", "nothing"]
    answer = json.loads(run_main(place, *command, "--json").stdout)
    weights = answer["predictions"][0]["weights"]
    assert [piece for piece, _ in weights] == ["the", "plot", "was", "brilliant", "and", "charming", "."]
    assert answer["predictions"][1]["weights"] == []
    plain = json.loads(run_main(place, *command[:4], *command[5:], "--json").stdout)["predictions"]
    assert [{k: v for k, v in each.items() if k != "weights"} for each in answer["predictions"]] == plain


@pytest.mark.parametrize("flags", ["--input x.csv", "text --server localhost:1"])
def test_explain_is_for_texts_in_quotes_and_a_local_model(place, run_main, flags):
    process = run_main(place, "predict", "sentiment", "--explain", *flags.split())
    assert_one_line(process, "--explain", "leave out --")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_predict_a_file(trained, place, tmp_path, suffix, run_main):
    rows = 4500  # more than two chunks
    source, target = write_reviews(tmp_path / "in.csv", rows), tmp_path / f"out{suffix}"
    with open(source, "a") as file:
        file.write(',,\n"\U0001f600",x,y\n"' + "long " * 2_000_000 + '",x,y\ntoo,many,cells,here\n')
    process = run_main(
        place,
        "predict",
        "sentiment",
        "--input",
        source,
        "--output",
        target,
        "--json",
        "--saved-models",
        place / "saved",
    )
    assert process.returncode == 0, process.stderr
    counts = json.loads(process.stdout)
    assert counts["rows"] == rows + 3 and counts["skipped"] == 1
    assert (counts["empty"], counts["without letters or digits"], counts["longer than 40000 bytes, cut"]) == (1, 1, 1)
    assert sum(counts["labels"].values()) == rows + 3
    if suffix == ".jsonl":
        got = [json.loads(line) for line in target.read_text().splitlines()]
    else:
        csv.field_size_limit(20_000_000)
        with open(target, newline="") as file:
            got = list(csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
    assert len(got) == rows + 3
    expected = sample_reviews.generate(rows)
    assert [row["review"] for row in got[:rows]] == expected[0].tolist()
    right = sum(row["predicted"] == label for row, label in zip(got[:rows], expected[1], strict=False))
    assert right / rows > 0.6
    assert float(got[0]["p(negative)"]) + float(got[0]["p(positive)"]) == pytest.approx(1, abs=1e-5)


@pytest.mark.long
def test_predict_lines_and_stdin_alike(trained, place, tmp_path, run_main):
    (tmp_path / "in.txt").write_text("The plot was dull.\n\nWonderful, a wonderful cast\n")
    command = ["predict", "sentiment", "--saved-models", place / "saved", "--input"]
    from_file = run_main(place, *command, tmp_path / "in.txt")
    from_stdin = main(place, *command, "-", input=(tmp_path / "in.txt").read_text())
    assert from_file.returncode == 0 and from_file.stdout == from_stdin.stdout
    assert len(from_file.stdout.splitlines()) == 4  # a header and a line for each


@pytest.mark.parametrize(
    ("name", "content", "flags", "parts"),
    [
        ("in.csv", None, [], ["no such file"]),
        ("in.csv", b"", [], ["is empty"]),
        ("in.csv", b"foo,bar\n1,2\n", [], ["--text-column"]),
        ("in.txt", b"caf\xe9\n" * 5, [], ["is not UTF-8", "--encoding cp1252"]),
        ("in.csv", b"text\nx\n", ["--output", "in.csv"], ["exists already"]),
        ("in.csv", b"text\nx\n", ["--output", "out.html"], [".csv, .tsv"]),
        ("in.csv", b"text\nx\n", ["--output", "nowhere/out.csv"], ["no folder"]),
        ("in.csv", b"text\nx\n", ["--version", "9"], ["no version 9; it has 1"]),
    ],
)
def test_a_file_that_cannot_be_labelled_is_one_line(trained, place, tmp_path, name, content, flags, parts, run_main):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    process = run_main(tmp_path, "predict", "sentiment", "--input", name, *flags, "--saved-models", place / "saved")
    assert_one_line(process, *parts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ([name] if content is not None else [])


def test_a_row_that_is_not_utf_8_has_no_label_and_is_counted(trained, place, tmp_path, run_main):
    good = "".join(f"line {i}\n" for i in range(3000))
    (tmp_path / "in.txt").write_bytes(good.encode() + b"caf\xe9\n")
    process = run_main(
        tmp_path, "predict", "sentiment", "--input", "in.txt", "--output", "out.csv", "--saved-models", place / "saved"
    )
    assert process.returncode == 0 and "poisoned 1" in process.stderr
    assert "in.txt, row 3,001 has no prediction: not valid Unicode" in process.stderr
    assert (tmp_path / "out.csv").read_text().endswith("caf\N{REPLACEMENT CHARACTER},,,,\n")


@pytest.mark.long
def test_a_server_returns_what_the_model_returns(trained, place, run_main, tmp_path):
    command = ["predict", "sentiment", "A gripping story.", "Dull.", "--json"]
    own = json.loads(run_main(place, *command, "--saved-models", place / "saved").stdout)["predictions"]
    with served_as_in_process(place / "saved", "sentiment", tmp_path) as client:
        for server in (f"127.0.0.1:{client.server.grpc_port}", f"http://127.0.0.1:{client.server.rest_port}"):
            asked = run_main(place, *command, "--server", server)
            assert asked.returncode == 0, asked.stderr
            for over, alone in zip(json.loads(asked.stdout)["predictions"], own, strict=True):
                assert over["label"] == alone["label"] and over["score"] == pytest.approx(alone["score"], abs=1e-4)


def test_evaluate(trained, place, tmp_path, run_main):
    data = write_reviews(tmp_path / "other.csv", rows=200, seed=9)
    arguments = ["evaluate", "sentiment", "--data", data, "--saved-models", place / "saved"]
    process = run_main(place, *arguments, "--json", "--mistakes", tmp_path / "wrong.csv")
    assert process.returncode == 0, process.stderr
    measures = json.loads(process.stdout)
    assert measures["rows"] == 200
    assert sum(map(sum, measures["confusion_matrix"])) == 200
    with open(tmp_path / "wrong.csv", newline="") as file:
        wrong = list(csv.DictReader(file))
    assert len(wrong) == 200 - round(measures["accuracy"] * 200)
    assert all(row["label"] != row["predicted"] for row in wrong)
    scores = [float(row["score"]) for row in wrong]
    assert scores == sorted(scores, reverse=True)
    table = run_main(place, *arguments)
    assert f"{measures['accuracy']:.4f}" in table.stdout and "calibration error" in table.stdout


def test_evaluate_without_data_needs_a_model_trained_on_the_sample(trained, place, run_main):
    process = run_main(place, "evaluate", "sentiment", "--saved-models", place / "saved")
    assert_one_line(process, "was trained on real texts", "--data")


def test_evaluate_understands_other_spellings_and_reports_unknown_labels(trained, place, tmp_path, run_main):
    (tmp_path / "a.csv").write_text("text,label\nwonderful,1\ndull,0\n")
    (tmp_path / "b.csv").write_text("text,label\nwonderful,happy\ndull,sad\n")
    good = run_main(tmp_path, "evaluate", "sentiment", "--data", "a.csv", "--json", "--saved-models", place / "saved")
    assert json.loads(good.stdout)["rows"] == 2
    bad = run_main(tmp_path, "evaluate", "sentiment", "--data", "b.csv", "--saved-models", place / "saved")
    assert_one_line(bad, "its labels (happy, sad) are none of sentiment/1's (negative, positive)")
