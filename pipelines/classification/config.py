"""Settings of text classification: text -> label."""

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import tyro

from pipelines.classification.presets import FEEDFORWARD, PRESETS
from pipelines.data import prepared
from pipelines.data.prepared import Prepared
from pipelines.data.table_options import TableOptions
from pipelines.labelled.config import LabelledConfig
from pipelines.linear import limits
from pipelines.settings.config import SGD_FACTOR, Presets, by_preset, epochs_for
from pipelines.settings.fields import (
    FRACTION,
    HANDLE,
    LAYER_FIELDS,
    NAME,
    NEGATED,
    POSITIVE,
    RATE,
    RECURRENT,
    UNSET,
    LearnedState,
    Merge,
    NumHeads,
    Only,
    Optimizer,
    PositionalEncoding,
    Range,
    RecurrentActivation,
    Residual,
    Resolved,
    Schedule,
    Tuned,
    at_least,
    from_to,
    only,
    reject_without_effect,
    require,
    require_divisor,
)
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import FIELD_MARK

_ENCODERS = ("bag", "cnn", *RECURRENT, "transformer")
_NETWORKS = (*_ENCODERS, "best")

# Epochs by preset, unless --epochs is given: as many as the steps need, within limits.
_STEPS = {"quick": 400, "full": 1400}
_EPOCH_LIMITS = {"quick": (3, 20), "full": (4, 40)}
_EPOCHS_HINT = "(default: {})".format(
    "; ".join(f"{name} {low} to {high}, for {_STEPS[name]:,} steps" for name, (low, high) in _EPOCH_LIMITS.items())
)

_LEAST_PATIENCE = 3

