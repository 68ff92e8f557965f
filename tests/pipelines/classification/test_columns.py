"""Models of several columns: the graph composes the texts as the reader does; trainings from end to end."""

import json
import random
import re

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import unroll
from pipelines.classification import columns
from pipelines.classification.command import Predict
from pipelines.command_line import ServedModelFlags
from pipelines.data import fields
from pipelines.data.fields import NUMBER, Field
from pipelines.inspect.text_views import Salience
from pipelines.support.errors import UserError
from tests.serving.conftest import serving

WORDS = ["Dog", "cat,", "the-house!", "ÄÖ", "naïve", "␞", "x\ty", "'q'", "\xa0", "\u3000", "日本", "A_B", "c++", "\x85"]
PLAIN = ["red", "blue", "green", "cat", "dog", "house", "tree", "river", "cloud", "stone", "paper", "glass", "table"]


@pytest.mark.parametrize("is_symmetric", [False, True])
def test_the_graph_composes_the_texts_of_the_reader(is_symmetric):
    drawn = random.Random(1)

    def texts():
        return [" ".join(drawn.choices(WORDS, k=drawn.randrange(8))) for _ in range(300)]

    rows = pd.DataFrame(
        {"a": texts(), "b": texts(), "p": [drawn.choice(["", "1", "2.5", "-3", "1e3"]) for _ in range(300)]}
    )
    known = (*fields.of_pair("a", "b", is_symmetric), Field("p", NUMBER, (1.0, 2.5, 100.0)))
    numbers = np.array([float(cell) if cell else np.nan for cell in rows.p], np.float32)
    given = [tf.constant(rows.a.tolist()), tf.constant(rows.b.tolist()), tf.constant(numbers)]
    found = [each.decode() for each in columns.composed(known, given).numpy()]
    assert found == fields.composed(known, rows).tolist()


def test_example_requests_have_all_inputs_and_missing_numbers():
    known = (Field("a text"), Field("p", NUMBER, (1.0, 2.0)))
    found = columns.example_columns(known, ["x", "y", "z"])
    assert list(found) == ["a_text", "p"] and found["a_text"] == ["x", "y", "z"]
    assert np.isnan(found["p"][0]) and found["p"][1:] == [1.0, 2.0]


def test_each_token_has_the_number_of_its_field():
    tokens = tf.ragged.constant([["a", "␞", "b", "c", "␞"], ["a"], ["x", "▁␞", "␞", "y"]])
    assert columns.field_of(tokens).to_list() == [[0, 1, 1, 1, 2], [0], [0, 1, 2, 2]]


def test_ranges_of_composed_texts():
    known = (Field("t"), Field("p", NUMBER, (1.0, 2.5)), Field("q", NUMBER, (7.0,)))
    rows = pd.DataFrame({"t": ["na", "", "x"], "p": ["", "0", "2"], "q": ["7", "1", ""]})
    found = columns.ranges_of(known, tf.constant(fields.composed(known, rows).tolist())).numpy()
    assert found.tolist() == [
        [b"", b"p missing", b"q >= 7"],
        [b"", b"p < 1", b"q < 7"],
        [b"", b"p >= 1", b"q missing"],
    ]


