"""Settings of text classification: text -> label."""

import dataclasses
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.config import (
    NEGATED,
    Activation,
    Positions,
    Presets,
    Range,
    Ranges,
    by_preset,
    reject_without_effect,
    require,
    require_at_least,
    require_positive,
    require_rate,
)
from pipelines.data import prepared
from pipelines.data.prepared import Prepared
from pipelines.labelled.config import LabelledConfig
from pipelines.support.errors import UserError

_ALL = {
    "max_tokens": 1000,
    "max_encoder_tokens": 1000,
    "vocabulary_size": 30_000,
    "max_ngrams": 0,
    "max_characters": 0,
    "ngram_buckets": 0,
    "word_vectors": "random",
    "num_negations": 0,
    "span_rate": 0.0,
    "word_dropout": 0.0,
    "embedding_size": 64,
    "embedding_dropout": 0.3,
    "hidden_size": 64,
    "num_layers": 1,
    "pooling": "max",
    "dropout": 0.5,
    "batch_size": 64,
    "epochs": 4,
    "learning_rate": 0.002,
}
_QUICK = {
    "max_tokens": 100,
    "max_encoder_tokens": 100,
    "vocabulary_size": 10_000,
    "dropout": 0.3,
    "batch_size": 32,
    "epochs": 3,
    "learning_rate": 0.005,
}
_SEQUENCE = {"max_tokens": 400, "max_encoder_tokens": 400, "word_vectors": "cooccurrence", "word_dropout": 0.1}
_BAG = {"embedding_size": 16, "dropout": 0.3}

_PREPARED_MODEL = "gru"  # the default with prepared data: "best" has a linear model, which needs all texts in memory
_RECURRENT = ("simple", "jordan", "gru", "gru-reset-before", "lstm", "peephole")
_NETWORKS = ("bag", "cnn", *_RECURRENT, "transformer", "best")

# Chosen on IMDB's training reviews with a tenth of the films held out (benchmarks/classification.py measures them).
PRESETS: Presets = {
    ("linear", "quick"): _ALL | {"max_ngrams": 200_000, "max_characters": 1000, "epochs": 1},
    ("linear", "full"): _ALL | {"max_tokens": 3000, "max_ngrams": 400_000, "max_characters": 2000, "epochs": 1},
    ("bag", "quick"): _ALL | _BAG | {"ngram_buckets": 2**16, "batch_size": 32, "learning_rate": 0.02},
    ("bag", "full"): _ALL
    | _BAG
    | {"max_tokens": 3000, "max_encoder_tokens": 3000, "ngram_buckets": 2**18, "learning_rate": 0.01},
    **{(model, "quick"): _ALL | _QUICK for model in ("cnn", *_RECURRENT, "transformer")},
    **{(model, "full"): _ALL | _SEQUENCE for model in _RECURRENT},
    ("cnn", "full"): _ALL | {"max_tokens": 400, "max_encoder_tokens": 400},
    ("transformer", "full"): _ALL | _SEQUENCE | {"max_encoder_tokens": 200, "num_layers": 2, "learning_rate": 0.001},
    ("best", "quick"): _ALL | _QUICK | {"max_tokens": 1000, "max_ngrams": 50_000, "max_characters": 1000},
    ("best", "full"): _ALL
    | _SEQUENCE
    | {"max_tokens": 3000, "max_ngrams": 400_000, "max_characters": 1000, "num_negations": 6000, "span_rate": 0.5},
}