_LINEAR_PART = Only("it needs --max-ngrams", lambda config: config.max_ngrams > 0)
_SENTIMENT = Only("it needs the labels negative and positive of `train sentiment`", lambda config: config.polarity)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassificationConfig(LabelledConfig):
    """Settings of the training. A default such as "quick 64, bag 16; full 32" depends on --preset and --model."""

    PRESETS: ClassVar[Presets] = PRESETS
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "linear", "full": "best"}
    DATA_FIELDS: ClassVar[tuple[str, ...]] = (*LabelledConfig.DATA_FIELDS, "weight_column")
    READS_COLUMNS: ClassVar[bool] = True
    NETWORK_FIELDS: ClassVar[tuple[str, ...]] = (
        "model",
        "tokenizer",
        "max_ngrams",
        "max_characters",
        "encoder",
        "ngram_buckets",
        "embedding_size",
        *LAYER_FIELDS,
        "pooling",
    )
    KEPT_FIELDS: ClassVar[tuple[str, ...]] = ("vocabulary_size", "max_bytes", "word_vectors")
    GROWS: ClassVar[bool] = True
    CONTINUED: ClassVar[dict[str, float]] = {}

    preset: Resolved[Literal["quick", "full"]] = UNSET
    """quick: a first look in seconds; full: best quality. By default quick on the embedded sample and full with
    --data."""
    model: Resolved[Literal[("best", "linear", "bag", "cnn", "transformer", *RECURRENT)]] = UNSET
    """best: a linear model of n-grams of words and characters and, from 1,000 training texts on, a feedforward network
    over them; linear: the linear model alone, in seconds; bag: mean of the embeddings of words and word pairs; cnn:
    convolutions over 2, 3 and 4 tokens; transformer: self-attention; the others: a recurrent network with these cells
    (simple is Elman's). By default linear with --preset quick and best with full."""
    tokenizer: Literal["word", "character", "subword"] = "word"
    """What a token is. subword is SentencePiece."""
    max_tokens: Annotated[Resolved[int], by_preset(PRESETS, "max_tokens"), at_least(4)] = UNSET
    """Maximum tokens per text; longer texts keep their first and last half."""
    max_encoder_tokens: Annotated[
        Resolved[int],
        by_preset(PRESETS, "max_encoder_tokens"),
        at_least(4),
        only(*_ENCODERS),
    ] = UNSET
    """Maximum tokens per text for the network; --max-ngrams reads all --max-tokens."""
    vocabulary_size: Annotated[Resolved[int], by_preset(PRESETS, "vocabulary_size"), at_least(10)] = UNSET
    """Maximum number of tokens in the vocabulary, with the four special tokens."""
    max_ngrams: Annotated[
        Resolved[int],
        by_preset(PRESETS, "max_ngrams"),
        from_to(0, 10**7),
        Tuned((50_000, 100_000, 200_000, 400_000), ("linear",)),
    ] = UNSET
    """Average the network with a linear model of the N most frequent n-grams of one to three tokens; 0 uses no linear
    model."""
    max_characters: Annotated[
        Resolved[int],
        by_preset(PRESETS, "max_characters"),
        at_least(0),
        _LINEAR_PART,
        Tuned((0, 500, 1000, 2000), ("linear",)),
    ] = UNSET
    """The linear model also counts n-grams of two to five characters within words, in the first and last N/2
    characters of a text; 0 counts none."""
    encoder: Annotated[str | None, HANDLE, only("linear", "best"), _LINEAR_PART] = None
    """Read the vectors of an encoder, too. HANDLE is a pretrained encoder, which gives each text a vector: hf://ORG/NAME,
    the folder of a checkpoint of Hugging Face or of an export of `train encoder`, or a module of TF Hub that takes
    texts. It is not trained further. It helps most where labels are few."""
    weight_column: Annotated[str | None, NAME] = None
    """Column of --data with the weight of each row in training, a number of at least 0. Scores count all rows alike."""
    refit: Literal["none", "linear", "all"] = "linear"
    """What is trained once more at the end, with the settings that were chosen, on the training and the validation
    texts: nothing; the linear model, which takes seconds; or the network, too, which takes as long as before."""
    least_texts: Annotated[int, at_least(0), only("best")] = 1000
    """Fewest training texts for a network; of fewer, the linear model is alone: no network helped it there."""
    ngram_buckets: Annotated[
        Resolved[int],
        by_preset(PRESETS, "ngram_buckets"),
        from_to(2, 2**21, zero="no pairs"),
        only("bag"),
        Tuned((0, 2**16, 2**18, 2**20)),
    ] = UNSET
    """Number of hash buckets for pairs of neighbouring tokens; 0 uses no pairs."""
    word_vectors: Annotated[
        Resolved[Literal["random", "cooccurrence"]], by_preset(PRESETS, "word_vectors", None), only(*_ENCODERS)
    ] = UNSET
    """Initial word vectors. cooccurrence computes them from the training texts: words with similar neighbours start
    with similar vectors."""
    num_negations: Annotated[
        Resolved[int], by_preset(PRESETS, "num_negations"), from_to(0, 10**6), only(*_NETWORKS), _SENTIMENT
    ] = UNSET
    """Only for `sentiment` with the classes negative and positive: add N generated English sentences to training, half
    of them with "not". 0 adds none."""
    span_rate: Annotated[
        Resolved[float],
        by_preset(PRESETS, "span_rate", "X"),
        FRACTION,
        only(*_ENCODERS),
        Tuned(Range(0.0, 1.0, step=0.25), RECURRENT),
    ] = UNSET
    """Fraction of the texts from which the network sees only a random span in a training step."""
    word_dropout: Annotated[
        Resolved[float],
        by_preset(PRESETS, "word_dropout", "X"),
        RATE,
        only(*_ENCODERS),
        Tuned(Range(0.0, 0.3, step=0.05)),
    ] = UNSET
    """Fraction of the tokens that are replaced by the unknown token in training."""
    embedding_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "embedding_size"),
        at_least(1),
        only(*_ENCODERS),
        Tuned((8, 16, 32, 64), ("bag",)),
        Tuned((32, 64, 96, 128)),
    ] = UNSET
    """Size of a token's vector."""
    embedding_dropout: Annotated[
        Resolved[float],
        by_preset(PRESETS, "embedding_dropout", "X"),
        RATE,
        only(*_ENCODERS[1:]),
        Tuned(Range(0.0, 0.6, step=0.05)),
    ] = UNSET
    """Dropout rate of the token vectors; whole features are dropped per text."""
    hidden_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "hidden_size"),
        at_least(1),
        only("cnn", *RECURRENT, "best"),
        Tuned((32, 64, 96, 128, 192)),
    ] = UNSET
    """Hidden size of each direction of recurrent networks, and of the feedforward network of best; half the number of
    filters of each length of cnn."""
    num_layers: Annotated[
        Resolved[int],
        by_preset(PRESETS, "num_layers"),
        at_least(1),
        only("transformer", *RECURRENT),
        Tuned(Range(1, 2), RECURRENT),
        Tuned(Range(1, 3), ("transformer",)),
    ] = UNSET
    """Number of layers."""
    bidirectional: Annotated[bool, NEGATED, only(*RECURRENT)] = True
    """Read each text only forwards. By default they read it in both directions."""
    merge: Annotated[Merge, only(*RECURRENT)] = "concat"
    activation: Annotated[RecurrentActivation, only(*RECURRENT)] = "tanh"
    residual: Annotated[Residual, only(*RECURRENT)] = False
    learned_state: Annotated[LearnedState, only(*RECURRENT)] = False
    pooling: Annotated[
        Resolved[Literal["last", "mean", "max", "attention"]],
        by_preset(PRESETS, "pooling", None),
        only("transformer", *RECURRENT),
        Tuned(("last", "mean", "max", "attention"), RECURRENT),
    ] = UNSET
    """How the states of all tokens become one vector."""
    num_heads: Annotated[NumHeads, Tuned((2, 4, 8))] = 4
    """Number of attention heads; it divides --embedding-size."""
    positions: PositionalEncoding = "sinusoidal"
    dropout: Annotated[
        Resolved[float], by_preset(PRESETS, "dropout", "X"), RATE, only(*_NETWORKS), Tuned(Range(0.0, 0.7, step=0.05))
    ] = UNSET
    """Dropout rate of the text's vector."""
    batch_size: Annotated[
        Resolved[int], by_preset(PRESETS, "batch_size"), at_least(1), Tuned((16, 32, 64, 128), _NETWORKS)
    ] = UNSET
    """Texts per training step."""
    epochs: Annotated[
        Resolved[int],
        tyro.conf.arg(metavar="N", help_behavior_hint=_EPOCHS_HINT),
        at_least(1),
        only(*_NETWORKS),
    ] = UNSET
    """Maximum number of passes over the training texts."""
    learning_rate: Annotated[
        Resolved[float],
        by_preset(PRESETS, "learning_rate", "X"),
        POSITIVE,
        only(*_NETWORKS),
        Tuned(Range(0.001, 0.1, log=True), ("bag",)),
        Tuned(Range(0.0003, 0.03, log=True)),
    ] = UNSET
    """Highest learning rate."""
    schedule: Annotated[Schedule, only(*_NETWORKS)] = "cosine"
    optimizer: Annotated[Optimizer, only(*_NETWORKS)] = "adam"
    patience: Annotated[
        Resolved[int],
        tyro.conf.arg(metavar="N", help_behavior_hint="(default: a quarter of --epochs, at least 3)"),
        at_least(1),
        only(*_NETWORKS),
    ] = UNSET
    """Stop after N epochs without a lower validation loss. The weights of the best epoch are kept."""

    field_mark: Annotated[int | None, tyro.conf.Suppress, at_least(0)] = None
    """Id of FIELD_MARK in the vocabulary of a model of several columns; None: it reads one."""

    def module_handles(self) -> dict[str, str]:  # noqa: D102
        return {"encoder": self.encoder} if self.encoder else {}

    def table_options(self) -> TableOptions:  # noqa: D102
        return dataclasses.replace(super().table_options(), weight_column=self.weight_column)

    def not_continued(self) -> str:  # noqa: D102
        if self.field_mark is not None:
            return "a model of several columns cannot continue"
        if self.encoder:
            return "a model with an --encoder is fitted in seconds to all texts"
        if self.label_type == "number":
            return "a model of numbers has the intervals of its training data and cannot continue"
        return ""

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "sentiment" if self.polarity else "classification")

    def resolve(self) -> "ClassificationConfig":
        """As `TrainingConfig.resolve`; prepared data fixes some settings."""
        found = self.prepared()
        without_negations = found or not self.polarity
        changes = {"num_negations": 0} if without_negations and self.num_negations is None else {}
        resolved = super(ClassificationConfig, dataclasses.replace(self, **changes)).resolve()
        if not found:
            return resolved
        # Older versions kept no characters.
        found = dataclasses.replace(found, settings={"max_characters": 0} | found.settings)
        # The characters that are kept are those of `max_tokens` tokens.
        is_shorter = not min(resolved.max_characters, found.settings["max_characters"])
        limits = ("max_characters", *(("max_tokens",) if is_shorter else ()))
        return prepared.settled(self, resolved, found, limits)

    def num_ngrams(self, num_texts: int) -> int:
        """Returns how many n-grams the linear model knows at most."""
        return limits.num_ngrams(num_texts, self.max_ngrams)

    def ngram_lengths(self, num_classes: int) -> dict[str, Any]:
        """Returns the lengths of n-grams, see `limits.ngram_lengths`."""
        marks = None if self.field_mark is None else (self.field_mark, ord(FIELD_MARK))
        return limits.ngram_lengths(num_classes, bool(self.max_characters), marks)

    def complete(self, num_texts: int) -> "ClassificationConfig":
        """Returns the config with the fields filled in that follow from the number of training texts.

        With few texts, `best` is `linear`.
        """
        if self.model == "best" and num_texts < self.least_texts and not self.start_weights:
            return dataclasses.replace(self, model="linear", epochs=1).complete(num_texts)
        by_number = next(values for below, values in FEEDFORWARD if num_texts < below)
        missing = {name: value for name, value in by_number.items() if getattr(self, name) is None}
        if self.optimizer == "sgd" and "learning_rate" in missing:
            missing["learning_rate"] *= SGD_FACTOR
        config = dataclasses.replace(self, **missing)
        if config.epochs is None:
            rows = _STEPS[config.preset] * config.batch_size
            config = dataclasses.replace(config, epochs=epochs_for(rows, num_texts, _EPOCH_LIMITS[config.preset]))
        if config.patience is None:
            patience = max(_LEAST_PATIENCE, config.epochs // 4)  # with few texts, an epoch has few steps
            config = dataclasses.replace(config, patience=patience)
        return config

    def check(self) -> None:
        """As `TrainingConfig.check`; None in `epochs` passes."""
        super().check()
        if not self.data:
            reject_without_effect(self, "the embedded sample is no table; give --data", "weight_column")
        if self.prepared():
            self._check_prepared()
        if self.model == "linear":
            require(self.max_ngrams > 0, "max_ngrams", self.max_ngrams, "above 0 for --model linear")
        if self.encoder and self.symmetric:
            raise UserError("--encoder reads both texts of a pair in their order: leave out --symmetric, or --encoder")
        if self.model == "transformer":
            require_divisor(self, "embedding_size")
        if self.refit == "all" and self.minutes:
            raise UserError("--refit all trains twice, and --minutes limits one training: give --epochs instead")

    def _check_prepared(self) -> None:
        """Checks the settings of a training on prepared data.

        Raises:
            UserError: a setting has no effect there, or would change what is prepared.
        """
        reject_without_effect(self, "prepared data has no weights of rows", "weight_column")
        reject_without_effect(self, "prepared data has no vectors of texts", "encoder")
        require(self.label_type != "number", "label_type", self.label_type, "class or ordinal with prepared data")
        reject_without_effect(self, "prepared data has the labels that it was prepared with", "min_label_count")
        reject_without_effect(self, "the texts that prepared data is scored on are not for training", "refit")
        require(not self.num_negations, "num_negations", self.num_negations, "0 with prepared data")
        reason = "the validation texts of prepared data are fixed: give --valid to `prepare`"
        reject_without_effect(self, reason, "valid", "folds")