def test_a_signature_names_the_columns_in_their_order():
    known = (*fields.of_pair("b x", "a", False), Field("p", NUMBER, (1.0,)))
    found = columns.inputs_signature(known)(tf.constant(["", ""]))
    assert found["names"].numpy().tolist() == [[b"b x", b"a", b"p"]] * 2
    assert found["inputs"].numpy().tolist() == [[b"b_x", b"a", b"p"]] * 2
    assert found["is_number"].numpy().tolist() == [[False, False, True]] * 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files whose label depends on the field that has the word fire, and on a number; and pairs."""
    folder, drawn = tmp_path_factory.mktemp("columns"), random.Random(0)
    rows = []
    for _ in range(900):
        title, body = drawn.choices(PLAIN, k=4), drawn.choices(PLAIN, k=7)
        in_title, price = drawn.random() < 0.5, drawn.uniform(0, 100)
        (title if in_title else body).insert(drawn.randrange(3), "fire")
        label = ("hot" if in_title else "cold") + ("-dear" if price > 40 else "-cheap")
        rows.append(f"{' '.join(title)},{' '.join(body)},{price:.2f},{label}")
    (folder / "made.csv").write_text("\n".join(["title,body,price,label", *rows, ""]))
    pairs = []
    for _ in range(600):
        a, same = drawn.choices(PLAIN, k=5), drawn.random() < 0.5
        b = drawn.sample(a, 5) if same else drawn.choices(PLAIN, k=5)
        pairs.append(f"{' '.join(a)},{' '.join(b)},{'same' if same else 'other'}")
    (folder / "pairs.csv").write_text("\n".join(["first,second,label", *pairs, ""]))
    return folder


@pytest.fixture
def run(folder, run_main):
    def run(*arguments):
        return run_main(folder, *arguments, "--saved-models", folder / "saved")

    return run


@pytest.mark.long
@pytest.mark.slow
def test_a_model_tells_fields_and_numbers_apart(folder, run):
    flags = ("--text-column", "title,body", "--feature-column", "price", "--preset", "quick", "--runs", folder / "runs")
    trained = run("train", "classification", "--data", "made.csv", *flags)
    assert trained.returncode == 0, trained.stderr
    (report,) = folder.glob("runs/classification/made-*/result.json")
    scores = json.loads(report.read_text())["scores"]["validation"]
    assert scores["accuracy"] > 0.9
    assert all(each["accuracy"] < 0.75 for each in scores["baselines"])

    cells = ("fire cat", "dog house", "90", "dog", "fire cat house", "")
    found = json.loads(run("predict", "classification", *cells, "--name", "made", "--json").stdout)["predictions"]
    assert [each["label"] for each in found][0] == "hot-dear" and found[1]["label"].startswith("cold")
    refused = run("predict", "classification", "fire", "--name", "made")
    assert refused.returncode == 2 and "reads 3 columns, title, body, price" in refused.stderr
    done = run("predict", "classification", "--name", "made", "--input", "made.csv", "--output", folder / "out.csv")
    assert done.returncode == 0, done.stderr
    out = pd.read_csv(folder / "out.csv")
    assert (
        list(out)[:5] == ["title", "body", "price", "label", "predicted"] and (out.label == out.predicted).mean() > 0.9
    )
    mistakes = ("--mistakes", folder / "mistakes.csv")
    assert run("evaluate", "classification", "--name", "made", "--data", "made.csv", *mistakes).returncode == 0

    (folder / "bad.csv").write_text("title,body\na,b\n")
    (folder / "words.csv").write_text("title,body,price\na,b,cheap\n")
    (folder / "lines.txt").write_text("a text\n")
    for name, reason in (("bad.csv", "has no column 'price'"), ("words.csv", "'cheap'"), ("lines.txt", "is no table")):
        refused = run("predict", "classification", "--name", "made", "--input", name)
        assert refused.returncode == 2 and reason in refused.stderr, name

    refused = run("predict", "classification", "--name", "made", "--input", "made.csv", "--for", "doccano")
    assert refused.returncode == 2 and "reads several columns" in refused.stderr

    loaded = tf.saved_model.load(str(folder / "saved" / "made" / "1"))
    serve = loaded.signatures["serving_default"]
    request = {"title": tf.constant(["fire cat"]), "body": tf.constant(["dog house"]), "price": tf.constant([90.0])}
    outputs = serve(**request)
    assert outputs["label"].numpy().tolist() == [b"hot-dear"]
    np.testing.assert_allclose(outputs["score"], [found[0]["score"]], rtol=1e-5)

    model = unroll.load(folder / "saved" / "made")
    table = pd.DataFrame({"title": ["fire cat"], "body": ["dog house"], "price": [90.0]})
    assert model.predict(table).tolist() == ["hot-dear"]
    with pytest.raises(unroll.UserError, match="give X as a table"):
        model.predict(["fire cat"])
    (explained,) = model.explain(table)
    assert explained["columns"] == {"title": "fire cat", "body": "dog house", "price": "90.0"}
    assert [each[::2] for each in explained["weights"][:4]] == [
        ("fire", "title"),
        ("cat", "title"),
        ("dog", "body"),
        ("house", "body"),
    ]
    (number,) = explained["weights"][4:]
    assert re.fullmatch(r"price >= [89]\d\.\d+", number[0]) and number[1] > 0 and number[2] == "price"
    with pytest.raises(UserError, match="made/1 reads several columns, and `inspect salience` looks at one"):
        Salience(text="fire", models=("made",), saved_models=folder / "saved").check()
    (report,) = folder.glob("runs/classification/made-*/report.md")
    assert " na " not in report.read_text() and "␞" not in report.read_text()
    assert all(text.startswith("title: ") for text in pd.read_csv(folder / "mistakes.csv").text)
    with serving(folder / "saved") as server:
        for address in (f"127.0.0.1:{server.server.grpc_port}", f"http://127.0.0.1:{server.server.rest_port}"):
            flags = ServedModelFlags(server=address)
            answers = Predict(texts=cells, model=flags).ask_server("made")
            assert [each["label"] for each in answers] == [each["label"] for each in found]
            assert answers[0]["columns"] == found[0]["columns"]
            with pytest.raises(UserError, match="'price' has numbers, and one cell is 'dear'"):
                Predict(texts=("a", "b", "dear"), model=flags).ask_server("made")
            with pytest.raises(UserError, match="reads 3 columns, title, body, price"):
                Predict(texts=("a",), model=flags).ask_server("made")
    continued = run("train", "--from", "made", "--data", "made.csv", "--runs", folder / "runs")
    assert continued.returncode == 2 and continued.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.slow
def test_a_symmetric_model_of_pairs(folder, run):
    flags = ("--pair-columns", "first,second", "--symmetric", "--preset", "quick", "--runs", folder / "runs")
    trained = run("train", "classification", "--data", "pairs.csv", *flags)
    assert trained.returncode == 0, trained.stderr
    a, b = "red cat house", "house red train"
    found = json.loads(run("predict", "classification", a, b, b, a, a, a, "--name", "pairs", "--json").stdout)
    first, swapped, same = found["predictions"]
    assert first["probabilities"] == swapped["probabilities"] and same["label"] == "same"
    # The model reads what both texts have in common. People are shown the texts.
    (folder / "wrong.csv").write_text("first,second,label\nred cat house,house cat red,other\nred,blue train,same\n")
    done = run("evaluate", "classification", "--data", "wrong.csv", "--name", "pairs", "--mistakes", "wrong-pairs.csv")
    assert done.returncode == 0, done.stderr
    mistakes = pd.read_csv(folder / "wrong-pairs.csv")
    assert list(mistakes)[-2:] == ["first", "second"] and len(mistakes)
    assert mistakes["text"][0] == f"first: {mistakes['first'][0]}; second: {mistakes['second'][0]}"
    # A file in another encoding is refused, as one with a single column of texts is.
    (folder / "latin.csv").write_text("first,second\n" + "das Haus für München,für München\n" * 9, "cp1252")
    done = run("predict", "classification", "--input", "latin.csv", "--output", "latin-out.csv", "--name", "pairs")
    assert done.returncode == 2 and "--encoding cp1252" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("classification --data pairs.csv --pair-columns first", "two different columns"),
        (
            "classification --data pairs.csv --pair-columns first,second --text-column first",
            "--text-column has no effect",
        ),
        ("classification --data made.csv --symmetric", "--symmetric has no effect"),
        ("transfer --encoder x --data made.csv --text-column title,body", "one column with text is read"),
    ],
)
def test_flags_that_do_not_fit_are_one_line(run, arguments, reason):
    done = run("train", *arguments.split())
    assert done.returncode == 2 and reason in done.stderr and done.stderr.count("\n") == 1
