import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from layers import NGramLogits
from pipelines.linear import linear_model, linear_problem, ngrams
from pipelines.pretrained import vector_model


def texts(classes, rows=300):
    """Texts whose class is given by one pair of neighbouring tokens. With two classes, single tokens do not give it."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, rows)
    lengths = rng.integers(5, 30, rows)
    ids = []
    for label, length in zip(labels, lengths):
        row = rng.integers(4, 30, length)
        at = rng.integers(1, length - 1)
        pair = (30 + label, 30 + (label + 1) % classes)
        row[at : at + 2] = pair
        ids.append(row.tolist())
    return tf.ragged.constant(ids, dtype=tf.int32), labels


def layer_of(classes, **arguments):
    """A layer for both weightings."""
    layer = NGramLogits(2 * classes, **arguments)
    layer.build((None, None), (None, None))
    return layer


def counted(layer, inputs):
    """The n-grams of texts that the layer may know."""
    return ngrams.count(ngrams.hash_texts(inputs, layer.max_n, layer.max_characters), layer.num_ngrams)


def labels_of(layer, ids):
    """The labels by the mean of the logits with each weighting."""
    logits = ops.convert_to_numpy(layer(ids.to_tensor()))
    return logits.reshape(len(logits), 2, -1).mean(axis=1).argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 4])
def test_it_finds_the_pairs_that_tell_the_class(classes):
    ids, labels = texts(classes)
    layer = layer_of(classes, num_ngrams=5000, max_n=2)
    linear_model.fit(layer, counted(layer, {"ids": ids[:200]}), labels[:200], None, seed=1)
    assert (labels_of(layer, ids[200:]) == labels[200:]).mean() > 0.95
    singles = layer_of(classes, num_ngrams=5000, max_n=1)
    linear_model.fit(singles, counted(singles, {"ids": ids[:200]}), labels[:200], None, seed=1)
    if classes == 2:  # both tokens of the pair are in every text
        assert (labels_of(singles, ids[200:]) == labels[200:]).mean() < 0.7


def test_several_labels_have_a_decision_each():
    ids, first = texts(2)
    second = np.random.default_rng(1).integers(0, 2, len(first))
    ids = tf.concat([ids, tf.RaggedTensor.from_tensor(40 + second[:, None].astype(np.int32))], axis=1)
    labels = np.stack([first, second, np.ones_like(first)], axis=1)  # the last label is in every text
    answers = []
    for classes in (3, 2):
        layer = layer_of(classes, num_ngrams=5000, max_n=2)
        linear_model.fit(layer, counted(layer, {"ids": ids[:200]}), labels[:200, :classes], None, seed=1)
        logits = ops.convert_to_numpy(layer(ids[200:].to_tensor()))
        answers.append(logits.reshape(len(logits), 2, -1).mean(axis=1) > 0)
    assert ((answers[0] == labels[200:]).mean(axis=0) > 0.95).all()
    np.testing.assert_array_equal(answers[1], answers[0][:, :2])  # no decision depends on the others


@pytest.mark.parametrize(("weighted", "repeats"), [(False, 0.0), (True, 0.0), (False, 1.0)])
def test_the_layer_computes_what_scikit_learn_fitted(weighted, repeats, monkeypatch):
    from sklearn.svm import LinearSVC

    choice = linear_model.Choice(cost=3, ratio_cost=0.3, factors=(1.5, 0.0, 0.75), repeats=repeats)
    monkeypatch.setattr(linear_model, "_choose", lambda *arguments, **options: (choice, 0.0))
    ids, labels = texts(2)
    layer = layer_of(2, num_ngrams=5000, max_n=1)
    class_weight = {0: 1.0, 1: 3.0} if weighted else None
    text_weight = np.where(labels == 1, 3.0, 1.0) if weighted else None
    linear_model.fit(layer, counted(layer, {"ids": ids}), labels, text_weight, seed=1)
    counts = np.stack([np.bincount(text, minlength=41) for text in ids.to_list()])
    occurrences = (counts > 0).astype(float)
    p, q = occurrences[labels == 1].sum(0) + 1, occurrences[labels == 0].sum(0) + 1
    known = occurrences.any(axis=0)
    p, q = p * known, q * known
    with np.errstate(invalid="ignore"):
        log_count_ratios = np.where(known, np.log((p / p.sum()) / (q / q.sum())), 0)
    idf = np.where(known, np.log(301 / (1 + occurrences.sum(0))) + 1, 0)
    expected = []
    for ratios in (idf, log_count_ratios):
        scaled = occurrences * (1 + repeats * np.log(np.maximum(counts, 1))) * ratios * 2
        norm = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
        trust = np.minimum(1, norm / np.percentile(norm, 1)) ** 4
        scaled = trust * np.concatenate([scaled / norm, np.ones_like(norm)], axis=1)  # the last column is the bias
        solver = LinearSVC(
            C=3 if ratios is idf else 0.3, tol=1e-8, max_iter=100_000, class_weight=class_weight, fit_intercept=False
        )
        weight = np.where(labels == 1, 3.0 if weighted else 1.0, 1.0)
        prior = np.log((weight[labels == 1].sum() + 1) / (weight[labels == 0].sum() + 1))
        expected.append((solver.fit(scaled, labels).decision_function(scaled), (1 - trust[:, 0]) * prior))
    logits = ops.convert_to_numpy(layer(ids.to_tensor())).reshape(300, 2, 2)  # [texts, weightings, classes]
    np.testing.assert_allclose(logits[..., 0], -logits[..., 1], atol=1e-5)
    for i, factor in enumerate((2 * 1.5, 2 * 0.75)):  # twice, because the model takes the mean
        margin = logits[:, i, 1] - logits[:, i, 0]
        of_weights, of_prior = expected[i]
        np.testing.assert_allclose(margin, factor * of_weights + of_prior, atol=0.25)  # the fit stops earlier


def test_a_text_of_weight_0_teaches_nothing():
    ids, labels = texts(2)
    wrong = np.arange(len(labels)) % 3 == 0
    given = np.where(wrong, 1 - labels, labels)
    layer = layer_of(2, num_ngrams=5000, max_n=2)
    linear_model.fit(layer, counted(layer, {"ids": ids}), given, np.where(wrong, 0.0, 1.0), seed=1)
    assert (labels_of(layer, ids) == labels)[wrong].mean() > 0.95
    one_class = np.where(labels == 1, 0.0, 1.0)  # no text of class 1 counts
    linear_model.fit(layer, counted(layer, {"ids": ids}), labels, one_class, seed=1)
    assert np.isfinite(ops.convert_to_numpy(layer(ids.to_tensor()))).all()


def overlapping_texts(rows, seed):
    """Texts of two classes that share all tokens: no model is right about all of them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, rows)
    shares = np.array([np.linspace(1, 2, 40), np.linspace(2, 1, 40)]) / 60
    ids = [(4 + rng.choice(40, 12, p=shares[label])).tolist() for label in labels]
    return tf.ragged.constant(ids, dtype=tf.int32), labels


