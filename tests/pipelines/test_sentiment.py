import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import sentiment, text
from pipelines.answers import Answers
from pipelines.configs.base import resolved
from pipelines.configs.sentiment import DEFAULT_MODELS, PRESETS, SentimentConfig
from pipelines.data import sample_reviews
from pipelines.data.splits import Labelled, Splits
from pipelines.errors import UserError

CLASSES = ("negative", "positive")
TEXTS = sample_reviews.generate(40)[0]
LABELLED = Labelled(TEXTS, np.arange(40) % 2)
SPLITS = Splits(LABELLED, LABELLED, None, CLASSES, {})


def make(model, pairs=500, **flags):
    config = resolved(SentimentConfig(model=model, max_tokens=30, ngram_buckets=pairs, **flags), PRESETS, DEFAULT_MODELS)
    keras.utils.set_random_seed(0)
    tokenizer = sentiment.tokenizer(config, SPLITS)
    built = sentiment.build(config, tokenizer, SPLITS, training=True)
    sentiment.prepare(config, built, sentiment.ids_of(config, tokenizer, SPLITS.train)[0], SPLITS.train)
    # Larger weights than a fresh model has, so that a difference would show.
    for i, weight in enumerate(built.trainable_variables):
        weight.assign(np.random.default_rng(i).normal(scale=0.1, size=weight.shape))
    return config, tokenizer, built


MODELS = {
    "bag": dict(model="bag"),
    "bag without pairs, subwords": dict(model="bag", tokens="subword", vocabulary_size=150, pairs=0),
    "cnn": dict(model="cnn"),
    "simple": dict(model="simple", pooling="mean"),
    "gru, stacked": dict(model="gru", pooling="last", layers=2, word_vectors="cooccurrence"),
    "lstm, forwards": dict(model="lstm", bidirectional=False, pooling="last"),
    "peephole": dict(model="peephole", pooling="attention"),
    "transformer": dict(model="transformer", layers=2),
    "lstm with n-grams": dict(model="lstm", ngrams=100),
    "best": dict(model="best", data="x.csv", ngrams=100, encoder_tokens=20, hidden_size=8),
}


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def made(request):
    config, tokenizer, built = make(**request.param)
    return config, tokenizer, built, sentiment.servable(built, tokenizer, config, SPLITS)


def test_padding_and_neighbours_change_nothing(made):
    _, tokenizer, model, _ = made
    ids = text.window(tokenizer.encode(tf.constant(TEXTS[:6])), 30)
    together = model(ids.to_tensor(shape=[None, 55])).numpy()
    for i in range(6):
        np.testing.assert_allclose(model(ids[i : i + 1].to_tensor()).numpy()[0], together[i], rtol=0, atol=1e-5)


