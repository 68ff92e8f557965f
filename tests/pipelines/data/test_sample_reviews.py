import collections

from pipelines.data import labelled_texts, sample_reviews


def test_the_same_seed_gives_the_same_reviews():
    first, second = sample_reviews.generate(50), sample_reviews.generate(50)
    assert first[0].tolist() == second[0].tolist()
    assert sample_reviews.generate(50, seed=2)[0].tolist() != first[0].tolist()


def test_the_classes_are_balanced_and_the_texts_have_html_negations_and_contrasts():
    found = labelled_texts.read(None)["train"]
    counts = collections.Counter(found.labels)
    assert counts["positive"] == counts["negative"]
    text = "\n".join(found.texts)
    assert all(piece in text for piece in ("<br />", "&amp;", " not ", ", but ", "Although "))
    assert 50 < len(set(found.groups)) <= 100


def test_single_adjectives_do_not_give_the_label_away():
    """Negation and contrast: every adjective occurs in reviews of both labels."""
    found = labelled_texts.read(None)["train"]
    for word in (*sample_reviews.GOOD, *sample_reviews.BAD):
        labels = [label for text, label in zip(found.texts, found.labels, strict=True) if f" {word}" in text]
        assert 0.1 < labels.count("positive") / len(labels) < 0.9, word
