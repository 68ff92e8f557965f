"""What a state still knows: linear probes for earlier tokens, and for the number of the subject.

A probe is a logistic regression that reads one state and answers a question about the past: which token stood k steps
ago? is the subject plural? If it answers unseen states better than the most frequent answer does, the state holds the
information in a linear form. A network with random weights remembers something, too, and text itself can be guessed:
so every curve needs that of a random network beside it (the control) and the majority class (the floor).

Source: Adi et al. 2017, "Fine-grained analysis of sentence embeddings using auxiliary prediction tasks"; controls as in
Hewitt and Liang 2019, "Designing and interpreting probes with control tasks".
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pipelines.inspect.sentences import VERBS, AgreementSentence
from pipelines.labelled.metrics import wilson_interval
from pipelines.support import blas
from pipelines.support.errors import UserError

_TRAINED_FRACTION = 0.7
_MAX_ITERATIONS = 300
_PENALTY = 1.0  # C of scikit-learn, the inverse of the strength
_MIN_ROWS = 20


def probe(inputs: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, seed: int = 1) -> dict:
    """Trains a probe on 70 % of the rows and tests it on the others.

    Args:
        inputs: float [rows, units]. They are standardized with the mean and the deviation of the training rows.
        labels: [rows], of any number of classes.
        groups: int [rows], such as the sentence of each row: all rows of a group are on the same side.
        seed: of the split.

    Returns:
        "accuracy" on the test rows; "low" and "high", its 95 % interval (Wilson); "floor", the accuracy of the training
        rows' most frequent class on the test rows; "rows", the number of test rows. Without variety, which is one class
        in training, the accuracy is the floor.

    Raises:
        UserError: there are fewer than 20 rows, or too few groups for a training and a test part.
    """
    from sklearn.linear_model import LogisticRegression

    if len(inputs) < _MIN_ROWS:
        raise UserError(f"{len(inputs)} states are too few for a probe: give at least {_MIN_ROWS}")
    groups = np.arange(len(inputs)) if groups is None else np.asarray(groups)
    in_training = training_rows(groups, seed)
    if in_training.all():
        raise UserError("all states for a probe are of one text: give states of several texts")
    inputs, labels = np.asarray(inputs, np.float64), np.asarray(labels)
    train, test = inputs[in_training], inputs[~in_training]
    classes, counts = np.unique(labels[in_training], return_counts=True)
    truth = labels[~in_training]
    floor = float((truth == classes[counts.argmax()]).mean())
    correct = round(floor * len(truth))
    if len(classes) > 1:
        mean, deviation = train.mean(axis=0), train.std(axis=0) + 1e-8
        model = LogisticRegression(C=_PENALTY, max_iter=_MAX_ITERATIONS, tol=1e-3, random_state=seed)
        _fit(model, (train - mean) / deviation, labels[in_training])
        correct = int((model.predict((test - mean) / deviation) == truth).sum())
    low, high = wilson_interval(correct, len(truth))
    return {"accuracy": correct / len(truth), "low": low, "high": high, "floor": floor, "rows": len(truth)}


def training_rows(groups: np.ndarray, seed: int = 1) -> np.ndarray:
    """Returns which rows `probe` trains on, bool [rows]: those of 70 % of the groups."""
    names = np.random.default_rng(seed).permutation(np.unique(groups))
    return np.isin(groups, names[: max(1, int(_TRAINED_FRACTION * len(names)))])


def earlier_tokens(
    states: np.ndarray,
    ids: np.ndarray,
    distances: Sequence[int],
    texts: np.ndarray | None = None,
    num_tokens: int = 100,
    seed: int = 1,
) -> pd.DataFrame:
    """Returns how well probes tell which token stood k steps before the one that a state has just read.

    Args:
        states: float [n, units], the state after each token, in the order of the text.
        ids: int [n], the tokens.
        distances: values of k; 0 asks for the token that was just read.
        texts: int [n], the text of each token, such as its sentence: a state is not asked for tokens of another text.
            By default all are one text, which is divided into runs of 100 tokens for training and test.
        num_tokens: the most frequent tokens, which are the classes; states after others are left out.
        seed: of the split.

    Returns:
        One row per k: "k", and the entries of `probe`. A k that leaves fewer than 20 states has no row.

    Raises:
        UserError: as `probe`; or the arrays have different lengths, or no k leaves enough states.
    """
    states, ids = np.asarray(states), np.asarray(ids)
    if len(states) != len(ids) or (texts is not None and len(texts) != len(ids)):
        raise UserError(f"{len(states)} states of {len(ids)} tokens: give one state for each token")
    groups = np.arange(len(ids)) // 100 if texts is None else np.asarray(texts)
    names, counts = np.unique(ids, return_counts=True)
    is_class = np.isin(ids, names[np.argsort(-counts, kind="stable")[:num_tokens]])
    rows = []
    for k in distances:
        now = np.arange(k, len(ids))
        kept = is_class[now - k]
        if texts is not None:
            kept &= groups[now] == groups[now - k]
        now = now[kept]
        if len(now) >= _MIN_ROWS:
            rows.append({"k": int(k)} | probe(states[now], ids[now - k], groups[now], seed))
    if not rows:
        raise UserError(f"no text is long enough for the distances {list(distances)}: give longer texts")
    return pd.DataFrame(rows)


def number_of_subject(
    states: np.ndarray, sentences: Sequence[AgreementSentence], distances: Sequence[int], seed: int = 1
) -> pd.DataFrame:
    """Returns how well probes tell whether the subject is plural, k words after it and before the verb.

    Each k has a probe of its own. The sentences need a balance of attractors, as `sentences.test_sentences` gives them:
    else the probe reads the number of the last noun.

    Args:
        states: float [sentences, time, units], the states after each word of the prefixes, the first word at time 0;
            word tokens.
        sentences: with the verbs was and were.
        distances: values of k; 0 is the state that has just read the subject.
        seed: of the split into sentences for training and for the test.

    Returns:
        One row per k that at least 20 sentences reach: "k", and the entries of `probe`.

    Raises:
        UserError: `states` has no row for a sentence or no time for a word, or no k is reached.
    """
    states = np.asarray(states)
    longest = max((len(sentence.prefix.split(" ")) for sentence in sentences), default=0)
    if len(states) != len(sentences) or states.shape[1] < longest:
        raise UserError(f"states of shape {states.shape} for {len(sentences)} sentences of up to {longest} words")
    plural = np.array([sentence.right == VERBS[1] for sentence in sentences])
    subjects = np.array([sentence.subject for sentence in sentences])
    reach = np.array([sentence.distance for sentence in sentences])
    rows = []
    for k in distances:
        usable = np.flatnonzero(reach >= k)
        if len(usable) >= _MIN_ROWS:
            inputs = states[usable, subjects[usable] + k]
            rows.append({"k": int(k)} | probe(inputs, plural[usable], seed=seed))
    if not rows:
        raise UserError(f"no distance of {list(distances)} is reached by {_MIN_ROWS} sentences: give more sentences")
    return pd.DataFrame(rows)


def memory_steps(table: pd.DataFrame) -> int:
    """Returns the memory in steps: the largest k up to which each probe beats the floor by half of what it does first.

    A probe beats the floor by a_k - f_k, its accuracy minus the majority's. The first k is the smallest one from 1 on.
    Counting ends at the first k that fails, so that a single lucky probe far away does not count.

    Args:
        table: of `earlier_tokens` or `number_of_subject`.

    Returns:
        k; 0 if no probe beats the floor.
    """
    table = table[table["k"] >= 1].sort_values("k")
    gains = (table["accuracy"] - table["floor"]).to_numpy()
    steps = 0
    for k, gain in zip(table["k"], gains):
        if gains[0] <= 0 or gain < gains[0] / 2:
            break
        steps = int(k)
    return steps


def _fit(model, inputs: np.ndarray, labels: np.ndarray) -> None:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with (
        blas.one_thread(),
        warnings.catch_warnings(),
    ):  # a probe that has not converged after 300 iterations is good enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, labels)
