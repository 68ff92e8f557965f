"""The settings of a language model's training."""

import dataclasses
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.data import prepared, table_options
from pipelines.data.prepared import Prepared
from pipelines.settings.config import (
    Presets,
    TrainingConfig,
    by_preset,
    with_expanded_paths,
)
from pipelines.settings.fields import (
    FRACTION,
    NAME,
    PATHS,
    POSITIVE,
    RATE,
    RECURRENT,
    UNSET,
    CheckpointEvery,
    Encoding,
    NumHeads,
    Only,
    Optimizer,
    Patience,
    PositionalEncoding,
    Range,
    RecurrentActivation,
    Residual,
    Resolved,
    TrainingPrecision,
    Tuned,
    ValidFraction,
    at_least,
    from_to,
    only,
    reject_without_effect,
    require,
    require_divisor,
)
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

_RECURRENT = {
    "num_layers": 1,
    "hidden_size": 256,
    "embedding_size": 64,
    "window": 64,
    "batch_size": 64,
    "epochs": 3,
    "learning_rate": 0.005,
    "dropout": 0.0,
    "weight_decay": 0.0,
    "vocabulary_size": 10_000,
    "tie_weights": False,
    "num_sampled": 0,
    "order": 0,
}
_QUICK_RECURRENT = _RECURRENT | {"window": 16, "batch_size": 32, "learning_rate": 0.01}
_FULL_RECURRENT = _RECURRENT | {
    "hidden_size": 512,
    "batch_size": 32,
    "epochs": 8,
    "learning_rate": 0.003,
    "dropout": 0.2,
    "weight_decay": 0.01,
}
_WINDOW = _RECURRENT | {"order": 6, "learning_rate": 0.003}
_NGRAM = _RECURRENT | {"order": 6, "epochs": 1, "batch_size": 1, "window": 16}
_WORDS_RECURRENT = _RECURRENT | {
    "tokenizer": "word",
    "vocabulary_size": 40_000,
    "tie_weights": True,
    "num_sampled": 2048,
    "hidden_size": 512,
    "embedding_size": 256,
    "window": 35,
    "epochs": 14,
    "learning_rate": 0.004,
    "dropout": 0.5,
    "weight_decay": 0.1,
}
_WORDS_WINDOW = {"learning_rate": 0.003, "order": 6, "epochs": 6, "dropout": 0.3, "weight_decay": 0.0}
_TRANSFORMER = _RECURRENT | {"hidden_size": 128, "embedding_size": 128, "batch_size": 16, "learning_rate": 0.002}
# Every model trains for about the same time.
_QUICK_EPOCHS = dict.fromkeys(RECURRENT, 2) | {"simple": 5, "jordan": 3, "peephole": 1}
WITH_ORDER = ("ngram", "feedforward", "average")  # the models that read a fixed number of tokens
_NETWORKS = (*RECURRENT, "transformer", "feedforward", "average")
_SIZES, _EMBEDDING_SIZES = (64, 128, 256, 384, 512, 768), (32, 64, 128, 256, 512)
_WITH_EMBEDDING = (*RECURRENT, "feedforward", "average")
PRESETS = {
    **{(model, "quick"): _QUICK_RECURRENT | {"epochs": epochs} for model, epochs in _QUICK_EPOCHS.items()},
    **{(model, "full"): _FULL_RECURRENT for model in _QUICK_EPOCHS},
    ("transformer", "quick"): _TRANSFORMER | {"num_layers": 2, "epochs": 1},
    ("transformer", "full"): _TRANSFORMER | {"num_layers": 4, "epochs": 8, "dropout": 0.1},
    **{(model, "words"): _WORDS_RECURRENT for model in _QUICK_EPOCHS},
    **{("ngram", preset): _NGRAM for preset in ("quick", "full")},
    ("ngram", "words"): _NGRAM | {"tokenizer": "word", "vocabulary_size": 40_000, "order": 5},
    **{(model, "quick"): _WINDOW | {"window": 32, "batch_size": 32} for model in ("feedforward", "average")},
    **{(model, "full"): _WINDOW | {"hidden_size": 512, "epochs": 8} for model in ("feedforward", "average")},
    **{(model, "words"): _WORDS_RECURRENT | _WORDS_WINDOW for model in ("feedforward", "average")},
}
_BY_ROW = Only("it needs --documents row", lambda config: config.documents == "row")
_NOT_CHARACTERS = Only("it needs --tokenizer word or subword", lambda config: config.tokenizer != "character")
_WITH_DROPOUT = Only("it needs a --dropout above 0", lambda config: config.dropout > 0)
_WITHOUT_SAMPLED = Only("it needs --num-sampled 0", lambda config: config.num_sampled == 0)
_TOKENIZER_HINT = "(default: word with --preset words; else character for char-lm, subword for language-model)"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LanguageModelConfig(TrainingConfig):
    """Settings of the training. Where a default says quick and full, --preset decides."""

    PRESETS: ClassVar[Presets] = PRESETS
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "lstm", "full": "lstm", "words": "lstm"}
    REPORT_FIELDS: ClassVar[tuple[str, ...]] = (*TrainingConfig.REPORT_FIELDS, "no_baseline")
    DATA_FIELDS: ClassVar[tuple[str, ...]] = ("data", "valid", "documents", "text_column", "encoding")
    GROWS: ClassVar[bool] = True
    NETWORK_FIELDS: ClassVar[tuple[str, ...]] = (
        "preset",
        "model",
        "tokenizer",
        "order",
        "num_layers",
        "hidden_size",
        "embedding_size",
        "tie_weights",
        "num_heads",
        "activation",
        "residual",
        "positions",
    )

    data: Annotated[Data | None, PATHS] = None
    """Text to train on: files (also .gz, .xz, .bz2, .zip), one after the other, a pattern such as 'books/*.txt', or
    `tiny-shakespeare`, which is downloaded. Without it: the embedded sample, Python's own help texts."""
    valid: Annotated[Data | None, PATHS] = None
    """Validation text. Without it, the end of --data is split off."""
    valid_fraction: ValidFraction = 0.1
    """Fraction of the text to split off for validation, from its end."""
    documents: Literal["line", "file", "row"] | None = None
    """Teach where a text ends: every line, file (of a folder: each .txt file in it), or row of a table is a text of its
    own, and the model can end what it writes. By default the data is one long text without an end."""
    text_column: Annotated[str | None, NAME, _BY_ROW] = None
    """The column with the text, with --documents row. By default the first column with a usual name (text, sentence,
    ...)."""
    encoding: Encoding = None
    preset: Resolved[Literal["quick", "full", "words"]] = UNSET
    """Set of defaults. quick: at most two minutes; full: best quality on a text of a million characters, half an hour;
    words: for a text of two million words, one to three hours. By default quick on the embedded sample and full with
    --data."""
    model: Resolved[Literal[(*RECURRENT, "transformer", *WITH_ORDER)]] = UNSET
    """Network to train: stacked recurrent layers of that kind, or a causal transformer. simple is an Elman network;
    jordan feeds back its output; gru-reset-before applies the reset gate before the product with the previous state,
    gru after it. ngram: counts with modified Kneser-Ney smoothing; feedforward: a hidden layer over the last tokens
    (Bengio et al. 2003); average: over the mean of their embeddings. By default lstm."""
    tokenizer: Annotated[
        Literal["character", "word", "subword"] | None, tyro.conf.arg(help_behavior_hint=_TOKENIZER_HINT)
    ] = None
    """What a token is: a character, a word between spaces, or a subword of SentencePiece."""
    vocabulary_size: Annotated[Resolved[int], by_preset(PRESETS, "vocabulary_size"), at_least(10), _NOT_CHARACTERS] = (
        UNSET
    )
    """word and subword: maximum number of tokens in the vocabulary, including the four special ones. A character
    vocabulary has all characters of the training text."""
    order: Annotated[
        int | None,
        only(*WITH_ORDER),
        Tuned(Range(2, 6), ("ngram",)),
        Tuned(Range(2, 10)),
        tyro.conf.arg(metavar="N", help_behavior_hint="(default: 6; ngram with --preset words 5)"),
    ] = None
    """Predict a token from the N - 1 tokens before it."""
    num_layers: Annotated[
        Resolved[int],
        by_preset(PRESETS, "num_layers"),
        at_least(1),
        only(*RECURRENT, "transformer"),
        Tuned(Range(1, 3), RECURRENT),
        Tuned(Range(1, 6)),
    ] = UNSET
    """Number of stacked layers."""
    hidden_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "hidden_size"),
        at_least(1),
        only(*_NETWORKS),
        Tuned((64, 128, 192, 256), ("transformer",)),
        Tuned(_SIZES),
    ] = UNSET
    """Size of the recurrent state, or of the transformer's features."""
    embedding_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "embedding_size"),
        at_least(1),
        only(*_WITH_EMBEDDING),
        Tuned(_EMBEDDING_SIZES),
    ] = UNSET
    """Size of the token embeddings, but for a transformer's, which have the hidden size."""
    tie_weights: Annotated[Resolved[bool], by_preset(PRESETS, "tie_weights", "True|False"), only(*_NETWORKS)] = UNSET
    """Score the next token with the token embeddings (Press and Wolf 2017)."""
    num_sampled: Annotated[Resolved[int], by_preset(PRESETS, "num_sampled"), at_least(0), only(*_NETWORKS)] = UNSET
    """With --tie-weights True: number of tokens that the sampled softmax scores in training, which is faster with a
    large vocabulary. 0 scores all tokens."""
    num_heads: Annotated[NumHeads, Tuned((2, 4, 8))] = 4
    """Number of attention heads. The hidden size must be divisible by it."""
    activation: Annotated[RecurrentActivation, only(*RECURRENT, "feedforward", "average")] = "tanh"
    residual: Annotated[Residual, only(*RECURRENT)] = False
    positions: PositionalEncoding = "rotary"
    window: Annotated[
        Resolved[int],
        by_preset(PRESETS, "window"),
        at_least(2),
        only(*_NETWORKS),
        Tuned((8, 16, 32, 35, 64, 100), RECURRENT),
        Tuned((16, 32, 64, 128, 256), ("transformer",)),
    ] = UNSET
    """Number of tokens through which gradients flow back. Recurrent models carry their state from one window to the
    next."""
    dropout: Annotated[
        Resolved[float], by_preset(PRESETS, "dropout", "X"), RATE, only(*_NETWORKS), Tuned(Range(0.0, 0.6, step=0.05))
    ] = UNSET
    """Dropout rate, between layers and not between time steps."""
    sequence_dropout: Annotated[bool, only(*RECURRENT), _WITH_DROPOUT] = False
    """Use the same dropout mask at all tokens of a window (variational dropout)."""
    teacher_forcing: Annotated[float, FRACTION, only(*RECURRENT), _WITHOUT_SAMPLED] = 1.0
    """Probability that training reads the true token, instead of the one that the network itself
    finds most likely (scheduled sampling, Bengio et al. 2015). 0: free running within each window."""
    batch_size: Annotated[
        Resolved[int], by_preset(PRESETS, "batch_size"), at_least(1), only(*_NETWORKS), Tuned((8, 16, 32, 64, 128))
    ] = UNSET
    """Number of streams into which the text is cut. They are read in parallel."""
    epochs: Annotated[Resolved[int], by_preset(PRESETS, "epochs"), at_least(1), only(*_NETWORKS)] = UNSET
    """Maximum number of passes over the text."""
    learning_rate: Annotated[
        Resolved[float],
        by_preset(PRESETS, "learning_rate", "X"),
        POSITIVE,
        only(*_NETWORKS),
        Tuned(Range(0.0005, 0.03, log=True)),
    ] = UNSET
    """Highest learning rate."""
    schedule: Annotated[Literal["cosine", "step", "plateau", "constant"], only(*_NETWORKS)] = "cosine"
    """Course of the learning rate. cosine: rises for 5 % of the steps, then falls to zero; step: halved after each
    eighth of the second half of the training; plateau: halved after an epoch without a lower validation loss;
    constant."""
    weight_decay: Annotated[
        Resolved[float],
        by_preset(PRESETS, "weight_decay", "X"),
        at_least(0),
        only(*_NETWORKS),
        Tuned((0.0, 0.01, 0.03, 0.1, 0.3)),
    ] = UNSET
    """Weight decay of AdamW, on matrices alone."""
    patience: Annotated[Patience, only(*_NETWORKS)] = 3
    """Stop after N epochs without a lower validation loss. The weights of the best epoch are kept."""
    checkpoint_every: Annotated[CheckpointEvery, only(*_NETWORKS)] = 500
    optimizer: Annotated[Optimizer, only(*_NETWORKS)] = "adam"
    clip_norm: Annotated[float, POSITIVE, only(*_NETWORKS)] = 1.0
    precision: Annotated[TrainingPrecision, only(*_NETWORKS)] = "auto"
    default_tokenizer: tyro.conf.Suppress[str] = "subword"
    """Tokenizer where neither --tokenizer nor the preset names one. The registry of tasks sets it."""

    no_baseline: bool = False
    """Leave the baseline out of the report: an n-gram model of the same tokens."""

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "char-lm" if self.default_tokenizer == "character" else "language-model")

    def resolve(self) -> "LanguageModelConfig":
        """Returns the config with preset, model and all fields chosen.

        Raises:
                UserError: the model does not have this preset; or a setting differs from that of prepared data.
        """
        config = with_expanded_paths(super().resolve(), "data", "valid")
        found = self.prepared()
        if found:
            config = prepared.settled(self, config, found)
        if config.model == "ngram" and config.precision == "auto":
            config = dataclasses.replace(config, precision="float32")  # its tables are not computed in any other
        return dataclasses.replace(config, tokenizer=config.tokenizer or config.default_tokenizer)

    def defaults(self) -> "LanguageModelConfig":
        """Returns the resolved config with the same preset, model and default tokenizer and otherwise only defaults."""
        return type(self)(preset=self.preset, model=self.model, default_tokenizer=self.default_tokenizer).resolve()

    def data_files(self) -> dict[str, Data]:
        """Path of the validation text, if there is one."""
        return super().data_files() | ({"valid": self.valid} if self.valid else {})

    def network_fields(self) -> tuple[str, ...]:
        """As `TrainingConfig.network_fields`; there are as many learned positions as tokens of a window."""
        return (*self.NETWORK_FIELDS, *(("window",) if self.positions == "learned" else ()))

    def ties_embeddings(self) -> bool:  # noqa: D102
        return self.tie_weights

    def not_continued(self) -> str:  # noqa: D102
        return "--model ngram counts once and cannot continue" if self.model == "ngram" else ""

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        if self.prepared():
            if self.model == "ngram":
                raise UserError("--model ngram counts all tokens in memory: with prepared data choose another --model")
            reject_without_effect(self, "the validation text of prepared data is fixed", "valid")
            reject_without_effect(self, "prepared data has no text any more", "text_column", "encoding")
        if self.data is None:
            reject_without_effect(self, "the embedded sample is no file", "encoding")
        table_options.make(encoding=self.encoding)
        require(
            not self.num_sampled or self.tie_weights, "num_sampled", self.num_sampled, "0 without --tie-weights True"
        )
        if self.model == "transformer":
            require_divisor(self)
        if self.model in WITH_ORDER:
            orders = from_to(2, 6 if self.model == "ngram" else 1000)
            require(orders.allow(self.order), "order", self.order, orders.expected())
        if self.valid:
            reject_without_effect(self, "--valid gives the validation text", "valid_fraction")
