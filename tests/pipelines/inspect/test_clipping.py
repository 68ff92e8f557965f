import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from pipelines.inspect import clipping
from pipelines.inspect.runs import TrainedRun
from pipelines.language_model.config import LanguageModelConfig
from pipelines.runs.run import Destination, train
from tests.pipelines.inspect.exports import assert_page, assert_refused, picture


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of two epochs that kept its weights."""
    folder = tmp_path_factory.mktemp("clipped")
    text = folder / "text.txt"
    text.write_text("the cat sat on the mat and the dog lay on the log\n" * 40)
    sizes = {"hidden_size": 8, "embedding_size": 4, "window": 8, "batch_size": 4, "epochs": 2, "dropout": 0.0}
    config = LanguageModelConfig(
        data=(str(text),), default_tokenizer="character", model="simple", keep_checkpoints=9, clip_norm=0.25,
        preset="quick", **sizes,
    ).resolve()  # fmt: skip
    train("char-lm", config, Destination(folder / "runs", folder / "saved", run="clipped", verify=False))
    return folder / "runs"


def norm_by_hand(trained: TrainedRun, batch) -> float:
    """What Keras's optimizer takes for the norm of the gradient of the mean cross-entropy: from how it clips."""
    inputs, targets = batch
    with tf.GradientTape() as tape:
        logits = trained.model(inputs)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
    gradients = tape.gradient(loss, [each.value for each in trained.model.trainable_variables])
    assert any(isinstance(each, tf.IndexedSlices) for each in gradients), "of the embeddings"
    clipped = keras.optimizers.SGD(global_clipnorm=1e-3)._clip_gradients(gradients)
    return 1e-3 * float(tf.norm(gradients[-1]) / tf.norm(clipped[-1]))


@pytest.mark.long
def test_the_norms_are_those_of_the_loss(runs):
    trained = TrainedRun(runs, "clipped")
    assert trained.config.dropout == 0
    rows = clipping.gradient_norms(trained, 3)
    assert sorted(set(rows["epoch"])) == [0, 1, 2] and len(rows) == 9
    encoded = trained.task.encode(trained.config, trained.splits, trained.tokenizer, trained.run.path)
    steps = trained.task.steps_per_epoch(trained.config, encoded)
    for epoch in (0, 2):
        trained.load_epoch(epoch)
        before = [each.numpy() for each in trained.model.weights]
        wanted = []
        for skip in (0, round((steps - 1) / 2), steps - 1):
            wanted.append(norm_by_hand(trained, next(iter(trained.task.batches(trained.config, encoded, 0, skip)))))
        found = rows[rows["epoch"] == epoch]["norm"]
        np.testing.assert_allclose(found, wanted, rtol=2e-5)
        assert all(np.array_equal(a, b.numpy()) for a, b in zip(before, trained.model.weights))


@pytest.mark.long
def test_runs_side_by_side(runs, tmp_path, capsys):
    path = tmp_path / "page.html"
    arguments = ("clipping", "--run", "clipped", "char-lm/clipped", "--runs", runs, "--batches", 2)
    printed = assert_page(capsys, path, *arguments)
    assert printed.count("char-lm/clipped: median norm") == 2 and "above --clip-norm 0.25" in printed


@pytest.mark.long
def test_a_run_without_kept_weights_is_refused(runs, capsys):
    for path in (runs / "char-lm" / "clipped" / "checkpoints").glob("epoch-*"):
        path.unlink()
    assert_refused(capsys, "kept no weights of its epochs", "clipping", "--run", "clipped", "--runs", runs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--run is missing: name the runs whose gradients are shown"),
        (("--run", "absent"), "no run 'absent'"),
        (("--run", "x", "--batches", "0"), "--batches 0: it must be from 1"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, arguments, message):
    assert_refused(capsys, message, "clipping", *arguments, "--runs", tmp_path)


def test_the_summary_of_an_epoch():
    rows = pd.DataFrame({"run": "a", "epoch": 3, "batch": range(5), "norm": [1.0, 2.0, 3.0, 4.0, np.inf]})
    table = clipping.by_epoch(rows, 2.5).iloc[0]
    assert (table["batches"], table["median"], table["maximum"], table["above"]) == (5, 2.5, 4, 0.6)
    assert (table["lower"], table["upper"]) == (1.75, 3.25)
    nothing = clipping.by_epoch(rows.assign(norm=np.nan), 1.0)
    assert nothing["above"].item() == 1 and np.isnan(nothing["median"].item())
    assert "a: median norm nan" in clipping.sentence(nothing)


def test_the_figure_draws_no_threshold_that_clips_nothing():
    rows = pd.DataFrame({"run": "a", "epoch": [0, 0, 1, 1], "batch": [0, 1] * 2, "norm": [1.0, 2.0, 3.0, 4.0]})
    tables = [clipping.by_epoch(rows, 2.5), clipping.by_epoch(rows.assign(run="b"), 1e6)]
    figure = clipping.figures(pd.concat(tables, ignore_index=True))[0]
    assert figure.columns()["clipping"]["line"] == [2.5, 2.5, None, None]
    assert figure.columns()["clipping"]["above"] == [0, 1, 0, 0]
    assert picture(figure).width > 1000


def test_weights_of_classes():
    batch = clipping._weighted((tf.zeros([3, 2]), tf.constant([1, 0, 1])), {0: 0.5, 1: 2.0})
    assert batch[2].numpy().tolist() == [2.0, 0.5, 2.0]
    assert len(clipping._weighted((tf.zeros([3, 2]), tf.constant([1, 0, 1])), None)) == 2


def test_dropout_is_repeated():
    layer = keras.layers.Dropout(0.5)
    model = keras.Sequential([keras.Input([64]), layer])
    drawn = []
    for _ in range(2):
        clipping._repeat_dropout(model, 7)
        drawn.append(model(tf.ones([2, 64]), training=True).numpy())
    assert np.array_equal(*drawn)