def test_the_servable_answers_with_the_model(made):
    config, tokenizer, model, servable = made
    outputs = servable.classify(tf.constant(TEXTS[:3]))
    logits = model(text.window(tokenizer.encode(tf.constant(TEXTS[:3])), config.max_tokens).to_tensor()).numpy()
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(outputs["probabilities"].numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(outputs["score"].numpy(), expected.max(axis=1), atol=1e-5)
    assert [value.decode() for value in outputs["label"].numpy()] == [CLASSES[i] for i in expected.argmax(axis=1)]


@pytest.mark.parametrize("odd", ["", " ", "\U0001f600\U0001f600", "word " * 2_000_000, "\x00", "<br />", "a" * 100_000])
def test_odd_texts_have_a_defined_answer(made, odd):
    *_, servable = made
    outputs = servable.classify(tf.constant([odd, TEXTS[0]]))
    assert np.isfinite(outputs["probabilities"].numpy()).all()
    np.testing.assert_allclose(outputs["probabilities"].numpy().sum(axis=1), 1, atol=1e-5)


def test_answers_come_in_the_order_of_the_texts():
    config, tokenizer, model = make("bag")
    servable = sentiment.servable(model, tokenizer, config, SPLITS)
    answer = Answers(servable.classify, batch_size=7)
    together = answer(TEXTS)["probabilities"]
    for i in (0, 13, 39):
        np.testing.assert_allclose(answer([TEXTS[i]])["probabilities"][0], together[i], atol=1e-5)
    assert answer(TEXTS)["label"][0] in CLASSES


def test_what_the_window_loses_is_measured():
    config, tokenizer, _ = make("bag")
    long, short = "the plot " * 50, "the plot"
    data = Labelled(np.array([long, short], dtype=object), np.array([0, 1], np.int32))
    ids, lost = sentiment.ids_of(config, tokenizer, data)
    assert ids.row_lengths().numpy().tolist() == [30, 4]
    assert lost == {"reviews_cut": 0.5, "tokens_lost": pytest.approx(72 / 106)}


def test_class_weights_balance():
    labels = np.array([0] * 30 + [1] * 10, np.int32)
    splits = Splits(Labelled(TEXTS, labels), Labelled(TEXTS, labels), None, CLASSES, {})
    assert sentiment.class_weight(SentimentConfig(), splits) is None
    weights = sentiment.class_weight(SentimentConfig(class_weights=True), splits)
    assert weights == {0: pytest.approx(40 / 60), 1: pytest.approx(2.0)}


def load(tmp_path, rows, valid=None, **flags):
    (tmp_path / "a.csv").write_text("text,label,url\n" + "".join(f"{t},{label},{url}\n" for t, label, url in rows))
    if valid:
        (tmp_path / "v.csv").write_text("text,label\n" + "".join(f"{t},{label}\n" for t, label in valid))
        flags["valid"] = str(tmp_path / "v.csv")
    return sentiment.load(SentimentConfig(data=str(tmp_path / "a.csv"), **flags))


def test_load_splits_by_film_and_removes_what_validation_has(tmp_path):
    rows = [(f"review {i}", "pos" if i % 2 else "neg", f"film {i % 20}") for i in range(200)]
    rows += [("the same words", "pos", f"film {i}") for i in range(20)]
    splits = load(tmp_path, rows)
    assert splits.classes == ("negative", "positive")
    assert not {t.lower() for t in splits.train.texts} & {t.lower() for t in splits.valid.texts}
    assert splits.notes["left out of training, the same text is in validation"] == 18
    assert len(splits.train) + len(splits.valid) == 220 - 18


def test_load_with_an_own_validation_set(tmp_path):
    rows = [(f"review {i}", i % 2, "x") for i in range(20)]
    splits = load(tmp_path, rows, valid=[("other", "positive"), ("Review 3", "negative"), ("odd", "meh")])
    assert splits.valid.texts.tolist() == ["other", "Review 3"]
    assert splits.valid.labels.tolist() == [1, 0]
    assert splits.notes == {
        "left out of training, the same text is in validation": 1,
        "left out of valid, unknown label": 1,
    }


def test_load_says_when_the_split_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="left no class .* --valid"):
        load(tmp_path, [("one", "pos", "a"), ("two", "neg", "b")])


def phones(classes=("neg", "pos")):
    """Rows of which one side says "sturdy" and the other "noisy"."""
    says = "It is a very noisy telephone.", "It is a very sturdy telephone."
    return [(f"{says[i % 2]} Number {i}", classes[i % 2], f"url {i}") for i in range(60)]


def test_made_sentences_are_for_training_alone(tmp_path):
    without = load(tmp_path, phones())
    splits = load(tmp_path, phones(), negations=100)
    assert splits.train.made == 100 and without.train.made == 0
    assert splits.train.texts[:-100].tolist() == without.train.texts.tolist()
    assert splits.valid.texts.tolist() == without.valid.texts.tolist()
    assert 100 in splits.notes.values()


def test_no_sentences_are_made_where_classes_mean_something_else(tmp_path):
    splits = load(tmp_path, phones(classes=("hardware", "software")), negations=100)
    assert splits.train.made == 0 and not splits.notes


def test_the_linear_classifier_learns_from_reviews_alone(tmp_path):
    learned = []
    for negations in (0, 100):
        flags = dict(model="best", preset="quick", ngrams=100, negations=negations)
        config = resolved(SentimentConfig(data=str(tmp_path / "a.csv"), **flags), PRESETS, DEFAULT_MODELS)
        splits = load(tmp_path, phones(), negations=negations)
        tokenizer = sentiment.tokenizer(config, SPLITS)
        model = sentiment.build(config, tokenizer, splits, training=True)
        sentiment.prepare(config, model, sentiment.ids_of(config, tokenizer, splits.train)[0], splits.train)
        learned.append(model.get_layer("ngram_logits").get_weights())
    for with_none, with_some in zip(*learned):
        np.testing.assert_array_equal(with_none, with_some)
