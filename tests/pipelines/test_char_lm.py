import keras
import numpy as np
import pytest

from pipelines import char_lm
from pipelines.configs.base import resolved
from pipelines.configs.char_lm import DEFAULT_MODELS, PRESETS, CharLmConfig
from pipelines.errors import UserError
from pipelines.text import UNKNOWN


def config(**flags):
    return resolved(CharLmConfig(**flags), PRESETS, DEFAULT_MODELS)


def write(folder, content, name="a.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_the_end_of_the_text_validates(tmp_path):
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    splits = char_lm.load(config(data=write(tmp_path, text), valid_fraction=0.2))
    assert "".join(splits.train.pieces()) == text[:800] and "".join(splits.valid.pieces()) == text[800:]
    assert (splits.train.characters, splits.valid.characters) == (800, 200)


def test_an_own_validation_text(tmp_path):
    splits = char_lm.load(config(data=write(tmp_path, "train" * 50), valid=write(tmp_path, "valid", "v.txt")))
    assert "".join(splits.train.pieces()) == "train" * 50 and "".join(splits.valid.pieces()) == "valid"


def test_tokens_of_both_texts(tmp_path):
    settings = config(data=write(tmp_path, "abc " * 500), valid=write(tmp_path, "abd", "v.txt"), window=8, batch_size=4)
    splits = char_lm.load(settings)
    tokenizer = char_lm.tokenizer(settings, splits)
    encoded = char_lm.encode(settings, tokenizer, splits, tmp_path)
    assert len(encoded.train) == 2000 and len(set(encoded.train.tolist())) == 4
    assert encoded.valid[2] == UNKNOWN and encoded.valid[0] == encoded.train[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"abc" * 20, "too few .*--batch-size or --window"),
        (b"text\x00\x01\x02" * 100, "not text"),
        ("caf\u00e9 ".encode("latin1") * 100, "not UTF-8 .*iconv"),
        ("text ".encode() * 300 + "caf\u00e9".encode("latin1"), "not UTF-8"),
    ],
    ids=["empty", "short", "binary", "latin1", "mixed"],
)
def test_texts_that_cannot_be(tmp_path, content, said):
    settings = config(data=write(tmp_path, content))
    with pytest.raises(UserError, match=said):
        splits = char_lm.load(settings)
        char_lm.encode(settings, char_lm.tokenizer(settings, splits), splits, tmp_path)


def test_measures():
    losses = np.full(10, np.log(4), np.float32)
    measures = char_lm.measures(losses, characters=20, unknown=0)
    assert measures["perplexity"] == pytest.approx(4) and measures["loss"] == pytest.approx(np.log(4))
    assert measures["bits_per_character"] == pytest.approx(1)  # 10 tokens of 2 bits each over 20 characters


def test_schedules():
    rates = {}
    for name in ("cosine", "step", "constant", "plateau"):
        schedule = char_lm.learning_rate(config(schedule=name, learning_rate=0.01), 1000)
        rates[name] = [float(schedule(step)) if callable(schedule) else schedule for step in (0, 50, 400, 550, 700, 999)]
    assert rates["constant"] == rates["plateau"] == [0.01] * 6
    np.testing.assert_allclose(rates["step"], [0.01, 0.01, 0.01, 0.005, 0.0025, 0.000625], rtol=1e-5)
    assert rates["cosine"][0] == 0 and rates["cosine"][1] == pytest.approx(0.01) and rates["cosine"][-1] < 1e-5


def test_the_plateau_halves_after_each_epoch_without_gain():
    rows = [{"val_loss": loss} for loss in (3.0, 2.0, 2.0, 2.5, 1.0, 1.5)]
    assert [char_lm.epochs_without_gain(rows[:n]) for n in range(7)] == [0, 0, 0, 1, 2, 2, 3]
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    settings = config(schedule="plateau", learning_rate=0.01)
    model.compile(**char_lm.compile_arguments(settings, 100))
    position = type("Position", (), {"rows": rows[:4]})
    char_lm.fit_arguments(settings, model, None)["begin_epoch"](position)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.0025)


def test_weight_decay_leaves_biases_and_norms_alone():
    settings = config(model="transformer", hidden_size=8, heads=2, layers=1, weight_decay=0.5)
    from pipelines import language_models

    model = language_models.build(settings, 20)
    arguments = char_lm.compile_arguments(settings, 10)
    optimizer = arguments["optimizer"]
    optimizer.build(model.trainable_variables)
    decayed = {v.path for v in model.trainable_variables if optimizer._use_weight_decay(v)}
    assert any(path.endswith("kernel") for path in decayed)
    assert not [path for path in decayed if path.endswith(("bias", "gamma", "beta"))]
