"""Every knob of the language model pipeline."""

import dataclasses
from typing import Annotated, Literal

import tyro

from pipelines.configs.base import by_preset, require

PATH = tyro.conf.arg(metavar="PATH")

_RECURRENT = dict(
    layers=1, hidden_size=256, embedding_size=64, window=64, batch_size=64, epochs=3, learning_rate=0.005, dropout=0.0,
    weight_decay=0.0, unit="character", vocabulary_size=10_000, tie_weights=False, samples=0,
)  # fmt: skip
_TRANSFORMER = _RECURRENT | dict(hidden_size=128, embedding_size=128, batch_size=16, learning_rate=0.002)
MODELS = ("simple", "gru", "lstm", "peephole", "transformer")
PRESETS = {
    # In quick, every model has as much time.
    **{
        (model, "quick"): _RECURRENT | dict(window=16, batch_size=32, learning_rate=0.01, epochs=epochs)
        for model, epochs in {"simple": 5, "gru": 2, "lstm": 2, "peephole": 1}.items()
    },
    **{
        (model, "full"): _RECURRENT | dict(hidden_size=512, batch_size=32, epochs=8, learning_rate=0.003, dropout=0.2, weight_decay=0.01)
        for model in MODELS[:-1]
    },
    ("transformer", "quick"): _TRANSFORMER | dict(layers=2, epochs=1),
    **{
        (model, "words"): _RECURRENT | dict(
            unit="word", vocabulary_size=40_000, tie_weights=True, samples=1024, hidden_size=320, embedding_size=200, window=35, epochs=6,
            dropout=0.3,
        )
        for model in MODELS[:-1]
    },
    ("transformer", "full"): _TRANSFORMER | dict(layers=4, epochs=8, dropout=0.1),
}  # fmt: skip
GENERATION_DEFAULTS = {"max_length": 200, "temperature": 0.8, "top_k": 0, "top_p": 0.95, "seed": 1}
DEFAULT_MODELS = {"quick": "lstm", "full": "lstm", "words": "lstm"}


@dataclasses.dataclass(frozen=True)
class CharLmConfig:
    """Settings of the language model pipeline: prefix -> text. Where a default says quick/full, --preset decides."""

    data: Annotated[str | None, PATH] = None
    """The text to learn from: a file of UTF-8 (also .gz, .xz, .bz2), or `tiny-shakespeare`, which is downloaded. Without it:
    the help texts of Python itself."""
    valid: Annotated[str | None, PATH] = None
    """Validation text of your own. Without it, the end of --data is split off."""
    valid_fraction: float = 0.1
    """The part of the text to split off, from its end."""
    preset: Literal["quick", "full", "words"] | None = None
    """quick: a few minutes; full: the best of a million characters in half an hour; words: for two million words, in an hour. By default
    quick on the sample and full on --data."""
    model: Literal["simple", "gru", "lstm", "peephole", "transformer"] | None = None
    """A recurrent network of such cells, or a transformer of causal blocks. By default lstm."""
    unit: Annotated[Literal["character", "word", "subword"] | None, by_preset(PRESETS, "unit", None)] = None
    """What is read and written step by step: characters, words between spaces, or SentencePiece's pieces."""
    vocabulary_size: Annotated[int | None, by_preset(PRESETS, "vocabulary_size")] = None
    """word and subword: how many different tokens are known, the four special ones included; characters are all known."""
    layers: Annotated[int | None, by_preset(PRESETS, "layers")] = None
    """How many are stacked."""
    hidden_size: Annotated[int | None, by_preset(PRESETS, "hidden_size")] = None
    """Width of the state, or of the transformer."""
    embedding_size: Annotated[int | None, by_preset(PRESETS, "embedding_size")] = None
    """Recurrent networks: width of a token's vector."""
    tie_weights: Annotated[bool | None, by_preset(PRESETS, "tie_weights", "True|False")] = None
    """Score the next token with the vectors with which tokens are read (Press and Wolf 2017)."""
    samples: Annotated[int | None, by_preset(PRESETS, "samples")] = None
    """With tied weights: in training, score so many drawn tokens rather than all, which a large vocabulary makes slow; 0 scores all."""
    heads: int = 4
    """transformer: attention heads; they divide the hidden size."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "rotary"
    """transformer: how it knows the order."""
    window: Annotated[int | None, by_preset(PRESETS, "window")] = None
    """Tokens through which gradients flow back. Recurrent networks carry their state on to the next window."""
    dropout: Annotated[float | None, by_preset(PRESETS, "dropout")] = None
    """The part of the features left out in training, between layers and not from step to step."""
    sequence_dropout: bool = False
    """Leave out the same features in a whole window rather than others at each token."""
    batch_size: Annotated[int | None, by_preset(PRESETS, "batch_size")] = None
    """Into so many streams the text is cut; they are read side by side."""
    epochs: Annotated[int | None, by_preset(PRESETS, "epochs")] = None
    """Passes over the text, at most."""
    learning_rate: Annotated[float | None, by_preset(PRESETS, "learning_rate")] = None
    """AdamW's step size at its highest, after a warm-up of 5 % of the steps."""
    schedule: Literal["cosine", "step", "plateau", "constant"] = "cosine"
    """cosine: down to zero; step: halved after each eighth of the second half; plateau: halved after an epoch without a lower
    validation loss."""
    weight_decay: Annotated[float | None, by_preset(PRESETS, "weight_decay")] = None
    """AdamW's, on matrices alone."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm."""
    patience: int = 3
    """Stop after so many epochs without a lower validation loss; the best epoch is the one that is kept."""
    precision: Literal["auto", "float32", "mixed_bfloat16"] = "auto"
    """Of training; auto takes mixed_bfloat16 where the hardware multiplies it faster. Scores and exports are float32."""
    checkpoint_every: int = 500
    """Steps between checkpoints (one is written after every epoch as well)."""
    seed: int = 1
    """Seed of weights, dropout and order: the same seed on the same machine gives the same weights."""

    def check(self) -> None:
        """Raises UserError for the first setting that no training could use. Expects a resolved config."""
        require(0 < self.valid_fraction < 1, "valid_fraction", self.valid_fraction, "between 0 and 1")
        require(self.vocabulary_size >= 10, "vocabulary_size", self.vocabulary_size, "at least 10")
        for name in ("layers", "hidden_size", "embedding_size", "heads", "batch_size", "epochs", "patience", "checkpoint_every"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(self.samples >= 0, "samples", self.samples, "at least 0")
        require(not self.samples or self.tie_weights, "samples", self.samples, "0 without --tie-weights True")
        require(self.window >= 2, "window", self.window, "at least 2")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "at least 0 and below 1")
        if self.model == "transformer":
            require(self.hidden_size % self.heads == 0, "heads", self.heads, f"a divisor of {self.hidden_size}")
            even = self.positions != "rotary" or self.hidden_size // self.heads % 2 == 0
            require(even, "heads", self.heads, "such that rotary positions get an even number of features per head")
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.weight_decay >= 0, "weight_decay", self.weight_decay, "at least 0")
        require(self.clip_norm > 0, "clip_norm", self.clip_norm, "above 0")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2147483647")
