"""The settings of an encoder's pretraining."""

import dataclasses
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.config import (
    NAME,
    PATH,
    PATHS,
    Positions,
    Presets,
    Range,
    Ranges,
    TrainingConfig,
    reject_without_effect,
    require,
    require_at_least,
    require_num_heads,
    require_positive,
    require_rate,
    with_expanded_paths,
)
from pipelines.data import prepared, table_options
from pipelines.data.paths import Data
from pipelines.data.prepared import Prepared

BLANK = "[MASK]"  # what a text has where `predict` finds the missing word
SIZES = {
    "tiny": {
        "num_layers": 1,
        "hidden_size": 64,
        "embedding_size": 32,
        "num_heads": 2,
        "vocabulary_size": 1000,
        "window": 32,
        "batch_size": 16,
        "num_sampled": 0,
        "dropout": 0.0,
    },
    "small": {
        "num_layers": 1,
        "hidden_size": 256,
        "embedding_size": 128,
        "num_heads": 4,
        "vocabulary_size": 8000,
        "window": 64,
        "batch_size": 32,
        "num_sampled": 1024,
        "dropout": 0.2,
    },
    "bert-base": {
        "num_layers": 12,
        "hidden_size": 768,
        "embedding_size": 768,
        "num_heads": 12,
        "vocabulary_size": 30_522,
        "window": 128,
        "batch_size": 32,
        "num_sampled": 0,
        "dropout": 0.1,
    },
}
_SIZE_OF_PRESET = {"quick": "tiny", "full": "small"}
_USED_WITH_VECTORS = ("vectors", "max_tokens", "max_bytes")

_RANGES = {
    "learning_rate": Range(0.0003, 0.03, log=True),
    "batch_size": (16, 32, 64),
    "dropout": Range(0.0, 0.5, step=0.05),
    "weight_decay": (0.0, 0.01, 0.03, 0.1),
    "window": (32, 64, 128),
}
RANGES: Ranges = {
    "lstm": _RANGES
    | {
        "hidden_size": (64, 128, 256, 384, 512, 768),
        "embedding_size": (32, 64, 128, 256, 768),
        "num_layers": Range(1, 12),
    },
    "transformer": _RANGES | {"num_layers": Range(1, 12)},
}


