"""Texts for the warm-up and the verification of classifiers' exports."""

from pipelines.data import sample_reviews


def example_texts() -> list[str]:
    """Returns usual and unusual texts (long, empty, no letters, with accents and HTML), none from training data."""
    texts = sample_reviews.generate(4, seed=2)[0].tolist()
    return [
        *texts,
        " ".join(texts * 20),
        "",
        "\N{GRINNING FACE}",
        "Caf\N{LATIN SMALL LETTER E WITH ACUTE} &amp; more<br />",
    ]
