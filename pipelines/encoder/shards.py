"""Prepared data of an encoder: the ids of the training texts in files of equal size, and those of validation."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pipelines.data import id_files, prepared, streams
from pipelines.data.prepared import Contents
from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.data import Surveyed
from pipelines.support import console
from pipelines.text.tokenizers import Tokenizer, load_tokenizer, train_tokenizer

_TOKENIZER_KIND = "subword"
_MAX_SAMPLE = 10_000_000  # characters for the tokenizer: SentencePiece needs many bytes for each
_SETTINGS = ("text_column", "encoding", "valid_fraction", "vocabulary_size", "max_bytes")  # that the preparation fixes


def write(config: EncoderConfig, surveyed: Surveyed, folder: Path) -> Contents:
    """Makes the tokenizer from a sample of the training texts, and writes the ids of all texts, each from START to END.

    Args:
        folder: is empty.
    """
    splits = surveyed.splits
    (folder / prepared.TOKENIZER).mkdir()
    console.say("making the tokenizer ...")
    make_tokenizer(config, sample_of(config, surveyed)).save(folder / prepared.TOKENIZER)
    tokenizer = load_tokenizer(folder / prepared.TOKENIZER)
    console.say(f"tokenizing {sum(splits.rows.values()):,} {splits.unit} ...")
    shards = id_files.write(folder, streams.ids_of_texts(tokenizer, splits.train(), with_special_tokens=True))
    streams.write_ids(folder / id_files.VALID, tokenizer, splits.valid(), with_special_tokens=True)
    settings = {name: getattr(config, name) for name in _SETTINGS}
    return Contents(settings, shards, splits.rows, splits.notes, {"unit": splits.unit})


def make_tokenizer(config: EncoderConfig, texts: Iterable[str]) -> Tokenizer:
    """Trains the tokenizer on training texts."""
    return train_tokenizer(_TOKENIZER_KIND, texts, config.vocabulary_size, config.max_bytes)


def sample_of(config: EncoderConfig, surveyed: Surveyed) -> Iterator[str]:
    """Yields the training texts, or of many a random sample."""
    rng = np.random.default_rng(config.seed)
    fraction = _MAX_SAMPLE / max(surveyed.characters, 1)
    return (text for text in surveyed.splits.train() if rng.random() < fraction)
