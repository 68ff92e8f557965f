import pytest

import unroll

WORDS = {True: ("lovely", "bright", "funny", "warm"), False: ("dull", "grey", "boring", "cold")}
SMALL = {"preset": "quick", "model": "bag", "epochs": 3, "batch_size": 4, "verbose": False}


def labelled(count=40):
    """Texts with True or False as labels, which are easy to learn."""
    labels = [i % 2 == 0 for i in range(count)]
    return [f"a {WORDS[label][i // 2 % 4]} film with scene {i}" for i, label in enumerate(labels)], labels


@pytest.fixture(scope="session")
def fitted():
    """A classifier that is fitted on `labelled()`."""
    texts, labels = labelled()
    return unroll.TextClassifier(**SMALL).fit(texts, labels)
