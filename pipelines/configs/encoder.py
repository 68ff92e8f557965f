"""Every knob of the encoder pipeline."""

import dataclasses
from typing import Annotated, Literal

import tyro

from pipelines.configs.base import require
from pipelines.configs.sentiment import NAME, PATH

_TINY = dict(layers=1, hidden_size=64, embedding_size=32, heads=2, vocabulary_size=1000, window=32, batch_size=16, samples=0, dropout=0.0)
_SMALL = dict(layers=1, hidden_size=256, embedding_size=128, heads=4, vocabulary_size=8000, window=64, batch_size=32, samples=1024, dropout=0.2)
_BERT_BASE = dict(
    layers=12, hidden_size=768, embedding_size=768, heads=12, vocabulary_size=30_522, window=128, batch_size=32, samples=0, dropout=0.1
)
SIZES = {"tiny": _TINY, "small": _SMALL, "bert-base": _BERT_BASE}
_LEARNING = {
    "lstm": {"quick": dict(epochs=1, learning_rate=0.005), "full": dict(epochs=5, learning_rate=0.003)},
    "transformer": {"quick": dict(epochs=1, learning_rate=0.002), "full": dict(epochs=3, learning_rate=0.001)},
}
PRESETS = {(model, preset): learning for model, presets in _LEARNING.items() for preset, learning in presets.items()}
DEFAULT_MODELS = dict.fromkeys(("quick", "full"), "lstm")


def _by_size(field: str, metavar: str = "N"):
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"(default: {', '.join(f'{size} {of[field]}' for size, of in SIZES.items())})")


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
    """Settings of the encoder pipeline: unlabelled text -> a text encoder with TF Hub's interface."""

    data: Annotated[str | None, PATH] = None
    """Texts to learn from, without labels: a text file, the texts of a CSV or TSV file, a folder as for sentiment, or `imdb`. Without
    it: the embedded sample."""
    vectors: Annotated[str | None, PATH] = None
    """Make an encoder of these word vectors instead: a text file of GloVe or word2vec, a word and its numbers a line."""
    text_column: Annotated[str | None, NAME] = None
    """The column with the text; found by its name (text, review, ...) if not given."""
    valid_fraction: float = 0.1
    """The part to split off for validation: by film where there is a `url` column, else by text; of a text file its end."""
    preset: Literal["quick", "full"] | None = None
    """How long it learns: quick one pass, full several. By default quick on the sample and full on --data."""
    model: Literal["lstm", "transformer"] | None = None
    """What reads the text. By default lstm."""
    direction: Literal["causal", "bidirectional"] = "causal"
    """causal: learn to tell the next token from those before it; bidirectional: tell hidden tokens from those around them."""
    size: Literal["tiny", "small", "bert-base"] | None = None
    """tiny: a try-out; small: half an hour on two cores; bert-base: twelve blocks of 768, for a GPU. By default tiny with --preset quick
    and small with full."""
    vocabulary_size: Annotated[int | None, _by_size("vocabulary_size")] = None
    """SentencePiece's pieces, the four special ones included."""
    layers: Annotated[int | None, _by_size("layers")] = None
    """How many are stacked."""
    hidden_size: Annotated[int | None, _by_size("hidden_size")] = None
    """Width of the state, or of the transformer."""
    embedding_size: Annotated[int | None, _by_size("embedding_size")] = None
    """lstm: width of a token's vector."""
    heads: Annotated[int | None, _by_size("heads")] = None
    """transformer: attention heads; they divide the hidden size."""
    window: Annotated[int | None, _by_size("window")] = None
    """Tokens through which gradients flow back."""
    batch_size: Annotated[int | None, _by_size("batch_size")] = None
    """Into so many streams the text is cut; they are read side by side."""
    samples: Annotated[int | None, _by_size("samples")] = None
    """causal: in training, score so many drawn tokens rather than all; 0 scores all."""
    dropout: Annotated[float | None, _by_size("dropout", "X")] = None
    """The part of the features left out in training."""
    hidden_rate: float = 0.15
    """bidirectional: the part of the tokens that is to be told."""
    epochs: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: quick 1; full lstm 5, transformer 3)")] = None
    """Passes over the text, at most."""
    learning_rate: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint="(default: lstm 0.003; transformer 0.001)")] = None
    """AdamW's step size at its highest, after a warm-up of 5 % of the steps; then a cosine."""
    weight_decay: float = 0.01
    """AdamW's, on matrices alone."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm."""
    max_tokens: int = 400
    """Of a text that the encoder is given: so many are read, of a longer one its start and its end."""
    max_bytes: int = 40_000
    """Bytes of UTF-8 that are read of a text; the rest is cut."""
    patience: int = 3
    """Stop after so many epochs without a lower validation loss; the best epoch is the one that is kept."""
    precision: Literal["auto", "float32", "mixed_bfloat16"] = "auto"
    """Of training; auto takes mixed_bfloat16 where the hardware multiplies it faster. Exports are float32."""
    checkpoint_every: int = 500
    """Steps between checkpoints (one is written after every epoch as well)."""
    seed: int = 1
    """Seed of weights, dropout and order: the same seed on the same machine gives the same weights."""

    # What language_models.build and char_lm's schedule ask for besides.
    tie_weights: tyro.conf.Suppress[bool] = True
    sequence_dropout: tyro.conf.Suppress[bool] = False
    positions: tyro.conf.Suppress[str] = "rotary"
    schedule: tyro.conf.Suppress[str] = "cosine"

    def check(self) -> None:
        """Raises UserError for the first setting that no training could use. Expects a resolved config."""
        require(0 < self.valid_fraction < 1, "valid_fraction", self.valid_fraction, "between 0 and 1")
        require(self.vocabulary_size >= 40, "vocabulary_size", self.vocabulary_size, "at least 40")
        positive = "layers hidden_size embedding_size heads batch_size epochs patience checkpoint_every"
        for name in positive.split():
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(self.window >= 8, "window", self.window, "at least 8")
        require(self.samples >= 0, "samples", self.samples, "at least 0")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "at least 0 and below 1")
        require(0 < self.hidden_rate < 1, "hidden_rate", self.hidden_rate, "between 0 and 1")
        if self.model == "transformer":
            even = self.hidden_size % self.heads == 0 and self.hidden_size // self.heads % 2 == 0
            require(even, "heads", self.heads, f"a divisor of {self.hidden_size} that leaves an even number of features per head")
        elif self.direction == "bidirectional":
            require(self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even, half of it for each direction")
        for name in ("learning_rate", "clip_norm"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        require(self.weight_decay >= 0, "weight_decay", self.weight_decay, "at least 0")
        require(self.max_tokens >= 4, "max_tokens", self.max_tokens, "at least 4")
        require(self.max_bytes >= 100, "max_bytes", self.max_bytes, "at least 100")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2147483647")


def sized(config: EncoderConfig) -> EncoderConfig:
    """`config`, its preset resolved, with what its size says for every field that was left `None`."""
    size = config.size or ("tiny" if config.preset == "quick" else "small")
    return dataclasses.replace(config, size=size, **{name: value for name, value in SIZES[size].items() if getattr(config, name) is None})
