"""The settings of an encoder's pretraining."""

import dataclasses
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.data import prepared, table_options
from pipelines.data.prepared import Prepared
from pipelines.settings.config import (
    Presets,
    TrainingConfig,
    with_expanded_paths,
)
from pipelines.settings.fields import (
    NAME,
    PATH,
    PATHS,
    POSITIVE,
    RATE,
    UNSET,
    Bounds,
    CheckpointEvery,
    Encoding,
    Only,
    Patience,
    PositionalEncoding,
    Range,
    Resolved,
    Schedule,
    Tuned,
    ValidFraction,
    at_least,
    only,
    reject_without_effect,
    require,
    require_divisor,
)
from pipelines.support.paths import Data

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
_NOTHING_IS_TRAINED = {"vectors": ("vectors", "max_tokens", "max_bytes"), "checkpoint": ("checkpoint",)}  # -> in use

_CAUSAL = Only("it needs --direction causal", lambda config: config.direction == "causal")
_BIDIRECTIONAL = Only("it needs --direction bidirectional", lambda config: config.direction == "bidirectional")


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
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "lstm", "full": "lstm"}
    DATA_FIELDS: ClassVar[tuple[str, ...]] = ("data", "text_column", "encoding")
    NETWORK_FIELDS: ClassVar[tuple[str, ...]] = (
        "model",
        "direction",
        "size",
        "num_layers",
        "hidden_size",
        "embedding_size",
        "num_heads",
        "positions",
    )
    KEPT_FIELDS: ClassVar[tuple[str, ...]] = ("vocabulary_size", "max_bytes")

    data: Annotated[Data | None, PATHS] = None
    """Texts to train on, without labels: text files, the texts of tables with the same columns, a pattern such as
    'books/*.txt', a folder of .txt files, or `imdb`, which is downloaded. Without it: the embedded sample."""
    vectors: Annotated[str | None, PATH] = None
    """Make an encoder from these word vectors instead of training: a text file of GloVe or word2vec, one word and its
    numbers per line."""
    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="HANDLE")] = None
    """Make an encoder from a pretrained checkpoint of the BERT family instead of training: hf://ORG/NAME[@REVISION],
    or the folder of one."""
    text_column: Annotated[str | None, NAME] = None
    """Column of a CSV or TSV file that has the text. By default found by its name (text, sentence, ...)."""
    encoding: Encoding = None
    valid_fraction: ValidFraction = 0.1
    """Fraction of the data to split off for validation: by film where there is a `url` column, else by text; from the
    end of a text file."""
    preset: Resolved[Literal["quick", "full"]] = UNSET
    """Set of defaults for the length of the training: quick one epoch, full several. By default quick on the embedded
    sample and full with --data."""
    model: Resolved[Literal["lstm", "transformer"]] = UNSET
    """Network to train. By default lstm."""
    direction: Literal["causal", "bidirectional"] = "causal"
    """What it learns. causal: to predict the next token from the previous ones; bidirectional: to predict masked tokens
    from those on both sides."""
    size: Resolved[Literal["tiny", "small", "bert-base"]] = UNSET
    """Size of the network. tiny: to try it out; small: half an hour on two cores; bert-base: twelve blocks of 768
    features, for a GPU. By default tiny with --preset quick and small with full."""
    vocabulary_size: Annotated[Resolved[int], _by_size("vocabulary_size"), at_least(40)] = UNSET
    """Number of SentencePiece's subword tokens, including the four special ones."""
    num_layers: Annotated[Resolved[int], _by_size("num_layers"), at_least(1), Tuned(Range(1, 12))] = UNSET
    """Number of stacked layers."""
    hidden_size: Annotated[
        Resolved[int], _by_size("hidden_size"), at_least(1), Tuned((64, 128, 256, 384, 512, 768), ("lstm",))
    ] = UNSET
    """Size of the recurrent state, or of the transformer's features."""
    embedding_size: Annotated[
        Resolved[int], _by_size("embedding_size"), at_least(1), only("lstm"), Tuned((32, 64, 128, 256, 768))
    ] = UNSET
    """Size of the token embeddings. A transformer's have the hidden size."""
    num_heads: Annotated[Resolved[int], _by_size("num_heads"), at_least(1), only("transformer")] = UNSET
    """Number of attention heads. The hidden size must be divisible by it."""
    positions: PositionalEncoding = "rotary"
    """Positional encoding. learned has --window positions, so that --max-tokens may not be more."""
    window: Annotated[Resolved[int], _by_size("window"), at_least(8), Tuned((32, 64, 128))] = UNSET
    """Number of tokens through which gradients flow back."""
    batch_size: Annotated[Resolved[int], _by_size("batch_size"), at_least(1), Tuned((16, 32, 64))] = UNSET
    """Number of streams into which the text is cut. They are read in parallel."""
    num_sampled: Annotated[Resolved[int], _by_size("num_sampled"), at_least(0), _CAUSAL] = UNSET
    """causal: number of tokens that the sampled softmax scores in training. 0 scores all tokens."""
    dropout: Annotated[Resolved[float], _by_size("dropout", "X"), RATE, Tuned(Range(0.0, 0.5, step=0.05))] = UNSET
    """Dropout rate."""
    mask_rate: Annotated[float, Bounds(0, 1, above=True, below=True), _BIDIRECTIONAL] = 0.15
    """bidirectional: fraction of the tokens to predict."""
    epochs: Annotated[
        Resolved[int],
        at_least(1),
        tyro.conf.arg(metavar="N", help_behavior_hint="(default: quick 1; full 5, transformer 3)"),
    ] = UNSET
    """Maximum number of passes over the texts."""
    learning_rate: Annotated[
        Resolved[float],
        POSITIVE,
        Tuned(Range(0.0003, 0.03, log=True)),
        tyro.conf.arg(
            metavar="X", help_behavior_hint="(default: quick 0.005, transformer 0.002; full 0.003, transformer 0.001)"
        ),
    ] = UNSET
    """Highest learning rate."""
    schedule: Schedule = "cosine"
    weight_decay: Annotated[float, at_least(0), Tuned((0.0, 0.01, 0.03, 0.1))] = 0.01
    """Weight decay of AdamW, on matrices alone."""
    max_tokens: Annotated[int, at_least(4)] = 400
    """Maximum number of tokens per text that the exported encoder reads; longer texts keep their first and last
    half."""
    max_bytes: Annotated[int, at_least(100)] = 40_000
    """Maximum number of bytes of UTF-8 per text. The rest of a longer text is not read."""
    patience: Patience = 3
    """Stop after N epochs without a lower validation loss. The weights of the best epoch are kept."""
    checkpoint_every: CheckpointEvery = 500

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

    def without_flags(self) -> "EncoderConfig":
        """As `TrainingConfig.without_flags`; other fields depend on the size."""
        return type(self)(preset=self.preset, model=self.model, size=self.size).resolve()

    def network_fields(self) -> tuple[str, ...]:
        """As `TrainingConfig.network_fields`; there are as many learned positions as tokens of a window."""
        return (*self.NETWORK_FIELDS, *(("window",) if self.positions == "learned" else ()))

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        table_options.make(encoding=self.encoding)
        if self.model == "transformer":
            require_divisor(self)
        elif self.direction == "bidirectional":
            require(self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even: each direction has half of it")
        if self.positions == "learned":
            expected = f"at most --window {self.window} with --positions learned"
            require(self.max_tokens <= self.window, "max_tokens", self.max_tokens, expected)
        for source, used in _NOTHING_IS_TRAINED.items():
            if getattr(self, source):
                fields = [field.name for field in dataclasses.fields(self) if field.name not in used]
                reject_without_effect(self, f"with --{source} nothing is trained", *fields)