_TRAINING_RANGES = {
    "batch_size": (16, 32, 64, 128),
    "learning_rate": Range(0.0003, 0.03, log=True),
    "dropout": Range(0.0, 0.7, step=0.05),
    "word_dropout": Range(0.0, 0.3, step=0.05),
    "embedding_size": (32, 64, 96, 128),
    "embedding_dropout": Range(0.0, 0.6, step=0.05),
}
_SIZE_RANGES = {"hidden_size": (32, 64, 96, 128, 192)}
_TRANSFORMER_RANGES = {"num_layers": Range(1, 3), "num_heads": (2, 4, 8)}
RANGES: Ranges = {
    "linear": {"max_ngrams": (50_000, 100_000, 200_000, 400_000), "max_characters": (0, 500, 1000, 2000)},
    "bag": {
        "batch_size": (16, 32, 64, 128),
        "learning_rate": Range(0.001, 0.1, log=True),
        "dropout": Range(0.0, 0.7, step=0.05),
        "word_dropout": Range(0.0, 0.3, step=0.05),
        "embedding_size": (8, 16, 32, 64),
        "ngram_buckets": (0, 2**16, 2**18, 2**20),
    },
    "cnn": _TRAINING_RANGES | _SIZE_RANGES,
    **{
        model: _TRAINING_RANGES
        | _SIZE_RANGES
        | {"num_layers": Range(1, 2), "pooling": ("last", "mean", "max", "attention")}
        for model in _RECURRENT
    },
    "transformer": _TRAINING_RANGES | _TRANSFORMER_RANGES,
    "best": _TRAINING_RANGES
    | _SIZE_RANGES
    | {"span_rate": Range(0.0, 1.0, step=0.25), "max_encoder_tokens": (100, 200, 400, 800)},
}


