"""The settings of a translator's training."""

import dataclasses
from typing import Annotated, Any, Literal

import tyro

from pipelines.data import pair_options, prepared
from pipelines.data.pair_options import PairOptions
from pipelines.data.prepared import Prepared
from pipelines.decoding.options import BEAM_WIDTH, LENGTH_PENALTY, MAX_TRANSLATION_LENGTH, with_defaults
from pipelines.settings.config import (
    TrainingConfig,
    by_preset,
    epochs_for,
)
from pipelines.settings.fields import (
    NAME,
    NEGATED,
    PATH,
    POSITIVE,
    RATE,
    RECURRENT,
    UNSET,
    Encoding,
    Only,
    Patience,
    PositionalEncoding,
    Quote,
    Range,
    RecurrentActivation,
    Resolved,
    Separator,
    TrainingPrecision,
    Tuned,
    ValidFraction,
    at_least,
    flag,
    from_to,
    only,
    reject_without_effect,
    require,
    require_divisor,
)
from pipelines.support.errors import UserError
from pipelines.support.source_tables import table_keys
from pipelines.translation.presets import LEAST_VOCABULARY, MODELS, PRESETS, SAMPLE_RECURRENT, SAMPLE_TRANSFORMER

WITH_ENCODER = ("rnn", "attention")  # recurrent models whose encoder is a network of its own
WITH_ATTENTION = ("attention", "transformer")
ATTENTION_SCORES = table_keys("layers/attention.py", "SCORES")
_MAX_TOKENS = 100
# Vocabulary by the number of pairs, unless --vocabulary-size is given.
MOST_VOCABULARY = 4000
_PAIRS_PER_TOKEN = 5
# Epochs of --preset quick with --data: as many as this number of pairs needs, within limits.
_QUICK_PAIRS = 560_000
_QUICK_EPOCHS = (4, 40)
_TRANSFORMER_MINUTES = 20  # of fewer minutes, a recurrent network with attention makes more

