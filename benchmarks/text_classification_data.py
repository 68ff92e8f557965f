"""The data sets of text_classification.py, made from public corpora: CSV files with the columns text, label and url.

Rows with the same `url` stay together when validation or test is split off. Of several labels, SEPARATOR stands between
them.
"""

import functools
import gzip
import json
import lzma
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

SEPARATOR = "|"
NUM_SPEAKERS = 10
NUM_WORDS = 50  # of a review, for its stars
NUM_CHARACTERS = 12
NUM_PER_LANGUAGE = 5000
NUM_ARTICLES = 60
MIN_PARAGRAPH = 100  # characters


def genres(corpora: Path) -> pd.DataFrame:
    """A sentence of UD English EWT -> its genre (weblog, newsgroup, email, reviews, answers)."""
    rows = []
    (path,) = (corpora / "ud_ewt").glob("*train.conllu.xz")
    for line in _read_lines(path):
        if line.startswith("# newdoc id = "):
            genre = line.removeprefix("# newdoc id = ").split("-")[0]
        elif line.startswith("# text = "):
            rows.append((line.removeprefix("# text = ").strip(), genre))
    return pd.DataFrame(rows, columns=["text", "label"])


def stars(corpora: Path) -> pd.DataFrame:
    """The first 50 words of an IMDB review -> its stars (1 to 4 and 7 to 10)."""
    reviews = pd.read_csv(corpora / "imdb" / "train.csv.xz")
    texts = reviews.review.str.split().str[:NUM_WORDS].str.join(" ")
    return pd.DataFrame({"text": texts, "label": reviews.rating.astype(str) + " stars", "url": reviews.url})


def speakers(corpora: Path) -> pd.DataFrame:
    """A line of Shakespeare -> its speaker, one of the ten that say the most lines."""
    speeches = (corpora / "tinyshakespeare" / "input.txt").read_text().split("\n\n")
    lines = [(line, speech.split(":\n")[0]) for speech in speeches for line in speech.splitlines()[1:]]
    common = {name for name, _ in Counter(speaker for _, speaker in lines).most_common(NUM_SPEAKERS)}
    return pd.DataFrame([row for row in lines if row[1] in common], columns=["text", "label"])


def languages(corpora: Path) -> pd.DataFrame:
    """Twelve characters of a sentence of Multi30k (en, de, fr) or Tatoeba (es) -> the language."""
    sentences = {name: _read_lines(corpora / "multi30k" / f"train.{name}.gz") for name in ("de", "en", "fr")}
    sentences["es"] = [line.split("\t")[1] for line in _read_lines(corpora / "tatoeba" / "spa.txt.xz")]
    rng, rows = np.random.default_rng(0), []
    for name, texts in sorted(sentences.items()):
        long = [text for text in texts if len(text) > 2 * NUM_CHARACTERS]
        for i in rng.choice(len(long), NUM_PER_LANGUAGE, replace=False):
            start = rng.integers(len(long[i]) - NUM_CHARACTERS)
            rows.append((long[i][start : start + NUM_CHARACTERS], name))
    return pd.DataFrame(rows, columns=["text", "label"])


def imdb(corpora: Path) -> pd.DataFrame:
    """A review of IMDB -> negative or positive."""
    reviews = pd.read_csv(corpora / "imdb" / "train.csv.xz")
    return pd.DataFrame({"text": reviews.review, "label": reviews.sentiment, "url": reviews.url})


def entailment(corpora: Path) -> pd.DataFrame:
    """Two sentences of SICK -> whether the first one entails, contradicts or says nothing about the second one."""
    rows = pd.read_csv(corpora / "classification" / "sick_pairs.csv.xz")
    texts = rows.sentence_a + " / " + rows.sentence_b
    return pd.DataFrame({"text": texts, "label": rows.entailment}).drop_duplicates("text")


def slots(corpora: Path) -> pd.DataFrame:
    """A sentence of Restaurants-8k -> the first slot that it fills, or none."""
    lines = _read_lines(corpora / "classification" / "restaurant8k_spans.jsonl.xz")
    rows = [(row["text"], row["label"][0][2] if row["label"] else "none") for row in map(json.loads, lines)]
    return pd.DataFrame(rows, columns=["text", "label"]).drop_duplicates("text")


def articles(corpora: Path) -> pd.DataFrame:
    """A paragraph of WikiText-2 -> its article, one of the 60 with the most paragraphs."""
    rows, title = [], ""
    for line in _read_lines(corpora / "wikitext-2" / "train.txt.xz"):
        heading = re.match(r" = ([^=].*[^=]) = $", line)
        if heading:
            title = heading.group(1)
        elif title and len(line) >= MIN_PARAGRAPH and not line.startswith(" ="):
            rows.append((line.strip(), title))
    found = pd.DataFrame(rows, columns=["text", "label"])
    return found[found.label.isin(found.label.value_counts().index[:NUM_ARTICLES])].drop_duplicates("text")


def published(name: str, corpora: Path) -> pd.DataFrame:
    """A data set of its own: a file classification/NAME.csv.xz with the columns text and label, or labels."""
    rows = pd.read_csv(corpora / "classification" / f"{name}.csv.xz", keep_default_na=False, dtype=str)
    return rows.rename(columns={"labels": "label"})[["text", "label"]]


_PUBLISHED = ("trec", "sst5", "subj", "mr", "banking77", "clinc150", "tweets_fr_it_pt", "hotel_zh", "goemotions")
DATA_SETS = {each.__name__: each for each in (genres, stars, speakers, languages)}
DATA_SETS |= {each.__name__: each for each in (entailment, slots, articles)}
DATA_SETS |= {name: functools.partial(published, name) for name in _PUBLISHED} | {"imdb": imdb}


def write(name: str, corpora: Path, folder: Path) -> Path:
    """Writes the CSV file of a data set, once; returns its path."""
    path = folder / f"{name}.csv"
    if not path.exists():
        DATA_SETS[name](corpora).to_csv(path, index=False)
    return path


def _read_lines(path: Path) -> list[str]:
    with (gzip.open if path.suffix == ".gz" else lzma.open)(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()