# Field -> the models for which it has an effect. A field that is not listed has one for every model.
USED_BY = {
    **dict.fromkeys(
        (
            "max_encoder_tokens",
            "word_vectors",
            "num_negations",
            "span_rate",
            "word_dropout",
            "embedding_size",
            "dropout",
            "epochs",
            "optimizer",
            "learning_rate",
            "schedule",
            "patience",
        ),
        _NETWORKS,
    ),
    "ngram_buckets": ("bag",),
    "embedding_dropout": ("cnn", *_RECURRENT, "transformer", "best"),
    "hidden_size": ("cnn", *_RECURRENT, "best"),
    "num_layers": (*_RECURRENT, "transformer", "best"),
    **dict.fromkeys(("bidirectional", "merge", "activation", "residual", "learned_state"), (*_RECURRENT, "best")),
    "pooling": (*_RECURRENT, "transformer", "best"),
    **dict.fromkeys(("num_heads", "positions"), ("transformer",)),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassificationConfig(LabelledConfig):
    """Settings of the training. A default such as "quick 64, bag 16; full 32" depends on --preset and --model."""

    PRESETS: ClassVar[Presets] = PRESETS
    RANGES: ClassVar[Ranges] = RANGES
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "linear", "full": "best"}

    preset: Literal["quick", "full"] | None = None
    """quick: a first look in seconds; full: best quality. By default quick on the embedded sample and full with
    --data."""
    model: (
        Literal["best", "linear", "bag", "cnn", "transformer"]
        | Literal["simple", "jordan", "gru", "gru-reset-before", "lstm", "peephole"]
        | None
    ) = None
    """best: a GRU and convolutions, averaged with a linear model; linear: a linear model of n-grams of words and
    characters, in seconds; bag: mean of the embeddings of words and word pairs; cnn: convolutions over 2, 3 and 4
    tokens; simple (Elman), jordan, gru, gru-reset-before, lstm, peephole: recurrent network with these cells;
    transformer: self-attention. By default linear with --preset quick and best with full."""
    tokenizer: Literal["word", "character", "subword"] = "word"
    """What a token is. subword is SentencePiece."""
    max_tokens: Annotated[int | None, by_preset(PRESETS, "max_tokens")] = None
    """Maximum tokens per text; longer texts keep their first and last half."""
    max_encoder_tokens: Annotated[int | None, by_preset(PRESETS, "max_encoder_tokens")] = None
    """Maximum tokens per text for the network; --max-ngrams reads all --max-tokens."""
    vocabulary_size: Annotated[int | None, by_preset(PRESETS, "vocabulary_size")] = None
    """Maximum number of tokens in the vocabulary, with the four special tokens."""
    max_ngrams: Annotated[int | None, by_preset(PRESETS, "max_ngrams")] = None
    """Average the network with a linear model of the N most frequent n-grams of one to three tokens; 0 uses no linear
    model."""
    max_characters: Annotated[int | None, by_preset(PRESETS, "max_characters")] = None
    """The linear model also counts n-grams of two to five characters within words, in the first and last N/2
    characters of a text; 0 counts none."""
    ngram_buckets: Annotated[int | None, by_preset(PRESETS, "ngram_buckets")] = None
    """bag: number of hash buckets for pairs of neighbouring tokens; 0 uses no pairs."""
    word_vectors: Annotated[Literal["random", "cooccurrence"] | None, by_preset(PRESETS, "word_vectors", None)] = None
    """Initial word vectors. cooccurrence computes them from the training texts: words with similar neighbours start
    with similar vectors."""
    num_negations: Annotated[int | None, by_preset(PRESETS, "num_negations")] = None
    """Only for `sentiment` with the classes negative and positive: add N generated English sentences to training, half
    of them with "not". 0 adds none."""
    span_rate: Annotated[float | None, by_preset(PRESETS, "span_rate", "X")] = None
    """Fraction of the texts from which the network sees only a random span in a training step."""
    word_dropout: Annotated[float | None, by_preset(PRESETS, "word_dropout", "X")] = None
    """Fraction of the tokens that are replaced by the unknown token in training."""
    embedding_size: Annotated[int | None, by_preset(PRESETS, "embedding_size")] = None
    """Size of a token's vector."""
    embedding_dropout: Annotated[float | None, by_preset(PRESETS, "embedding_dropout", "X")] = None
    """Dropout rate of the token vectors; whole features are dropped per text. Not for bag."""
    hidden_size: Annotated[int | None, by_preset(PRESETS, "hidden_size")] = None
    """Recurrent networks and best: hidden size of each direction. cnn and best: half the number of filters of each
    length."""
    num_layers: Annotated[int | None, by_preset(PRESETS, "num_layers")] = None
    """Recurrent networks, best and transformer: number of layers."""
    bidirectional: Annotated[bool, NEGATED] = True
    """Recurrent networks and best: read each text only forwards. By default they read it in both directions."""
    merge: Literal["concat", "sum"] = "concat"
    """Recurrent networks and best: the outputs of the two directions side by side, or their sum."""
    activation: Activation = "tanh"
    """Recurrent networks and best: activation of the hidden layer, or of an LSTM's or GRU's candidate."""
    residual: bool = False
    """Recurrent networks and best with several layers: add the input of each layer but the first to its output."""
    learned_state: bool = False
    """Recurrent networks and best: learn the first state of each layer. By default it is zero."""
    pooling: Annotated[Literal["last", "mean", "max", "attention"] | None, by_preset(PRESETS, "pooling", None)] = None
    """Recurrent networks, best and transformer: how the states of all tokens become one vector."""
    num_heads: Annotated[int, tyro.conf.arg(metavar="N")] = 4
    """transformer: number of attention heads; it divides --embedding-size."""
    positions: Positions = "sinusoidal"
    """transformer: positional encoding."""
    dropout: Annotated[float | None, by_preset(PRESETS, "dropout", "X")] = None
    """Dropout rate of the text's vector."""
    batch_size: Annotated[int | None, by_preset(PRESETS, "batch_size")] = None
    """Texts per training step."""
    epochs: Annotated[int | None, by_preset(PRESETS, "epochs")] = None
    """Maximum number of passes over the training texts."""
    learning_rate: Annotated[float | None, by_preset(PRESETS, "learning_rate", "X")] = None
    """Highest learning rate."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """cosine: the learning rate rises in the first 5 % of the steps, then falls to 0 on a cosine; constant."""
    patience: Annotated[int, tyro.conf.arg(metavar="N")] = 3
    """Stop after N epochs without a lower validation loss. The weights of the best epoch are kept."""
    start_weights: tyro.conf.Suppress[str | None] = None
    """best.npz of the run that --from names: training starts from its tokenizer and its weights."""

    def data_files(self) -> dict[str, str]:  # noqa: D102
        return super().data_files() | ({"start_weights": self.start_weights} if self.start_weights else {})

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "sentiment" if self.polarity else "classification")

    def resolve(self) -> "ClassificationConfig":
        """As `TrainingConfig.resolve`; prepared data has its own default model, and fixes some settings."""
        found = self.prepared()
        changes = {} if self.polarity or self.num_negations is not None else {"num_negations": 0}
        if found:
            changes["model"] = self.model or _PREPARED_MODEL
        given = dataclasses.replace(self, **changes)
        resolved = super(ClassificationConfig, given).resolve()
        return prepared.settled(self, resolved, found, limits=("max_tokens",)) if found else resolved

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        if self.prepared():
            self._check_prepared()
        require_at_least(self, 4, "max_tokens", "max_encoder_tokens")
        require_at_least(self, 1, "embedding_size", "hidden_size", "num_layers", "num_heads", "batch_size", "epochs")
        require_at_least(self, 10, "vocabulary_size")
        buckets = self.ngram_buckets
        require(buckets == 0 or 2 <= buckets <= 2**21, "ngram_buckets", buckets, "0 (no pairs) or from 2 to 2097152")
        require(0 <= self.max_ngrams <= 10**7, "max_ngrams", self.max_ngrams, "from 0 (none) to 10000000")
        if self.model == "linear":
            require(self.max_ngrams > 0, "max_ngrams", self.max_ngrams, "above 0 for --model linear")
        require_at_least(self, 0, "max_characters")
        if not self.max_ngrams:
            reject_without_effect(self, "it needs --max-ngrams", "max_characters")
        require(0 <= self.num_negations <= 10**6, "num_negations", self.num_negations, "from 0 to 1000000")
        require(0 <= self.span_rate <= 1, "span_rate", self.span_rate, "from 0 to 1")
        require_rate(self, "word_dropout", "embedding_dropout", "dropout")
        require_positive(self, "learning_rate")
        for field, models in USED_BY.items():
            if self.model not in models:
                reject_without_effect(self, f"it needs --model {', '.join(models)}", field)
        if not self.bidirectional:
            reject_without_effect(self, "it needs two directions", "merge")
        if self.num_layers == 1:
            reject_without_effect(self, "it needs at least two --num-layers", "residual")
        if not self.polarity:
            reject_without_effect(
                self, "it needs the labels negative and positive of `train sentiment`", "num_negations"
            )
        if self.model == "transformer":
            divisor = self.num_heads * (2 if self.positions == "rotary" else 1)
            expected = f"a divisor of --embedding-size {self.embedding_size}"
            if self.positions == "rotary":
                expected += " that gives each head an even number of features"
            require(self.embedding_size % divisor == 0, "num_heads", self.num_heads, expected)

    def _check_prepared(self) -> None:
        """Checks the settings of a training on prepared data.

        Raises:
            UserError: a setting needs all texts in memory, or would change what is prepared.
        """
        if self.model in ("linear", "best"):
            models = ", ".join(model for model in _NETWORKS if model != "best")
            raise UserError(
                f"--model {self.model}: its linear model of n-grams needs all texts in memory, and prepared data has "
                f"none; choose one of {models}"
            )
        require(not self.max_ngrams, "max_ngrams", self.max_ngrams, "0 with prepared data")
        require(not self.num_negations, "num_negations", self.num_negations, "0 with prepared data")
        if self.start_weights:
            raise UserError("--from needs texts in --data: prepared data has another tokenizer")
        reason = "the validation texts of prepared data are fixed: give --valid to `prepare`"
        reject_without_effect(self, reason, "valid", "folds")
