"""`train encoder` on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_hub as hub

from layers.hub import HubEncoder
from tests.command_line import assert_one_line, where
from tests.serving.comparing import served_as_in_process

SMALL = "--epochs 2 --vocabulary-size 60 --hidden-size 16 --window 8 --batch-size 4 --learning-rate 0.02 --dropout 0.1"
pytestmark = pytest.mark.slow

LEFT_OUT_OF_TABLE = {"too many cells in the row": 1, "empty text": 1}
TEXTS = ["the cat sat on the mat", "a dog", ""]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(1)
    words = ["the", "a", "cat", "dog", "mat", "rug", "sat", "lay", "on", "under"]
    lines = [" ".join(rng.choice(words, 8)) for _ in range(300)]
    (folder / "texts.csv").write_text(
        "text,url\n" + "\n".join(f"{line},{i // 10}" for i, line in enumerate(lines)) + "\n ,30\na,b,c\n"
    )
    (folder / "texts.txt").write_text("\n".join(lines))
    (folder / "glove.txt").write_text("the 1 2 3\ncat 0 1 0\nThe 9 9 9\n")
    (folder / "word2vec.txt").write_text("2 3\nthe 1 2 3\ncat 0 1 0\n")
    (folder / "bad.txt").write_text("the 1 2 3\ncat 0 x 0\n")
    (folder / "nan.txt").write_text("the 1 nan 3\n")
    (folder / "short.txt").write_text("3 3\nthe 1 2 3\n")
    (folder / "empty").mkdir()
    (folder / "files" / "more").mkdir(parents=True)
    for i, line in enumerate(lines):
        (folder / "files" / ("more" if i % 2 else ".") / f"{i}.txt").write_text(line)
    (folder / "files" / "latin1.txt").write_bytes(b"caf\xe9")
    return folder


@pytest.mark.parametrize(
    ("name", "flags", "size", "notes"),
    [
        pytest.param(
            "lstm",
            "--data texts.csv --num-sampled 20 --embedding-size 8",
            16,
            LEFT_OUT_OF_TABLE,
            marks=pytest.mark.long,
        ),
        pytest.param(
            "transformer",
            "--data files --model transformer --direction bidirectional",
            16,
            {"not UTF-8": 1},
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_an_encoder_is_a_module_of_tf_hub_that_can_be_fine_tuned(
    place, run_main, without_verification, tmp_path, name, flags, size, notes
):
    process = run_main(
        place, "train", "encoder", *flags.split(), *SMALL.split(), "--name", name, "--json", *where(place)
    )
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["notes"] == {f"left out, {reason}": rows for reason, rows in notes.items()}
    losses = [row["val_loss"] for row in result["epochs"]]
    card = json.loads((Path(result["export"]) / "model_card.json").read_text())
    scores, best = card["scores"]["validation"], result["epochs"][result["best_epoch"] - 1]
    assert scores["loss"] == best["val_loss"] and scores["perplexity"] == pytest.approx(np.exp(best["val_loss"]))
    assert losses[-1] < np.log(60) and "Traceback" not in process.stderr
    module = hub.load(result["export"])
    outputs = module(tf.constant(TEXTS), training=False)
    assert outputs["sequence_output"].shape[2] == size and outputs["pooled_output"].shape == (3, 3 * size)
    assert len(module.trainable_variables) < len(module.variables) and module.regularization_losses == []
    alone = module(tf.constant(TEXTS[1:2]), training=False)
    np.testing.assert_allclose(
        outputs["pooled_output"][1:2], alone["pooled_output"], atol=1e-5
    )  # padding changes nothing
    encoder = HubEncoder(result["export"], trainable=True, output_key="pooled_output")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(tf.constant(TEXTS), training=True) ** 2)
    gradients = tape.gradient(loss, [weight.value for weight in encoder.trainable_weights])
    assert all(gradient is not None for gradient in gradients)
    assert list(encoder.groups())[:2] == ["embeddings", "layer_1"]
    if name == "lstm":
        with served_as_in_process(place / "saved", name, tmp_path):
            pass
    where_saved = ["--name", name, "--saved-models", place / "saved"]
    blank = run_main(place, "predict", "encoder", "the cat sat on the [MASK]", "--top", "3", "--json", *where_saved)
    ((predictions,),) = [each["results"] for each in json.loads(blank.stdout)["predictions"]]
    probabilities = [probability for _, probability in predictions["candidates"]]
    assert len(probabilities) == 3 and probabilities == sorted(probabilities, reverse=True)
    near = run_main(place, "predict", "encoder", "--near", "the cat", "a dog under the cat", *where_saved)
    assert "'cat'" in near.stdout and "1.000" in near.stdout, near.stderr
    vectors = ["--input", "texts.txt", "--output", place / f"{name}.npy"]
    process = run_main(place, "predict", "encoder", *vectors, *where_saved)
    assert np.load(place / f"{name}.npy").shape == (300, 3 * size), process.stderr


@pytest.mark.long
def test_the_gradient_through_an_export_is_that_of_the_layers(place, run_main, without_verification):
    """The hoisted LSTM has a custom gradient, which a SavedModel must keep: compared with finite differences."""
    flags = [*SMALL.split(), "--name", "gradient", "--json", *where(place)]
    process = run_main(place, "train", "encoder", "--data", "texts.csv", "--embedding-size", "8", *flags)
    module = hub.load(json.loads(process.stdout)["export"])

    def loss():
        return tf.reduce_sum(module(tf.constant(TEXTS), training=False)["pooled_output"] ** 2)

    with tf.GradientTape() as tape:
        total = loss()
    for variable, gradient in zip(
        module.trainable_variables, tape.gradient(total, module.trainable_variables), strict=True
    ):
        gradient = tf.convert_to_tensor(gradient)
        step, value = 1e-2 * gradient / tf.norm(gradient), variable.numpy()
        variable.assign(value + step)
        more = loss()
        variable.assign(value - step)
        less = loss()
        variable.assign(value)
        assert float(more - less) / 2e-2 == pytest.approx(float(tf.norm(gradient)), rel=0.02), variable.name


@pytest.mark.long
def test_word_vectors_become_an_encoder(place, run_main, without_verification):
    for file in ("glove.txt", "word2vec.txt"):
        process = run_main(
            place,
            "train",
            "encoder",
            "--vectors",
            file,
            "--name",
            file.split(".")[0],
            "--json",
            "--saved-models",
            place / "saved",
        )
        assert process.returncode == 0, process.stderr
        result = json.loads(process.stdout)
        assert result["words"] == 2 and result["size"] == 3
        module = hub.load(str(place / "saved" / file.split(".")[0] / "1"))
        sequence = module(tf.constant(["The cat, zebra"]))["sequence_output"].numpy()[0]
        assert sequence.tolist()[1:3] == [[1, 2, 3], [0, 1, 0]] and not sequence[3:].any()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--data nowhere.txt", "nowhere.txt"),
        ("--data texts.csv --text-column x", "has no column 'x'"),
        ("--data texts.txt --batch-size 4000", "too few to train on with 4000 streams"),
        ("--data texts.txt --num-heads 3 --model transformer", "--num-heads 3"),
        ("--data texts.txt --mask-rate 1", "--mask-rate 1"),
        ("--vectors nowhere.txt", "no such file"),
        ("--vectors texts.txt", "line 1: not a word vector"),
        ("--vectors bad.txt", "line 2: not a word vector"),
        ("--vectors nan.txt", "not finite"),
        ("--vectors short.txt", "its first line says 3"),
        ("--vectors glove.txt --max-tokens 0", "--max-tokens 0"),
        ("--vectors glove.txt --data texts.csv", "--data has no effect"),
        ("--data empty", "no .txt files"),
        ("--data texts.txt --text-column text", "--text-column has no effect"),
        ("--data texts.txt --num-heads 3", "--num-heads has no effect here: it needs --model transformer"),
        ("--vectors texts.csv", "line 1"),
    ],
)
def test_a_mistake_of_the_user_is_one_line(place, run_main, flags, message):
    folders = where(place)
    settings = [] if flags.startswith("--vectors") else SMALL.split()  # with word vectors nothing is trained
    assert_one_line(run_main(place, "train", "encoder", *settings, *flags.split(), *folders), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give texts"),
        (["a", "--input", "x.csv"], "give texts"),
        (["no blank"], "has no [MASK]"),
        (["[MASK] [MASK]"], "has 2 [MASK]"),
        (["--input", "x.csv"], "--input needs --output"),
        (["[MASK]", "--top", "0"], "--top 0: it must be from 1 to 100"),
        (["[MASK]", "--word", "x"], "--word has no effect without --near"),
        (["[MASK]", "--models", "a", "--name", "b"], "leave out"),
        (["[MASK]", "--name", "absent"], "absent"),
    ],
)
def test_a_prediction_that_cannot_be_made_is_one_line(place, run_main, arguments, message):
    process = run_main(place, "predict", "encoder", *arguments, "--saved-models", place / "saved")
    assert_one_line(process, message)