def test_probabilities_are_calibrated():
    ids, labels = overlapping_texts(3000, seed=0)
    layer = layer_of(2, num_ngrams=50_000, max_n=2)
    linear_model.fit(layer, counted(layer, {"ids": ids[:1000]}), labels[:1000], None, seed=1)
    logits = ops.convert_to_numpy(layer(ids[1000:].to_tensor())).reshape(-1, 2, 2).mean(axis=1)
    probability = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
    right = (probability > 0.5) == labels[1000:]
    confidence = np.maximum(probability, 1 - probability)
    assert 0.6 < right.mean() < 0.95
    assert abs(confidence.mean() - right.mean()) < 0.05


def test_the_factors_follow_the_data(capsys):
    """Where single tokens tell the class for sure, the logits are large."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    certain = tf.constant(np.stack([10 + rng.integers(0, 500, 200), 4 + labels], axis=1).astype(np.int32))
    factors = []
    for ids, of in ((tf.RaggedTensor.from_tensor(certain), labels), overlapping_texts(200, seed=1)):
        layer = layer_of(2, num_ngrams=50_000, max_n=1)
        choice = linear_model.fit(layer, counted(layer, {"ids": ids}), of, None, seed=1)
        assert f"(C {choice.cost:.2g})" in capsys.readouterr().err
        factors.append(sum(choice.factors))
    assert factors[0] > 3 * factors[1]


@pytest.mark.parametrize("classes", [2, 3])
def test_repeated_ngrams_count_where_their_number_tells_the_class(classes):
    """All tokens are in every text; that of its class is there six times."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, 300)
    rows = [[5 + k for k in range(classes)] + [5 + label] * 5 + rng.integers(10, 40, 6).tolist() for label in labels]
    ids = tf.ragged.constant([rng.permutation(row).tolist() for row in rows], dtype=tf.int32)
    layer = layer_of(classes, num_ngrams=5000, max_n=1)
    choice = linear_model.fit(layer, counted(layer, {"ids": ids[:200]}), labels[:200], None, seed=1)
    assert choice.repeats == layer.repeats[0] == 1
    assert (labels_of(layer, ids[200:]) == labels[200:]).mean() > 0.95
    once = linear_model.Choice(3.0)
    linear_model.fit(layer, counted(layer, {"ids": ids[:200]}), labels[:200], None, seed=1, choice=once)
    assert layer.repeats[0] == 0 and (labels_of(layer, ids[200:]) == labels[200:]).mean() < 0.7
    # Among many n-grams that a text has once, the search leaves that out.
    rows = [[*row, *rng.integers(1000, 30_000, 60)] for row in rows]
    ids = tf.ragged.constant(rows, dtype=tf.int32)
    assert linear_model.fit(layer, counted(layer, {"ids": ids}), labels, None, seed=1).repeats == 0


