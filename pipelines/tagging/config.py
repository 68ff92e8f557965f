"""Settings of tagging: tokens -> one tag for each."""

import dataclasses
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.config import (
    NAME,
    NEGATED,
    PATH,
    PATHS,
    Activation,
    Positions,
    Presets,
    Range,
    Ranges,
    TrainingConfig,
    by_preset,
    reject_without_effect,
    require,
    require_at_least,
    require_num_heads,
    require_positive,
    require_rate,
    with_expanded_paths,
)
from pipelines.data import prepared
from pipelines.data.paths import Data
from pipelines.data.prepared import Prepared
from pipelines.support.errors import UserError

RECURRENT = ("simple", "jordan", "gru", "gru-reset-before", "lstm", "peephole")

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
    ("transformer", "full"): _FULL
    | _LESS_DROPOUT
    | {"num_layers": 4, "positions": "rotary", "dropout": 0.2, "learning_rate": 0.001},
    ("transformer", "quick"): _QUICK | {"num_layers": 2, "positions": "rotary", "dropout": 0.1, "learning_rate": 0.002},
}


_RANGES = {
    "learning_rate": Range(0.0005, 0.02, log=True),
    "batch_size": (16, 32, 64),
    "embedding_size": (50, 100, 200),
    "character_size": (25, 50, 100),
    "hidden_size": (32, 64, 128, 256, 384),
    "num_layers": Range(1, 3),
    "word_dropout": Range(0.0, 0.4, step=0.05),
    "embedding_dropout": Range(0.0, 0.6, step=0.05),
    "dropout": Range(0.0, 0.6, step=0.05),
}
RANGES: Ranges = {
    **dict.fromkeys(RECURRENT, _RANGES),
    "transformer": _RANGES | {"num_layers": Range(1, 6), "num_heads": (2, 4, 8)},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggingConfig(TrainingConfig):
    """Settings of the training. A default such as "quick 64; full 256" depends on --preset and --model."""

    PRESETS: ClassVar[Presets] = PRESETS
    RANGES: ClassVar[Ranges] = RANGES
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "lstm", "full": "lstm"}
    REPORT_FIELDS: ClassVar[tuple[str, ...]] = ("no_baseline",)

    data: Annotated[Data | None, PATHS] = None
    """Tagged sentences to train on: CoNLL-U files, files with a token and its tag per line and empty lines between
    sentences (also .gz, .xz, .bz2, .zip), several such files, a pattern such as 'data/*.conllu', the folder of a UD
    treebank, or `ud-ewt`, which is downloaded. Without it: the embedded sample."""
    column: Annotated[str | None, NAME] = None
    """Where the tag of a token is. CoNLL-U: upos, xpos, feats, or a key of the column MISC, such as NER; other files:
    the number of a column, from 1, or its name in the first line. By default upos, and the last column."""
    token_column: Annotated[str | None, NAME] = None
    """Where the token is in files that are not CoNLL-U: the number of a column, from 1, or its name in the first line.
    By default the column that the first line calls token or word, else the first one, or the one after running
    numbers."""
    valid: Annotated[Data | None, PATHS] = None
    """Your own validation sentences, in the same formats. By default those of the corpus or folder, else a part of
    --data."""
    valid_fraction: float = 0.1
    """Fraction of --data to split off for validation if there are no validation sentences: whole documents where the
    data has at least ten, else whole groups of equal sentences."""
    preset: Literal["quick", "full"] | None = None
    """quick: a small network in two minutes; full: best quality. By default quick on the embedded sample and full with
    --data."""
    model: Literal["lstm", "simple", "jordan", "gru", "gru-reset-before", "peephole", "transformer"] | None = None
    """Network that reads the sentence: a recurrent network with these cells (simple is Elman's), or self-attention. By
    default lstm."""
    tokenizer: Literal["english", "unicode", "whitespace"] | None = None
    """How the exported model divides a text into tokens. english: as in the Penn Treebank and UD English; unicode:
    words, and each other character; whitespace: at spaces. By default the one that gives most of the training
    tokens."""
    encoder: Annotated[str | None, PATH] = None
    """Also give the network the vectors of a pretrained encoder, one for each token: the folder of an export of
    `train encoder`, such as saved_models/encoder/1. The encoder is not trained further."""
    vocabulary_size: Annotated[int | None, by_preset(PRESETS, "vocabulary_size")] = None
    """Maximum number of words in the vocabulary. Words are lower-cased, and their digits are 0."""
    embedding_size: Annotated[int | None, by_preset(PRESETS, "embedding_size")] = None
    """Size of a word's vector."""
    characters: Literal["cnn", "lstm", "none"] = "cnn"
    """How the characters of a word become a vector: convolutions, or an LSTM in both directions. With none, unknown
    words differ only in their capitalization and digits."""
    character_size: Annotated[int | None, by_preset(PRESETS, "character_size")] = None
    """cnn: number of filters of each length (2, 3 and 4); lstm: hidden size of each direction."""
    max_characters: Annotated[int, tyro.conf.arg(metavar="N")] = 20
    """Maximum characters per word; longer words keep their first and last half."""
    hidden_size: Annotated[int | None, by_preset(PRESETS, "hidden_size")] = None
    """Recurrent networks: hidden size of each direction. transformer: size of its vectors."""
    num_layers: Annotated[int | None, by_preset(PRESETS, "num_layers")] = None
    """Number of layers."""
    bidirectional: Annotated[bool, NEGATED] = True
    """Read each sentence only forwards. By default the network reads it in both directions."""
    merge: Literal["concat", "sum"] = "concat"
    """Recurrent networks: the outputs of the two directions side by side, or their sum."""
    activation: Activation = "tanh"
    """Recurrent networks: activation of the hidden layer, or of an LSTM's or GRU's candidate."""
    residual: bool = False
    """Recurrent networks with several layers: add the input of each layer but the first to its output."""
    learned_state: bool = False
    """Recurrent networks: learn the first state of each layer. By default it is zero."""
    num_heads: Annotated[int, tyro.conf.arg(metavar="N")] = 4
    """transformer: number of attention heads; it divides --hidden-size."""
    positions: Annotated[Positions | None, tyro.conf.arg(help_behavior_hint="(default: rotary)")] = None
    """transformer: positional encoding."""
    crf: Annotated[bool, NEGATED] = True
    """Score each tag on its own. By default a conditional random field scores whole sequences of tags."""
    word_dropout: Annotated[float | None, by_preset(PRESETS, "word_dropout", "X")] = None
    """Fraction of the words that are replaced by the unknown word in training; their characters are kept."""
    embedding_dropout: Annotated[float | None, by_preset(PRESETS, "embedding_dropout", "X")] = None
    """Dropout rate of the vectors of words and characters."""
    dropout: Annotated[float | None, by_preset(PRESETS, "dropout", "X")] = None
    """Dropout rate of the outputs of each layer."""
    join_rate: Annotated[float | None, by_preset(PRESETS, "join_rate", "X")] = None
    """Fraction of the training sentences that are joined with the next one, because sentences of raw text are not
    always divided correctly."""
    final_stop_dropout: Annotated[float | None, by_preset(PRESETS, "final_stop_dropout", "X")] = None
    """Fraction of the training sentences that lose their last token if it is punctuation."""
    max_tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 150
    """Maximum tokens that the network reads at once; longer sentences are divided."""
    max_bytes: Annotated[int, tyro.conf.arg(metavar="N")] = 40_000
    """Maximum bytes per text in the exported model; the rest is cut."""
    batch_size: Annotated[int | None, by_preset(PRESETS, "batch_size")] = None
    """Sentences per training step."""
    epochs: Annotated[int | None, by_preset(PRESETS, "epochs")] = None
    """Maximum number of passes over the training sentences."""
    learning_rate: Annotated[float | None, by_preset(PRESETS, "learning_rate", "X")] = None
    """Highest learning rate."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """cosine: the learning rate rises in the first 5 % of the steps, then falls to 0 on a cosine; constant."""
    patience: Annotated[int, tyro.conf.arg(metavar="N")] = 5
    """Stop after N epochs without a better validation score: F1 of spans, or accuracy. The weights of the best epoch
    are kept."""
    no_baseline: bool = False
    """Leave the baselines out of the report: the most frequent tag of each word, and a hidden Markov model."""

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

    def data_files(self) -> dict[str, Data]:  # noqa: D102
        return {"valid": self.valid} if self.valid else {}

    def module_handles(self) -> dict[str, str]:  # noqa: D102
        return {"encoder": self.encoder} if self.encoder else {}

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        is_prepared = self.prepared() is not None
        if is_prepared:
            self._check_prepared()
        require_at_least(
            self, 1, "vocabulary_size", "embedding_size", "character_size", "hidden_size", "num_layers", "num_heads",
            "batch_size", "epochs",
        )  # fmt: skip
        require(4 <= self.max_characters <= 100, "max_characters", self.max_characters, "from 4 to 100")
        require(4 <= self.max_tokens <= 1000, "max_tokens", self.max_tokens, "from 4 to 1000")
        require(1 <= self.max_bytes <= 10**6, "max_bytes", self.max_bytes, "from 1 to 1000000")
        require_rate(self, "word_dropout", "embedding_dropout", "dropout")
        for field in ("join_rate", "final_stop_dropout"):
            require(0 <= getattr(self, field) <= 1, field, getattr(self, field), "from 0 to 1")
        require_positive(self, "learning_rate")
        if self.characters == "none":
            fields = ("character_size",) if is_prepared else ("character_size", "max_characters")
            reject_without_effect(self, "it needs --characters cnn or lstm", *fields)
        if self.model == "transformer":
            require_num_heads(self, even_size=self.positions == "rotary")
            require(self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even")
            fields = ("bidirectional", "merge", "activation", "residual", "learned_state")
            reject_without_effect(self, "it needs a recurrent --model", *fields)
        else:
            reject_without_effect(self, "it needs --model transformer", "num_heads", "positions")
        if not self.bidirectional:
            reject_without_effect(self, "it needs two directions", "merge")
        if self.num_layers == 1:
            reject_without_effect(self, "it needs at least two --num-layers", "residual")

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
