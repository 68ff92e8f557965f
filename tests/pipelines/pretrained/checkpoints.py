"""Small checkpoints with random weights, written by transformers."""

from pathlib import Path

import pytest

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