@pytest.mark.parametrize("num_weightings", [1, 2])
def test_the_search_computes_what_the_layer_computes(num_weightings, monkeypatch):
    ids, labels = texts(4)
    layer = NGramLogits(4 * num_weightings, num_ngrams=5000, max_n=2, fading=2)
    layer.build((None, None), (None, None))
    chosen = []
    choose = linear_model._choose
    monkeypatch.setattr(
        linear_model,
        "_choose",
        lambda problem, *rest, **options: chosen.append(problem) or choose(problem, *rest, **options),
    )
    linear_model.fit(layer, counted(layer, {"ids": ids}), labels, None, seed=1)
    (problem,) = chosen
    values = [ops.convert_to_numpy(value)[: problem.occurrences.shape[1]] for value in (layer.squared, layer.weighted)]
    ratios = np.sqrt(values[0])
    with np.errstate(invalid="ignore"):
        weights = np.nan_to_num(values[1] / ratios)
    bias, min_norm, prior = map(ops.convert_to_numpy, (layer.bias, layer.min_norm, layer.prior))
    expected = ops.convert_to_numpy(layer(ids.to_tensor()))
    occurrences = ngrams.with_repeats(problem.occurrences, float(layer.repeats[0]))
    logits = linear_problem.compute_logits(occurrences, ratios, weights, bias, min_norm, prior, problem.fading)
    np.testing.assert_allclose(logits, expected, atol=1e-3)


@pytest.mark.parametrize(("seconds", "said"), [(0.001, []), (0.1, ["expected: about 2 min for the fit"])])
def test_a_fit_of_minutes_says_so(monkeypatch, capsys, seconds, said):
    monkeypatch.setattr(linear_model, "_choose", lambda problem: (linear_model.Choice(1.0), seconds))
    linear_model.choose(None, size=1100)
    assert capsys.readouterr().err.splitlines()[1:] == said


def test_the_search_measures_the_time_of_a_fit(monkeypatch):
    ids, labels = texts(2)
    layer = layer_of(2, num_ngrams=5000, max_n=1)
    found = counted(layer, {"ids": ids})
    problem = linear_problem.Problem.of(layer, found, labels, None, 2, seed=1)
    now = iter(np.arange(0, 10**6, 2.0))  # each call is two seconds later
    monkeypatch.setattr(linear_model.time, "monotonic", lambda: next(now))
    choice, seconds = linear_model._choose(problem)
    members = 3 if choice.ratio_cost else 2  # with complement naive Bayes
    # Each of the three folds is left out once: the fits read twice all n-grams.
    assert seconds == pytest.approx(2 * members / (2 * found.occurrences.nnz))


def test_it_counts_ngrams_of_characters():
    words = ["untidy", "unhappy", "unsafe", "careful", "joyful", "helpful"]
    characters = tf.ragged.constant([[ord(c) for c in f" {word} "] for word in words * 4], dtype=tf.int32)
    ids = tf.ragged.constant([[2, 1, 3]] * 24, dtype=tf.int32)  # unknown words
    layer = layer_of(2, num_ngrams=5000, max_n=2, max_characters=4)
    labels = np.array([0, 0, 0, 1, 1, 1] * 4)
    linear_model.fit(layer, counted(layer, {"ids": ids, "characters": characters}), labels, None, seed=1)
    new = tf.ragged.constant([[ord(c) for c in f" {word} "] for word in ("unwise", "hopeful")], dtype=tf.int32)
    logits = ops.convert_to_numpy(layer(ids[:2].to_tensor(), new.to_tensor())).reshape(2, 2, 2)
    assert (logits.argmax(axis=2) == [[0, 0], [1, 1]]).all()


