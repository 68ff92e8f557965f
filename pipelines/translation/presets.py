"""What --preset and --model decide about a translator."""

from pipelines.settings.config import Presets

MODELS = ("single-rnn", "rnn", "attention", "transformer")
LEAST_VOCABULARY = 400  # subwords, of few pairs

_RECURRENT = {
    "num_layers": 1,
    "hidden_size": 256,
    "embedding_size": 128,
    "vocabulary_size": None,
    "batch_tokens": 600,
    "epochs": 12,
    "learning_rate": 0.003,
    "dropout": 0.2,
    "warmup_steps": 300,
    "num_heads": 4,
    "subword_alpha": 0.0,
    "precision": "float32",  # models of this size gain nothing from bfloat16, even where the hardware has it
}
_TRANSFORMER = _RECURRENT | {
    "num_layers": 4,
    "hidden_size": 128,
    "batch_tokens": 2000,
    "epochs": 40,
    "learning_rate": 0.004,
    "warmup_steps": 800,
}
_QUICK_RECURRENT = _RECURRENT | {"epochs": None, "batch_tokens": 1000, "learning_rate": 0.004, "dropout": 0.25}
_QUICK_TRANSFORMER = _TRANSFORMER | {"num_layers": 2, "batch_tokens": 1000, "epochs": None, "warmup_steps": 400}
# The embedded sample has few words, and larger batches of it would leave too few steps.
SAMPLE_RECURRENT = {
    "vocabulary_size": LEAST_VOCABULARY,
    "hidden_size": 128,
    "embedding_size": 64,
    "batch_tokens": 400,
    "epochs": 10,
    "learning_rate": 0.005,
    "warmup_steps": 50,
}
SAMPLE_TRANSFORMER = {
    "vocabulary_size": LEAST_VOCABULARY,
    "hidden_size": 64,
    "embedding_size": 64,
    "batch_tokens": 500,
    "epochs": 8,
    "warmup_steps": 100,
}
# Vaswani et al. 2017, table 3: 65 million parameters, which need millions of pairs and a GPU. The paper trains with
# --norm post and --schedule inverse-sqrt.
_BASE_TRANSFORMER = _TRANSFORMER | {
    "num_layers": 6,
    "hidden_size": 512,
    "embedding_size": 512,
    "num_heads": 8,
    "vocabulary_size": 37_000,
    "batch_tokens": 25_000,
    "dropout": 0.1,
    "warmup_steps": 4000,
    "learning_rate": 0.0007,
    "precision": "auto",
}
PRESETS: Presets = {
    **{(model, "full"): _RECURRENT for model in MODELS[:-1]},
    ("transformer", "full"): _TRANSFORMER,
    **{(model, "quick"): _QUICK_RECURRENT for model in MODELS[:-1]},
    ("transformer", "quick"): _QUICK_TRANSFORMER,
    ("transformer", "base"): _BASE_TRANSFORMER,
}
