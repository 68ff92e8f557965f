"""Small random data for every task, whose trainings take seconds."""

import csv
import random
from pathlib import Path

_WORDS = ["good", "bad", "film", "plot", "the", "a", "was", "very", "dull", "great", "actor", "scene", "story", "end"]


def sentence(rng: random.Random, longest: int = 12) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(2, longest)))


def write_labelled_texts(path: Path) -> Path:
    """112 texts with three labels that are not equally frequent."""
    rng = random.Random(1)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows(
            [f"{sentence(rng)} {i}", rng.choice(["neg", "neg", "neg", "pos", "pos", "mid"])] for i in range(112)
        )
    return path


def write_text(path: Path, lines: int = 250) -> Path:
    """Lines of 7 words on average."""
    rng = random.Random(2)
    path.write_text("\n".join(sentence(rng) for _ in range(lines)))
    return path


def write_pairs(path: Path) -> Path:
    """120 pairs of sentences; some are so long that a batch has one or two of them."""
    rng = random.Random(3)
    sentences = [sentence(rng, 30 if i % 6 == 0 else 8) for i in range(120)]
    rows = [f"{text} {i}\t{' '.join(reversed(text.split()))} {i}\n" for i, text in enumerate(sentences)]
    path.write_text("".join(rows))
    return path


def write_tagged_sentences(path: Path) -> Path:
    """100 sentences in CoNLL's format with a column of tags."""
    rng = random.Random(4)
    lines = []
    for i in range(100):
        lines += [f"{word}\t{'NOUN' if len(word) > 3 else 'DET'}" for word in [*sentence(rng).split(), str(i)]]
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path
