"""Prepared data of a language model: the ids of the training text in files of equal size, and those of validation."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pipelines.data import id_files, prepared, streams, texts
from pipelines.data.documents import Documents
from pipelines.data.prepared import Contents
from pipelines.data.texts import Text, TextSplits
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support import console
from pipelines.text.tokenizers import Tokenizer, load_tokenizer, train_tokenizer

TOKENIZER_KINDS = {"character": "character", "word": "spaced", "subword": "pieces"}
MAX_PROMPT_BYTES = 100_000
ALL_CHARACTERS = 2**20
_MAX_SAMPLE = {"character": 500_000_000, "word": 50_000_000, "subword": 10_000_000}  # characters for the tokenizer
_BEGINNING = 1000  # characters of the validation text that the manifest keeps


def write(config: LanguageModelConfig, splits: TextSplits, folder: Path) -> Contents:
    """Makes the tokenizer from a sample of the training text, and writes the ids of both texts.

    Args:
        folder: is empty.
    """
    (folder / prepared.TOKENIZER).mkdir()
    sample = sample_of(config, splits.train)
    make_tokenizer(config, sample).save(folder / prepared.TOKENIZER)
    tokenizer = load_tokenizer(folder / prepared.TOKENIZER)
    console.say(f"tokenizing {splits.train.characters:,} characters ...")
    shards = id_files.write(folder, ids(config, splits.train, tokenizer))
    with open(folder / id_files.VALID, "wb") as file:
        for each in ids(config, splits.valid, tokenizer):
            file.write(each.tobytes())
    rows = {"train": sum(shard.tokens for shard in shards), "valid": (folder / id_files.VALID).stat().st_size // 4}
    details = {
        "characters": {"train": splits.train.characters, "valid": splits.valid.characters},
        "beginning": next(splits.valid.pieces())[:_BEGINNING],
    }
    settings = {name: getattr(config, name) for name in ("tokenizer", "documents", "valid_fraction")}
    if config.tokenizer != "character":
        settings["vocabulary_size"] = config.vocabulary_size
    return Contents(settings, shards, rows, {}, details)


def make_tokenizer(config: LanguageModelConfig, chunks: Iterator[str]) -> Tokenizer:
    """Trains the tokenizer on chunks of the training text."""
    size = ALL_CHARACTERS if config.tokenizer == "character" else config.vocabulary_size
    return train_tokenizer(TOKENIZER_KINDS[config.tokenizer], chunks, size, MAX_PROMPT_BYTES)


def chunks_of(config: LanguageModelConfig, text: Text | Documents) -> Iterator[str]:
    """Yields a text in chunks; those of a document have no word of another one."""
    pieces = text.pieces()
    if config.documents:
        return itertools.chain.from_iterable(texts.chunks([each]) for each in pieces)
    return texts.chunks(pieces)


def sample_of(config: LanguageModelConfig, text: Text | Documents) -> Iterator[str]:
    """Yields the chunks of a text, or of a long one a random sample."""
    rng = np.random.default_rng(config.seed)
    fraction = _MAX_SAMPLE[config.tokenizer] / text.characters
    return (chunk for chunk in chunks_of(config, text) if rng.random() < fraction)


def ids(config: LanguageModelConfig, text: Text | Documents, tokenizer: Tokenizer) -> Iterator[np.ndarray]:
    """Yields the ids of a text, int32, in pieces."""
    if config.documents:
        return streams.ids_of_documents(tokenizer, text.pieces())
    return streams.ids_of_texts(tokenizer, texts.chunks(text.pieces()))