_RECURRENT_MODELS = MODELS[:-1]
_LUONG = Only(
    "it needs --model attention --attention-style luong",
    lambda config: config.model == "attention" and config.attention_style == "luong",
)
# A bidirectional encoder reads backwards anyway, and attention finds each word wherever it stands.
_FORWARD = Only(
    "it needs --model single-rnn, or --model rnn --no-bidirectional",
    lambda config: config.model == "single-rnn" or (config.model == "rnn" and not config.bidirectional),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TranslationConfig(TrainingConfig):
    """Settings of the training. Where a default depends on --preset, its values for quick and full are shown."""

    PRESETS = PRESETS
    SCALED_BEFORE = True
    DEFAULT_MODELS = dict.fromkeys(("quick", "full", "base"), "transformer")
    REPORT_FIELDS = (*TrainingConfig.REPORT_FIELDS, "no_baseline")
    DATA_FIELDS = ("data", "target", "pair", *pair_options.FIELDS, "valid", "valid_target")
    NETWORK_FIELDS = (
        "preset",
        "model",
        "num_layers",
        "decoder_layers",
        "hidden_size",
        "embedding_size",
        "cell",
        "activation",
        "bidirectional",
        "reverse_source",
        "context",
        "attention_score",
        "attention_style",
        "input_feeding",
        "num_heads",
        "positions",
        "feedforward_size",
        "norm",
    )
    KEPT_FIELDS = ("vocabulary_size", "joint_vocabulary")

    data: Annotated[str | None, PATH] = None
    """Training pairs: multi30k or tatoeba-spa-eng (downloaded), a table (.tsv, .csv, .jsonl, .parquet, .xlsx, or lines
    with tabs), a folder of files such as train.en and train.de, or, with --target, a file with one source sentence per
    line. Without it: an embedded sample, generated English and Spanish sentences."""
    valid_fraction: ValidFraction = 0.05
    """Fraction of --data to split off for validation, by source sentence, if there are no validation pairs."""
    preset: Resolved[Literal["quick", "full", "base"]] = UNSET
    """Set of defaults. quick: about two minutes on the embedded sample, a quarter of an hour on 20,000 short pairs and
    two cores; full: about forty minutes on 29,000 pairs; base: the size of the paper (Vaswani et al. 2017), for a GPU.
    By default quick on the embedded sample, or with fewer than 20 --minutes, and full with --data."""
    model: Resolved[Literal["single-rnn", "rnn", "attention", "transformer"]] = UNSET
    """single-rnn: one recurrent network reads the source and writes the target; rnn: a recurrent encoder passes one
    vector to a recurrent decoder; attention: the decoder attends to all states of the encoder; transformer. By default
    transformer; with --data and --preset quick attention, which learns faster."""
    patience: Patience = 5
    """Stop after N epochs without a better validation score (--monitor). The weights of the best epoch are kept."""
    precision: Annotated[TrainingPrecision, by_preset(PRESETS, "precision", metavar=None)] = UNSET

    target: Annotated[str | None, PATH] = None
    """The translations of --data, line by line."""
    pair: Annotated[str | None, tyro.conf.arg(metavar="FROM-TO")] = None
    """Source and target language, such as en-de. By default those of the corpus, of the file names (train.en,
    train.de), or of the names of a table's columns."""
    source_column: Annotated[str | None, NAME] = None
    """Column of a table with the source sentences: its number, from 1, or its name. By default the one with the name
    of the source language, or `source`, or the first column that has no ids."""
    target_column: Annotated[str | None, NAME] = None
    """Column of a table with the translations, as --source-column. By default the one with the name of the target
    language, or `target`, or the second column that has no ids."""
    encoding: Encoding = None
    separator: Separator = None
    quote: Quote = None
    no_header: bool = False
    """The first line of a table is a pair, not the names of the columns. By default found out."""
    valid: Annotated[str | None, PATH] = None
    """Your own validation pairs, in the formats of --data. By default those of the corpus or folder, else a part of
    --data."""
    valid_target: Annotated[str | None, PATH] = None
    """The translations of --valid, line by line."""

    vocabulary_size: Annotated[Resolved[int], by_preset(PRESETS, "vocabulary_size"), at_least(40)] = UNSET
    """Maximum number of subword tokens, including the four special tokens. By default a fifth of the number of training
    pairs, from 400 to 4,000, or more where their sentences have many different characters; base 37,000."""
    joint_vocabulary: Annotated[bool, NEGATED] = True
    """Give each language a vocabulary of its own. By default both share one."""
    subword_alpha: Annotated[Resolved[float], by_preset(PRESETS, "subword_alpha", "X"), at_least(0)] = UNSET
    """Above 0: split the training sentences into different subword tokens in every epoch (subword regularization, Kudo
    2018). Lower values vary the tokens more. 0 always takes the split with the highest probability."""
    max_tokens: Annotated[
        int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 100)"), from_to(3, MAX_TRANSLATION_LENGTH)
    ] = None
    """Maximum tokens per sentence. Pairs with a longer side are left out of training; the export cuts longer
    sources."""

    num_layers: Annotated[
        Resolved[int],
        by_preset(PRESETS, "num_layers"),
        at_least(1),
        Tuned(Range(1, 3), _RECURRENT_MODELS),
        Tuned(Range(2, 6)),
    ] = UNSET
    """Number of layers of single-rnn, of the encoder, and of the transformer's decoder."""
    decoder_layers: Annotated[int, tyro.conf.arg(metavar="N"), at_least(1), only(*WITH_ENCODER)] = 1
    """Number of layers of the decoder. In attention the lowest one attends to the source."""
    hidden_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "hidden_size"),
        at_least(1),
        Tuned((64, 128, 256, 384, 512), _RECURRENT_MODELS),
        Tuned((64, 128, 256, 512)),
    ] = UNSET
    """Size of the recurrent states, or of the transformer's token vectors."""
    embedding_size: Annotated[
        Resolved[int],
        by_preset(PRESETS, "embedding_size"),
        at_least(1),
        only(*_RECURRENT_MODELS),
        Tuned((64, 128, 256)),
    ] = UNSET
    """Size of the token embeddings."""
    cell: Annotated[Literal[RECURRENT], only(*_RECURRENT_MODELS)] = "gru"
    """Kind of recurrent layer. simple is Elman's; gru-reset-before applies the reset gate before the
    product with the previous state, gru after it."""
    activation: Annotated[RecurrentActivation, only(*_RECURRENT_MODELS)] = "tanh"
    bidirectional: Annotated[bool, NEGATED, only(*WITH_ENCODER)] = True
    """The encoder reads from left to right only. By default it reads in both directions."""
    reverse_source: Annotated[bool, _FORWARD] = False
    """single-rnn, and rnn with --no-bidirectional: read the source from its end, which moves its first words close to
    the first words of the target (Sutskever et al. 2014)."""
    context: Annotated[Literal["every-step", "first-step"], only("rnn")] = "every-step"
    """Where the decoder of rnn gets the encoder's last state: every-step, in its initial state and at each step;
    first-step, in its initial state alone (Sutskever et al. 2014)."""
    attention_score: Annotated[Literal[ATTENTION_SCORES], only("attention")] = "additive"
    """Score of a query and a state of the encoder."""
    attention_style: Annotated[Literal["bahdanau", "luong"], only("attention")] = "bahdanau"
    """bahdanau attends before the recurrent step and feeds the context into it; luong attends after the
    step."""
    input_feeding: Annotated[bool, _LUONG] = False
    """attention with --attention-style luong: feed the previous output into the next step."""
    num_heads: Annotated[
        Resolved[int], by_preset(PRESETS, "num_heads"), at_least(1), only("transformer"), Tuned((2, 4, 8))
    ] = UNSET
    """Number of attention heads; must divide the hidden size."""
    positions: PositionalEncoding = "sinusoidal"
    """Positional encoding of encoder and decoder."""
    feedforward_size: Annotated[
        int | None,
        at_least(1),
        only("transformer"),
        tyro.conf.arg(metavar="N", help_behavior_hint="(default: 2 x hidden size; base 4 x hidden size)"),
    ] = None
    """Size of the hidden layer in each feed-forward network."""
    norm: Annotated[Literal["pre", "post"], only("transformer")] = "pre"
    """Layer normalization before each sublayer, or after it as in the paper."""
    dropout: Annotated[Resolved[float], by_preset(PRESETS, "dropout", "X"), RATE, Tuned(Range(0.0, 0.5, step=0.05))] = (
        UNSET
    )
    """Dropout rate."""

    label_smoothing: Annotated[float, RATE, Tuned((0.0, 0.05, 0.1, 0.2))] = 0.1
    """Fraction of the target probability that is spread over all tokens (Szegedy et al. 2016)."""
    batch_tokens: Annotated[
        Resolved[int],
        by_preset(PRESETS, "batch_tokens"),
        Tuned((400, 600, 1000, 2000), _RECURRENT_MODELS),
        Tuned((500, 1000, 2000, 4000, 25_000)),
    ] = UNSET
    """Maximum tokens per batch, padding included, on the longer side. A batch has sentences of similar length. With
    --subword-alpha a batch can be larger, because other splits have more tokens."""
    epochs: Annotated[Resolved[int], by_preset(PRESETS, "epochs"), at_least(1)] = UNSET
    """Maximum number of passes over the training pairs."""
    learning_rate: Annotated[
        Resolved[float], by_preset(PRESETS, "learning_rate", "X"), POSITIVE, Tuned(Range(0.0005, 0.02, log=True))
    ] = UNSET
    """Highest learning rate of Adam, reached at the end of the warm-up."""
    schedule: Literal["cosine", "inverse-sqrt", "constant"] = "cosine"
    """Learning rate after the warm-up. cosine: falls to 0 at the last step; inverse-sqrt: falls with 1 / sqrt(step), as
    in the paper; constant: the same at all steps, without a warm-up."""
    warmup_steps: Annotated[
        Resolved[int],
        by_preset(PRESETS, "warmup_steps"),
        at_least(1),
        Tuned((50, 100, 200, 400, 800, 1600, 4000), ("transformer",)),
    ] = UNSET
    """Steps in which the learning rate rises from 0. cosine takes at most half of all steps."""
    ema_momentum: Annotated[float, RATE, Tuned((0.0, 0.99, 0.999))] = 0.999
    """Score and export a moving average of the weights with this momentum. 0 takes the weights themselves."""
    monitor: Literal["bleu", "loss"] = "bleu"
    """Validation score that chooses the best epoch and stops the training."""
    beam_width: Annotated[int, tyro.conf.arg(help=BEAM_WIDTH.help)] = BEAM_WIDTH.default
    length_penalty: Annotated[float, tyro.conf.arg(help=LENGTH_PENALTY.help)] = LENGTH_PENALTY.default
    split_batches: Annotated[bool, NEGATED] = True
    """Compute whole batches. By default, without a GPU, the two halves of each batch are computed in parallel, which is
    faster."""
    no_baseline: bool = False
    """Leave the baselines out of the report: the source itself, and a word-by-word translation."""

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "translation", "nmt")

    def resolve(self):
        """As `TrainingConfig.resolve`; also fills in the feed-forward size of a transformer.

        Prepared data fixes some settings.
        """
        found = self.prepared()
        config = super().resolve()
        if config.max_tokens is None:
            max_tokens = found.settings["max_tokens"] if found else _MAX_TOKENS
            config = dataclasses.replace(config, max_tokens=max_tokens)
        if found:
            config = prepared.settled(self, config, found, limits=("max_tokens",))
        if config.model == "transformer" and config.feedforward_size is None:
            factor = 4 if config.preset == "base" else 2
            config = dataclasses.replace(config, feedforward_size=factor * config.hidden_size)
        return config

    def default_preset(self) -> str:
        """As `TrainingConfig.default_preset`; quick, too, if --minutes are too few for a transformer."""
        if self.data and self.minutes is not None and self.minutes < _TRANSFORMER_MINUTES:
            return "quick"
        return super().default_preset()

    def default_model(self, preset: str) -> str:
        """As `TrainingConfig.default_model`; for quick with --data it is the one that learns most in few minutes."""
        return "attention" if preset == "quick" and self.data else super().default_model(preset)

    def preset_values(self, model: str, preset: str) -> dict[str, Any]:
        """As `TrainingConfig.preset_values`; quick is smaller for the embedded sample."""
        values = super().preset_values(model, preset)
        if preset != "quick" or self.data:
            return values
        return values | (SAMPLE_TRANSFORMER if model == "transformer" else SAMPLE_RECURRENT)

    def defaults(self):
        """As `TrainingConfig.defaults`; with the sizes of the preset that are meant for --data."""
        defaults = super().defaults()
        if self.preset != "quick" or not self.data:
            return defaults
        values = self.preset_values(self.model, self.preset)
        feedforward_size = 2 * values["hidden_size"] if self.model == "transformer" else None
        return dataclasses.replace(defaults, **values, feedforward_size=feedforward_size)

    def complete(self, num_pairs: int) -> "TranslationConfig":
        """Returns the config with the fields filled in that follow from the number of training pairs."""
        found = {
            "vocabulary_size": min(max(num_pairs // _PAIRS_PER_TOKEN, LEAST_VOCABULARY), MOST_VOCABULARY),
            "epochs": epochs_for(_QUICK_PAIRS, num_pairs, _QUICK_EPOCHS),
        }
        missing = {name: value for name, value in found.items() if getattr(self, name) is None}
        return dataclasses.replace(self, **missing)

    def data_files(self) -> dict[str, str]:
        """Paths of the translations and of the validation pairs."""
        files = {"target": self.target, "valid": self.valid, "valid_target": self.valid_target}
        return super().data_files() | {field: path for field, path in files.items() if path}

    def parallel_ops(self) -> int | None:
        """With split batches one operation of each half."""
        return 2 if self.split_batches else None

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        if self.prepared():
            self._check_prepared()
        self._check_data()
        self._check_network()
        require(
            self.batch_tokens >= self.max_tokens,
            "batch_tokens",
            self.batch_tokens,
            f"at least --max-tokens, {self.max_tokens}",
        )
        with_defaults((BEAM_WIDTH, LENGTH_PENALTY), vars(self), {})

    def _check_prepared(self) -> None:
        """Checks the settings of a training on prepared data.

        Raises:
            UserError: a setting would change what is prepared.
        """
        reject_without_effect(self, "prepared data has both sides of its pairs", "target")
        reject_without_effect(self, "prepared data has its pairs already", *pair_options.FIELDS)
        reason = "the validation pairs of prepared data are fixed: give --valid to `prepare`"
        reject_without_effect(self, reason, "valid", "valid_target")
        require(not self.subword_alpha, "subword_alpha", self.subword_alpha, "0 with prepared data")

    def pair_options(self) -> PairOptions:
        """Returns how to read the pairs."""
        return PairOptions.of(self)

    def _check_data(self) -> None:
        self.pair_options().check()
        if self.pair is not None:
            languages = self.pair.split("-")
            valid = len(languages) == 2 and all(languages) and languages[0] != languages[1]
            require(valid, "pair", self.pair, "two languages, such as en-de")
        for source, target in (("data", "target"), ("valid", "valid_target")):
            if getattr(self, target) and not getattr(self, source):
                raise UserError(
                    f"{flag(target)} {getattr(self, target)}: give the source sentences with {flag(source)}"
                )

    def _check_network(self) -> None:
        if self.model == "transformer":
            require_divisor(self)
        if self.model in WITH_ENCODER and self.bidirectional:
            require(
                self.hidden_size % 2 == 0,
                "hidden_size",
                self.hidden_size,
                "even: each direction of the encoder has half of it",
            )
