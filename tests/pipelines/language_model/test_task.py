import keras
import numpy as np
import pytest

from pipelines.language_model import task
from pipelines.language_model.config import LanguageModelConfig
from pipelines.runs import fitting
from pipelines.support.errors import UserError
from pipelines.text.tokenizers import UNKNOWN
from pipelines.training.checkpoints import Position


def resolve(**flags):
    return LanguageModelConfig(**({"tokenizer": "character"} | flags)).resolve()


def write(folder, content, name="a.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_the_tokens_of_both_texts(tmp_path):
    data, valid = write(tmp_path, "abc " * 500), write(tmp_path, "abd", "v.txt")
    config = resolve(data=data, valid=valid, window=8, batch_size=4)
    splits = task.load(config)
    tokenizer = task.make_tokenizer(config, splits)
    encoded = task.encode(config, splits, tokenizer, tmp_path)
    assert len(encoded.train) == 2000 and len(set(encoded.train.tolist())) == 4
    assert encoded.valid[2] == UNKNOWN and encoded.valid[0] == encoded.train[0]
    assert task.items_per_epoch(encoded) == 2000 and task.steps_per_epoch(config, encoded) == (2000 - 8) // 4 // 8
    described = task.describe_data(config, splits, encoded)
    assert described["characters"] == {"train": 2000, "valid": 3} and described["rows"] == {"train": 2000, "valid": 3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"abc" * 20, "too few .*--batch-size or --window"),
        (b"text\x00\x01\x02" * 100, "not text"),
        ("caf\u00e9 ".encode("latin1") * 100, "not UTF-8 .*give its encoding with --encoding cp1252"),
        (b"text " * 300 + "caf\u00e9".encode("latin1"), "not UTF-8"),
    ],
    ids=["empty", "short", "binary", "latin1", "mixed"],
)
def test_texts_that_no_training_can_use(tmp_path, content, message):
    config = resolve(data=write(tmp_path, content))
    with pytest.raises(UserError, match=message):
        splits = task.load(config)
        task.encode(config, splits, task.make_tokenizer(config, splits), tmp_path)


def test_learning_rate_schedules():
    rates = {}
    for name in ("cosine", "step", "constant", "plateau"):
        schedule = task.learning_rate(resolve(schedule=name, learning_rate=0.01), 1000)
        steps = (0, 50, 400, 550, 700, 999)
        rates[name] = [float(schedule(step)) if callable(schedule) else schedule for step in steps]
    assert rates["constant"] == rates["plateau"] == [0.01] * 6
    np.testing.assert_allclose(rates["step"], [0.01, 0.01, 0.01, 0.005, 0.0025, 0.000625], rtol=1e-5)
    assert rates["cosine"][0] == 0 and rates["cosine"][1] == pytest.approx(0.01) and rates["cosine"][-1] < 1e-5


def test_the_plateau_schedule_halves_after_each_epoch_without_gain():
    rows = [{"val_loss": loss} for loss in (3.0, 2.0, 2.0, 2.5, 1.0, 1.5)]
    assert [task.epochs_without_gain(rows[:n]) for n in range(7)] == [0, 0, 0, 1, 2, 2, 3]
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    config = resolve(schedule="plateau", learning_rate=0.01)
    task.compile_model(config, model, 100)
    task.fit_options(config, None, model).on_epoch_begin(Position(epoch=4, rows=rows[:4]))
    assert float(model.optimizer.learning_rate) == pytest.approx(0.0025)


def test_weight_decay_leaves_biases_and_norms_alone():
    config = resolve(model="transformer", hidden_size=8, num_heads=2, num_layers=1, weight_decay=0.5)
    from pipelines.language_model import networks

    model = networks.build(config, 20)
    task.compile_model(config, model, 10)
    model.optimizer.build(model.trainable_variables)
    decayed = {v.path for v in model.trainable_variables if model.optimizer._use_weight_decay(v)}
    assert any(path.endswith("kernel") for path in decayed)
    assert not [path for path in decayed if path.endswith(("bias", "gamma", "beta"))]


def test_the_words_of_two_documents_are_not_joined(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("the cat\nsat down\nthe cat\n" * 20)
    config = LanguageModelConfig(data=str(path), documents="line", tokenizer="word", preset="words").resolve()
    tokenizer = task.make_tokenizer(config, task.load(config))
    assert set(tokenizer.vocabulary()[4:]) == {"the", "cat", "sat", "down"}


@pytest.mark.long
def test_shown_texts_of_documents_continue_a_start_of_the_validation_text(tmp_path, capfd):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(f"{word} begins line {i}" for i in range(40) for word in ("First", "Second", "Third")))
    sizes = {"hidden_size": 8, "embedding_size": 4, "num_layers": 1, "window": 16, "batch_size": 4, "epochs": 1}
    config = resolve(data=str(path), documents="line", **sizes)
    folder = tmp_path / "run"
    folder.mkdir()
    trained = fitting.fit_and_measure(task, config, task.load(config), folder)
    (sample,) = trained.details["samples"]
    assert sample["prompt"].startswith("First begins line 3")
    assert "    | First b" in capfd.readouterr().err
