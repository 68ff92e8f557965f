"""Settings of tagging: tokens -> one tag for each."""

import dataclasses
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.data import prepared, token_options
from pipelines.data.prepared import Prepared
from pipelines.data.token_options import TokenOptions
from pipelines.settings.config import (
    Presets,
    TrainingConfig,
    by_preset,
    epochs_for,
    with_expanded_paths,
)
from pipelines.settings.fields import (
    FRACTION,
    HANDLE,
    LAYER_FIELDS,
    NAME,
    NEGATED,
    PATHS,
    POSITIVE,
    RATE,
    RECURRENT,
    UNSET,
    Encoding,
    LearnedState,
    Merge,
    NumHeads,
    Only,
    Patience,
    Positions,
    Range,
    RecurrentActivation,
    Residual,
    Resolved,
    Schedule,
    Separator,
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

_FULL = {
    "vocabulary_size": 50_000,
    "embedding_size": 100,
    "character_size": 50,
    "hidden_size": 256,
    "num_layers": 2,
    "word_dropout": 0.2,
    "embedding_dropout": 0.5,
    "dropout": 0.5,
    "positions": "sinusoidal",  # of models other than the transformer: no effect
    "join_rate": 0.1,
    "final_stop_dropout": 0.1,
    "batch_size": 32,
    "epochs": 12,
    "learning_rate": 0.003,
}
_LESS_DROPOUT = {"word_dropout": 0.1, "embedding_dropout": 0.3}
_QUICK = _FULL | {
    **_LESS_DROPOUT,
    "dropout": 0.4,
    "embedding_size": 50,
    "character_size": 25,
    "hidden_size": 64,
    "num_layers": 1,
    "epochs": 5,
    "learning_rate": 0.005,
}
PRESETS: Presets = {
    **{(model, "full"): _FULL for model in RECURRENT},
    **{(model, "quick"): _QUICK for model in RECURRENT},
    ("best", "quick"): _QUICK | {"epochs": None},
    ("best", "full"): _QUICK | {"hidden_size": 128, "epochs": None},
    **{("linear", preset): _FULL | {"epochs": 1} for preset in ("quick", "full")},
    ("transformer", "full"): _FULL
    | _LESS_DROPOUT
    | {"num_layers": 4, "positions": "rotary", "dropout": 0.2, "learning_rate": 0.001},
    ("transformer", "quick"): _QUICK | {"num_layers": 2, "positions": "rotary", "dropout": 0.1, "learning_rate": 0.002},
}


PENALTY = 0.1  # of the linear model
# Epochs of the network of "best": as many as the steps need, within limits.
_STEPS = {"quick": 400, "full": 800}
_EPOCH_LIMITS = {"quick": (5, 30), "full": (6, 40)}
_NETWORKS = (*RECURRENT, "transformer", "best")
_WITH_CHARACTERS = Only("it needs --characters cnn or lstm", lambda config: config.characters != "none")
# `prepare` fixes the characters of a word, also for trainings that read none.
_WITH_CHARACTERS_OR_PREPARED = Only(
    _WITH_CHARACTERS.reason, lambda config: config.characters != "none" or config.prepared() is not None
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggingConfig(TrainingConfig):
    """Settings of the training. A default such as "quick 64; full 256" depends on --preset and --model."""

    PRESETS: ClassVar[Presets] = PRESETS
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "best", "full": "best"}
    REPORT_FIELDS: ClassVar[tuple[str, ...]] = (*TrainingConfig.REPORT_FIELDS, "no_baseline")
    DATA_FIELDS: ClassVar[tuple[str, ...]] = ("data", *token_options.FIELDS, "valid")
    GROWS: ClassVar[bool] = True
    NETWORK_FIELDS: ClassVar[tuple[str, ...]] = (
        "preset",
        "model",
        "embedding_size",
        "characters",
        "character_size",
        *LAYER_FIELDS,
        "crf",
        "encoder",
    )
    KEPT_FIELDS: ClassVar[tuple[str, ...]] = ("tokenizer", "max_characters", "max_bytes", "penalty")

    data: Annotated[Data | None, PATHS] = None
    """Tagged sentences to train on: CoNLL-U files; files with a token and its tag per line and empty lines between
    sentences; tables (.csv, .tsv, .xlsx, .parquet) with a token in each row and a column of sentences; texts with
    spans as doccano, Prodigy, spaCy, Label Studio and brat write them; lists of tokens and tags in JSON, Parquet or a
    folder of Hugging Face's datasets. Text files also compressed (.gz, .xz, .bz2, .zip). Several such files, a pattern
    such as 'data/*.conllu', a folder with train, dev and test in the names of its files, or `ud-ewt`, which is
    downloaded. Without it: the embedded sample."""
    column: Annotated[str | None, NAME] = None
    """Where the tag of a token is. CoNLL-U: upos, xpos, feats, or a key of the column MISC, such as NER; other files:
    the number of a column, from 1, or its name in the first line or in JSON. By default upos, and the last column."""
    token_column: Annotated[str | None, NAME] = None
    """Where the token is in files that are not CoNLL-U: the number of a column, from 1, or its name in the first line.
    By default the column that the first line calls token or word, else the first one, or the one after running
    numbers."""
    encoding: Encoding = None
    separator: Separator = None
    tag_names: Annotated[str | None, NAME] = None
    """Names of tags that the data has as numbers from 0, in their order, with commas between them, such as
    O,B-PER,I-PER."""
    valid: Annotated[Data | None, PATHS] = None
    """Your own validation sentences, in the same formats. By default those of the corpus or folder, else a part of
    --data."""
    valid_fraction: ValidFraction = 0.1
    """Fraction of --data to split off for validation if there are no validation sentences: whole documents where the
    data has at least ten, else whole groups of equal sentences."""
    preset: Resolved[Literal["quick", "full"]] = UNSET
    """quick: a small network in two minutes; full: best quality. By default quick on the embedded sample and full with
    --data."""
    model: Resolved[Literal[("best", "linear", *RECURRENT, "transformer")]] = UNSET
    """best: an LSTM and the linear model; linear: a conditional random field over features of each token and its
    neighbours, in seconds; the others: a network that reads the sentence, recurrent with these cells (simple is
    Elman's), or with self-attention. By default best, with prepared data lstm."""
    tokenizer: Literal["english", "unicode", "whitespace"] | None = None
    """How the exported model divides a text into tokens. english: as in the Penn Treebank and UD English; unicode:
    words, and each other character; whitespace: at spaces. By default the one that gives most of the training
    tokens."""
    penalty: Annotated[float, POSITIVE, only("linear", "best"), Tuned(Range(0.01, 1.0, log=True))] = PENALTY
    """Weight of the sum of the squared weights of the linear model, beside the negative log-likelihood."""
    encoder: Annotated[str | None, HANDLE, only(*_NETWORKS)] = None
    """Also give the network the vectors of a pretrained encoder, one for each token: hf://ORG/NAME, the folder of a
    checkpoint of Hugging Face, or of an export of `train encoder`, such as saved_models/encoder/1. The encoder is not
    trained further."""
    vocabulary_size: Annotated[Resolved[int], by_preset(PRESETS, "vocabulary_size"), only(*_NETWORKS), at_least(1)] = (
        UNSET
    )
    """Maximum number of words in the vocabulary. Words are lower-cased, and their digits are 0."""
    embedding_size: Annotated[
        Resolved[int], by_preset(PRESETS, "embedding_size"), only(*_NETWORKS), at_least(1), Tuned((50, 100, 200))
    ] = UNSET
    """Size of a word's vector."""
    characters: Annotated[Literal["cnn", "lstm", "none"], only(*_NETWORKS)] = "cnn"
    """How the characters of a word become a vector: convolutions, or an LSTM in both directions. With none, unknown
    words differ only in their capitalization and digits."""
    character_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "character_size"),
        only(*_NETWORKS),
        at_least(1),
        _WITH_CHARACTERS,
        Tuned((25, 50, 100)),
    ] = UNSET
    """cnn: number of filters of each length (2, 3 and 4); lstm: hidden size of each direction."""
    max_characters: Annotated[
        int, tyro.conf.arg(metavar="N"), from_to(4, 100), only(*_NETWORKS), _WITH_CHARACTERS_OR_PREPARED
    ] = 20
    """Maximum characters per word; longer words keep their first and last half."""
    hidden_size: Annotated[
        Resolved[int], by_preset(PRESETS, "hidden_size"), only(*_NETWORKS), at_least(1), Tuned((32, 64, 128, 256, 384))
    ] = UNSET
    """Recurrent networks: hidden size of each direction. transformer: size of its vectors."""
    num_layers: Annotated[
        Resolved[int],
        by_preset(PRESETS, "num_layers"),
        only(*_NETWORKS),
        at_least(1),
        Tuned(Range(1, 3), RECURRENT),
        Tuned(Range(1, 6)),
    ] = UNSET
    """Number of layers."""
    bidirectional: Annotated[bool, NEGATED, only(*RECURRENT)] = True
    """Read each sentence only forwards. By default the network reads it in both directions."""
    merge: Annotated[Merge, only(*RECURRENT)] = "concat"
    activation: Annotated[RecurrentActivation, only(*RECURRENT)] = "tanh"
    residual: Annotated[Residual, only(*RECURRENT)] = False
    learned_state: Annotated[LearnedState, only(*RECURRENT)] = False
    num_heads: Annotated[NumHeads, Tuned((2, 4, 8))] = 4
    """Number of attention heads; it divides --hidden-size."""
    positions: Annotated[
        Positions | None, only("transformer"), tyro.conf.arg(help_behavior_hint="(default: rotary)")
    ] = None
    """Positional encoding."""
    crf: Annotated[bool, NEGATED, only(*_NETWORKS)] = True
    """Score each tag on its own. By default a conditional random field scores whole sequences of tags."""
    word_dropout: Annotated[
        Resolved[float],
        by_preset(PRESETS, "word_dropout", "X"),
        only(*_NETWORKS),
        RATE,
        Tuned(Range(0.0, 0.4, step=0.05)),
    ] = UNSET
    """Fraction of the words that are replaced by the unknown word in training; their characters are kept."""
    embedding_dropout: Annotated[
        Resolved[float],
        by_preset(PRESETS, "embedding_dropout", "X"),
        only(*_NETWORKS),
        RATE,
        Tuned(Range(0.0, 0.6, step=0.05)),
    ] = UNSET
    """Dropout rate of the vectors of words and characters."""
    dropout: Annotated[
        Resolved[float], by_preset(PRESETS, "dropout", "X"), only(*_NETWORKS), RATE, Tuned(Range(0.0, 0.6, step=0.05))
    ] = UNSET
    """Dropout rate of the outputs of each layer."""
    join_rate: Annotated[Resolved[float], by_preset(PRESETS, "join_rate", "X"), only(*_NETWORKS), FRACTION] = UNSET
    """Fraction of the training sentences that are joined with the next one, because sentences of raw text are not
    always divided correctly."""
    final_stop_dropout: Annotated[
        Resolved[float], by_preset(PRESETS, "final_stop_dropout", "X"), only(*_NETWORKS), FRACTION
    ] = UNSET
    """Fraction of the training sentences that lose their last token if it is punctuation."""
    max_tokens: Annotated[int, tyro.conf.arg(metavar="N"), from_to(4, 1000)] = 150
    """Maximum tokens that the network reads at once; longer sentences are divided."""
    max_bytes: Annotated[int, tyro.conf.arg(metavar="N"), from_to(1, 10**6)] = 40_000
    """Maximum bytes per text in the exported model; the rest is cut."""
    batch_size: Annotated[
        Resolved[int], by_preset(PRESETS, "batch_size"), only(*_NETWORKS), at_least(1), Tuned((16, 32, 64))
    ] = UNSET
    """Sentences per training step."""
    epochs: Annotated[Resolved[int], by_preset(PRESETS, "epochs"), only(*_NETWORKS), at_least(1)] = UNSET
    """Maximum number of passes over the training sentences. best: 5 to 30 with quick and 6 to 40 with full, more of few
    sentences."""
    learning_rate: Annotated[
        Resolved[float],
        by_preset(PRESETS, "learning_rate", "X"),
        only(*_NETWORKS),
        POSITIVE,
        Tuned(Range(0.0005, 0.02, log=True)),
    ] = UNSET
    """Highest learning rate."""
    schedule: Annotated[Schedule, only(*_NETWORKS)] = "cosine"
    patience: Annotated[Patience, only(*_NETWORKS)] = 5
    """Stop after N epochs without a better validation score: F1 of spans, or accuracy. The weights of the best epoch
    are kept."""
    no_baseline: bool = False
    """Leave the baselines out of the report: the most frequent tag of each word, a hidden Markov model, and the
    linear model."""

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "tagging")

    def resolve(self) -> "TaggingConfig":
        """As `TrainingConfig.resolve`; prepared data fixes some settings."""
        found = self.prepared()
        resolved = prepared.settled(self, super().resolve(), found) if found else super().resolve()
        return with_expanded_paths(resolved, "data", "valid")

    def default_model(self, preset: str) -> str:
        """As `TrainingConfig.default_model`; prepared data has no linear model."""
        return "lstm" if self.prepared() else super().default_model(preset)

    def complete(self, num_sentences: int) -> "TaggingConfig":
        """Returns the config with the number of epochs that follows from the number of training sentences."""
        if self.epochs is not None:
            return self
        rows = _STEPS[self.preset] * self.batch_size
        return dataclasses.replace(self, epochs=epochs_for(rows, num_sentences, _EPOCH_LIMITS[self.preset]))

    def data_files(self) -> dict[str, Data]:  # noqa: D102
        return super().data_files() | ({"valid": self.valid} if self.valid else {})

    def network_fields(self) -> tuple[str, ...]:
        """As `TrainingConfig.network_fields`; there are as many learned positions as tokens."""
        return (*self.NETWORK_FIELDS, *(("max_tokens",) if self.positions == "learned" else ()))

    def not_continued(self) -> str:  # noqa: D102
        return "its words have the vectors of an --encoder" if self.encoder else ""

    def module_handles(self) -> dict[str, str]:  # noqa: D102
        return {"encoder": self.encoder} if self.encoder else {}

    def token_options(self) -> TokenOptions:
        """Returns how to read the sentences."""
        return TokenOptions.of(self)

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        if self.model in ("linear", "best") and self.prepared():
            raise UserError(
                f"--model {self.model} counts the features of all sentences in memory, and prepared data has none: "
                "give the data that it was made from, or train a network"
            )
        super().check()
        self.token_options().check()
        if self.prepared():
            self._check_prepared()
        if self.model == "transformer":
            require_divisor(self)
            require(self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even")

    def _check_prepared(self) -> None:
        """Checks the settings of a training on prepared data.

        Raises:
            UserError: a setting needs all sentences in memory, or would change what is prepared.
        """
        if self.encoder:
            raise UserError(
                f"--encoder {self.encoder}: its vectors are computed from all sentences in memory, and prepared data "
                "has none: leave out --encoder, or give the data that it was made from"
            )
        reject_without_effect(
            self, "the validation sentences of prepared data are fixed: give --valid to `prepare`", "valid"
        )