def test_in_many_texts_rare_ngrams_do_not_count(monkeypatch):
    monkeypatch.setattr(ngrams, "_TEXTS_PER_COUNT", 10)
    ids = tf.ragged.constant([[4, 5 + i // 3] for i in range(30)], dtype=tf.int32)  # each second token is in 3 texts
    counts = {}
    for rows in (20, 30):
        layer = layer_of(2, num_ngrams=100, max_n=1)
        linear_model.fit(layer, counted(layer, {"ids": ids[:rows]}), np.arange(rows) % 2, None, seed=1)
        counts[rows] = int((ops.convert_to_numpy(layer.squared)[:, 0] > 0).sum())
    assert counts == {20: 8, 30: 11}
    monkeypatch.setattr(ngrams, "_TEXTS_PER_COUNT", 7)
    layer = layer_of(2, num_ngrams=100, max_n=1)
    linear_model.fit(layer, counted(layer, {"ids": ids}), np.arange(30) % 2, None, seed=1)
    assert int((ops.convert_to_numpy(layer.squared)[:, 0] > 0).sum()) == 1


def test_only_the_most_frequent_ngrams_are_kept():
    ids, labels = texts(2)
    layer = layer_of(2, num_ngrams=8, max_n=2)
    linear_model.fit(layer, counted(layer, {"ids": ids}), labels, None, seed=1)
    known = set(ops.convert_to_numpy(layer.hashes).tolist())
    hashes = ops.convert_to_numpy(layer.hash_ngrams(ids.to_tensor()))
    counts = {h: (hashes == h).any(axis=1).sum() for h in np.unique(hashes) if h >= 0}
    kept = [count for h, count in counts.items() if h in known]
    assert len(kept) == 8 and min(kept) >= sorted(counts.values())[-8]


def test_without_ngrams_all_texts_have_the_same_logits():
    layer = layer_of(2, num_ngrams=8)
    empty = tf.RaggedTensor.from_row_lengths(tf.zeros([0], tf.int32), [0, 0, 0])
    linear_model.fit(layer, counted(layer, {"ids": empty}), np.array([0, 1, 1]), None, seed=1)
    logits = ops.convert_to_numpy(layer(np.array([[4, 5], [8, 9]])))
    assert np.isfinite(logits).all()
    np.testing.assert_array_equal(logits[0], logits[1])


def test_the_same_seed_gives_the_same_weights():
    ids, labels = texts(2)
    values = []
    for _ in range(2):
        layer = layer_of(2, num_ngrams=500)
        linear_model.fit(layer, counted(layer, {"ids": ids}), labels, None, seed=1)
        values.append(layer.get_weights())
    keras.tree.map_structure(np.testing.assert_array_equal, *values)


@pytest.mark.parametrize(("classes", "tell"), [(2, True), (4, True), (4, False)])
def test_vectors_count_as_much_as_they_tell(classes, tell):
    rng = np.random.default_rng(1)
    ids = tf.ragged.constant(rng.integers(4, 30, (200, 6)).tolist(), dtype=tf.int32)  # they tell nothing
    labels = np.arange(200) % classes
    vectors = rng.normal(size=(200, 5)).astype(np.float32)
    vectors += 3 * rng.normal(size=(classes, 5))[labels] * tell
    dense = keras.layers.Dense(classes)
    dense.build((None, 5))
    layer = layer_of(classes, num_ngrams=500, max_n=2)
    given = vector_model.Vectors(dense, vectors)
    choice = linear_model.fit(layer, counted(layer, {"ids": ids}), labels, None, seed=1, vectors=given)
    logits = layer(ids.to_tensor()).numpy().reshape(200, 2, -1).mean(axis=1) + dense(vectors).numpy()
    if tell:
        assert (logits.argmax(axis=1) == labels).mean() > 0.8
        assert choice.losses["both"] <= choice.losses["encoder"] + 1e-6 < choice.losses["n-grams"]
    else:
        assert choice.vector_factor < 0.2


def test_vectors_of_several_labels_are_fitted_for_each_label():
    rng = np.random.default_rng(1)
    ids = tf.ragged.constant(rng.integers(4, 30, (200, 6)).tolist(), dtype=tf.int32)
    labels = rng.integers(0, 2, (200, 3))
    vectors = np.float32(labels * 2 + 0.5 * rng.normal(size=(200, 3)))
    dense = keras.layers.Dense(3)
    dense.build((None, 3))
    layer = layer_of(3, num_ngrams=500, max_n=2)
    given = vector_model.Vectors(dense, vectors)
    linear_model.fit(layer, counted(layer, {"ids": ids}), labels, None, seed=1, vectors=given)
    logits = layer(ids.to_tensor()).numpy().reshape(200, 2, -1).mean(axis=1) + dense(vectors).numpy()
    assert ((logits > 0) == labels).mean() > 0.95