def _by_size(field: str, metavar: str = "N"):
    """Annotates a field whose default depends on --size."""
    defaults = ", ".join(f"{size} {values[field]}" for size, values in SIZES.items())
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"(default: {defaults})")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig(TrainingConfig):
    """Settings of the training. The defaults of the network depend on --size."""

    PRESETS: ClassVar[Presets] = {
        ("lstm", "quick"): {"epochs": 1, "learning_rate": 0.005},
        ("lstm", "full"): {"epochs": 5, "learning_rate": 0.003},
        ("transformer", "quick"): {"epochs": 1, "learning_rate": 0.002},
        ("transformer", "full"): {"epochs": 3, "learning_rate": 0.001},
    }
    RANGES: ClassVar[Ranges] = RANGES
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "lstm", "full": "lstm"}

    data: Annotated[Data | None, PATHS] = None
    """Texts to train on, without labels: text files, the texts of tables with the same columns, a pattern such as
    'books/*.txt', a folder of .txt files, or `imdb`, which is downloaded. Without it: the embedded sample."""
    vectors: Annotated[str | None, PATH] = None
    """Make an encoder from these word vectors instead of training: a text file of GloVe or word2vec, one word and its
    numbers per line."""
    text_column: Annotated[str | None, NAME] = None
    """Column of a CSV or TSV file that has the text. By default found by its name (text, sentence, ...)."""
    encoding: Annotated[str | None, NAME] = None
    """Encoding of text files, such as cp1252. By default UTF-8, or what a byte order mark states."""
    valid_fraction: float = 0.1
    """Fraction of the data to split off for validation: by film where there is a `url` column, else by text; from the
    end of a text file."""
    preset: Literal["quick", "full"] | None = None
    """Set of defaults for the length of the training: quick one epoch, full several. By default quick on the embedded
    sample and full with --data."""
    model: Literal["lstm", "transformer"] | None = None
    """Network to train. By default lstm."""
    direction: Literal["causal", "bidirectional"] = "causal"
    """What it learns. causal: to predict the next token from the previous ones; bidirectional: to predict masked tokens
    from those on both sides."""
    size: Literal["tiny", "small", "bert-base"] | None = None
    """Size of the network. tiny: to try it out; small: half an hour on two cores; bert-base: twelve blocks of 768
    features, for a GPU. By default tiny with --preset quick and small with full."""
    vocabulary_size: Annotated[int | None, _by_size("vocabulary_size")] = None
    """Number of SentencePiece's subword tokens, including the four special ones."""
    num_layers: Annotated[int | None, _by_size("num_layers")] = None
    """Number of stacked layers."""
    hidden_size: Annotated[int | None, _by_size("hidden_size")] = None
    """Size of the recurrent state, or of the transformer's features."""
    embedding_size: Annotated[int | None, _by_size("embedding_size")] = None
    """lstm: size of the token embeddings. A transformer's have the hidden size."""
    num_heads: Annotated[int | None, _by_size("num_heads")] = None
    """transformer: number of attention heads. The hidden size must be divisible by it."""
    positions: Positions = "rotary"
    """transformer: positional encoding. learned has --window positions, so that --max-tokens may not be more."""
    window: Annotated[int | None, _by_size("window")] = None
    """Number of tokens through which gradients flow back."""
    batch_size: Annotated[int | None, _by_size("batch_size")] = None
    """Number of streams into which the text is cut. They are read in parallel."""
    num_sampled: Annotated[int | None, _by_size("num_sampled")] = None
    """causal: number of tokens that the sampled softmax scores in training. 0 scores all tokens."""
    dropout: Annotated[float | None, _by_size("dropout", "X")] = None
    """Dropout rate."""
    mask_rate: float = 0.15
    """bidirectional: fraction of the tokens to predict."""
    epochs: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: quick 1; full 5, transformer 3)")
    ] = None
    """Maximum number of passes over the texts."""
    learning_rate: Annotated[
        float | None,
        tyro.conf.arg(
            metavar="X", help_behavior_hint="(default: quick 0.005, transformer 0.002; full 0.003, transformer 0.001)"
        ),
    ] = None
    """Highest learning rate."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """cosine: the learning rate rises in the first 5 % of the steps, then falls to 0 on a cosine; constant."""
    weight_decay: float = 0.01
    """Weight decay of AdamW, on matrices alone."""
    max_tokens: int = 400
    """Maximum number of tokens per text that the exported encoder reads; longer texts keep their first and last
    half."""
    max_bytes: int = 40_000
    """Maximum number of bytes of UTF-8 per text. The rest of a longer text is not read."""
    patience: int = 3
    """Stop after N epochs without a lower validation loss. The weights of the best epoch are kept."""
    checkpoint_every: int = 500
    """Steps between checkpoints. Another checkpoint is written after every epoch."""

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "encoder")

    def resolve(self) -> "EncoderConfig":
        """Returns the config with preset, model, size and all fields chosen.

        Raises:
            UserError: a setting differs from that of prepared data.
        """
        config = with_expanded_paths(super().resolve(), "data")
        size = config.size or _SIZE_OF_PRESET[config.preset]
        missing = {name: value for name, value in SIZES[size].items() if getattr(config, name) is None}
        config, found = dataclasses.replace(config, size=size, **missing), self.prepared()
        return prepared.settled(self, config, found) if found else config

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        table_options.make(encoding=self.encoding)
        require(self.vocabulary_size >= 40, "vocabulary_size", self.vocabulary_size, "at least 40")
        require_at_least(self, 1, "num_layers", "hidden_size", "embedding_size", "num_heads", "batch_size", "epochs")
        require_at_least(self, 8, "window")
        require_at_least(self, 0, "num_sampled", "weight_decay")
        require_rate(self, "dropout")
        require(0 < self.mask_rate < 1, "mask_rate", self.mask_rate, "between 0 and 1")
        if self.model == "transformer":
            require_num_heads(self, even_size=self.positions == "rotary")
        elif self.direction == "bidirectional":
            require(self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even: each direction has half of it")
        require_positive(self, "learning_rate")
        require_at_least(self, 4, "max_tokens")
        if self.positions == "learned":
            expected = f"at most --window {self.window} with --positions learned"
            require(self.max_tokens <= self.window, "max_tokens", self.max_tokens, expected)
        require_at_least(self, 100, "max_bytes")
        self._check_effects()

    def _check_effects(self) -> None:
        defaults = dataclasses.replace(self.defaults(), size=self.size, **SIZES[self.size])
        if self.vectors:
            fields = [field.name for field in dataclasses.fields(self) if field.name not in _USED_WITH_VECTORS]
            reject_without_effect(self, "with --vectors nothing is trained", *fields)
        if self.model == "transformer":
            reject_without_effect(
                self, "the embeddings of a transformer have its --hidden-size", "embedding_size", defaults=defaults
            )
        else:
            reject_without_effect(self, "it needs --model transformer", "num_heads", "positions", defaults=defaults)
        if self.direction == "causal":
            reject_without_effect(self, "it needs --direction bidirectional", "mask_rate")
        else:
            reject_without_effect(self, "it needs --direction causal", "num_sampled", defaults=defaults)
