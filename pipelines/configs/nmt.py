"""Every knob of the translation pipeline."""

import dataclasses
from typing import Annotated, Literal

import tyro

from pipelines.configs.base import by_preset, require
from pipelines.errors import UserError

PATH = tyro.conf.arg(metavar="PATH")

_RECURRENT = dict(
    layers=1, hidden_size=256, embedding_size=128, vocabulary_size=4000, batch_tokens=600, epochs=12, learning_rate=0.003,
    dropout=0.2, warm_up=300, heads=4, feed_forward=2, sampling=0.0,
    precision="float32",  # so small a model gains nothing by bfloat16, even where the hardware has it
)  # fmt: skip
_TRANSFORMER = _RECURRENT | dict(
    layers=4, hidden_size=128, embedding_size=128, batch_tokens=2000, epochs=40, learning_rate=0.004, warm_up=800
)
_QUICK_RECURRENT = dict(batch_tokens=400, epochs=10, learning_rate=0.005, warm_up=50)  # a small corpus: larger batches would be too few steps
MODELS = ("single-rnn", "rnn", "attention", "transformer")
WITH_ATTENTION = ("attention", "transformer")
PRESETS = {
    **{(model, "full"): _RECURRENT for model in MODELS[:-1]},
    ("transformer", "full"): _TRANSFORMER,
    **{(model, "quick"): _RECURRENT | dict(hidden_size=128, embedding_size=64, vocabulary_size=400, **_QUICK_RECURRENT) for model in MODELS[:-1]},
    ("transformer", "quick"): _TRANSFORMER | dict(layers=2, hidden_size=64, embedding_size=64, vocabulary_size=400, batch_tokens=500, epochs=8, warm_up=100),
    # Vaswani et al. 2017, table 3: 65 million parameters want a corpus of millions, and a GPU. The paper trains with --norm post and
    # --schedule inverse-sqrt.
    ("transformer", "base"): _TRANSFORMER
    | dict(
        layers=6, hidden_size=512, embedding_size=512, heads=8, feed_forward=4, vocabulary_size=37_000, batch_tokens=25_000, dropout=0.1, warm_up=4000,
        learning_rate=0.0007, precision="auto",
    ),
}  # fmt: skip
DEFAULT_MODELS = {"quick": "transformer", "full": "transformer", "base": "transformer"}


@dataclasses.dataclass(frozen=True)
class NmtConfig:
    """Settings of the translation pipeline: sentence -> sentence. Where a default says quick/full, --preset decides."""

    data: Annotated[str | None, PATH] = None
    """Pairs to learn from: `multi30k` or `tatoeba-spa-eng`, which are downloaded; a TSV file; a folder as Multi30k's; or, with
    --target, the sentences to translate, one a line. Without it: made-up English and Spanish."""
    target: Annotated[str | None, PATH] = None
    """The translations of --data, line for line."""
    pair: Annotated[str | None, tyro.conf.arg(metavar="FROM-TO")] = None
    """The two languages, such as en-de or de-en: those of the corpus or of the files' endings; a TSV file's header or, without one,
    its first two columns."""
    valid: Annotated[str | None, PATH] = None
    """Validation pairs of your own, as --data. Without them, the corpus's own or a part of --data."""
    valid_target: Annotated[str | None, PATH] = None
    """The translations of --valid, line for line."""
    valid_fraction: float = 0.05
    """The part of --data to split off, by source sentence, where there are no validation pairs."""
    preset: Literal["quick", "full", "base"] | None = None
    """quick: about two minutes on two cores; full: about forty minutes; base: the size of the paper, for a GPU. By default quick on
    the sample and full on --data."""
    model: Literal["single-rnn", "rnn", "attention", "transformer"] | None = None
    """single-rnn: one network reads source and target; rnn: encoder and decoder with one vector between them; attention: a
    decoder that looks at all of the encoder's states; transformer. By default transformer."""
    vocabulary_size: Annotated[int | None, by_preset(PRESETS, "vocabulary_size")] = None
    """SentencePiece's pieces, the four special ones included."""
    joint_vocabulary: bool = True
    """One vocabulary for both languages. --no-joint-vocabulary gives each its own."""
    sampling: Annotated[float | None, by_preset(PRESETS, "sampling")] = None
    """Cut the training sentences into other pieces in every epoch (Kudo 2018): the smaller above 0, the more freely; 0 always takes the
    likeliest pieces."""
    max_tokens: int = 100
    """Pieces of a sentence that are read at most; pairs with a longer side are left out of training."""
    layers: Annotated[int | None, by_preset(PRESETS, "layers")] = None
    """Of the encoder and of the transformer's decoder."""
    hidden_size: Annotated[int | None, by_preset(PRESETS, "hidden_size")] = None
    """Width of the state, or of the transformer."""
    embedding_size: Annotated[int | None, by_preset(PRESETS, "embedding_size")] = None
    """Recurrent networks: width of a piece's vector."""
    cell: Literal["gru", "lstm"] = "gru"
    """Of the recurrent networks."""
    one_way: bool = False
    """rnn, attention: an encoder that reads from the start alone rather than from both sides."""
    reverse_source: bool = False
    """single-rnn, and rnn with --one-way: read the source backwards, so that its start is near to the target's (Sutskever et al. 2014)."""
    score: Literal["additive", "dot", "scaled_dot", "general"] = "additive"
    """attention: how a query is compared with a state."""
    style: Literal["bahdanau", "luong"] = "bahdanau"
    """attention: look before the step and feed what was seen into it, or look behind the step."""
    input_feeding: bool = False
    """attention of style luong: the last output is part of the next input."""
    heads: Annotated[int | None, by_preset(PRESETS, "heads")] = None
    """transformer: attention heads; they divide the hidden size."""
    feed_forward: Annotated[int | None, by_preset(PRESETS, "feed_forward")] = None
    """transformer: how many times as wide as the hidden size the network at each place is."""
    norm: Literal["pre", "post"] = "pre"
    """transformer: normalise before each sublayer, or behind it as the paper does."""
    dropout: Annotated[float | None, by_preset(PRESETS, "dropout")] = None
    """The part of the features left out in training."""
    label_smoothing: float = 0.1
    """The part of the probability that training spreads over all pieces."""
    batch_tokens: Annotated[int | None, by_preset(PRESETS, "batch_tokens")] = None
    """Places in a batch, on the side that has more: sentences of about the same length, so many that they fit (with their likeliest
    pieces: --sampling takes somewhat more)."""
    epochs: Annotated[int | None, by_preset(PRESETS, "epochs")] = None
    """Passes over the pairs, at most."""
    learning_rate: Annotated[float | None, by_preset(PRESETS, "learning_rate")] = None
    """Adam's step size at its highest, behind the warm-up."""
    schedule: Literal["cosine", "inverse-sqrt"] = "cosine"
    """cosine: down to zero at the end; inverse-sqrt: falls as one over the root of the steps, as in the paper."""
    warm_up: Annotated[int | None, by_preset(PRESETS, "warm_up")] = None
    """Steps in which the step size rises."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm."""
    average: float = 0.999
    """Validate and keep a moving average of the weights, with this momentum; 0 keeps the weights themselves."""
    select: Literal["bleu", "loss"] = "bleu"
    """What is watched on the validation pairs to keep the best epoch and to stop early."""
    patience: int = 5
    """Stop after so many epochs that are no better; the best epoch is the one that is kept."""
    beam_width: int = 5
    """Hypotheses kept in translating; 1 is greedy."""
    length_penalty: float = 1.0
    """Exponent of the length in a hypothesis's score: the higher, the longer the translations."""
    precision: Annotated[
        Literal["auto", "float32", "mixed_bfloat16"] | None, by_preset(PRESETS, "precision", metavar=None)
    ] = None
    """Of training; auto takes mixed_bfloat16 where the hardware multiplies it faster. Scores and exports are float32."""
    halves: bool = True
    """Where there is no GPU, compute the two halves of each batch side by side: it takes less time. --no-halves computes it as a whole."""
    checkpoint_every: int = 200
    """Steps between checkpoints (one is written after every epoch as well)."""
    seed: int = 1
    """Seed of weights, dropout and order: the same seed on the same machine gives the same weights."""

    def check(self) -> None:
        """Raises UserError for the first setting that no training could use. Expects a resolved config."""
        if self.pair is not None:
            parts = self.pair.split("-")
            require(len(parts) == 2 and all(parts) and parts[0] != parts[1], "pair", self.pair, "two languages, such as en-de")
        for source, target in (("data", "target"), ("valid", "valid_target")):
            if getattr(self, target) and not getattr(self, source):
                raise UserError(f"--{target.replace('_', '-')} {getattr(self, target)}: give what it translates with --{source}")
        require(0 < self.valid_fraction < 1, "valid_fraction", self.valid_fraction, "between 0 and 1")
        require(self.vocabulary_size >= 40, "vocabulary_size", self.vocabulary_size, "at least 40")
        require(self.sampling >= 0, "sampling", self.sampling, "at least 0")
        require(3 <= self.max_tokens <= 1000, "max_tokens", self.max_tokens, "from 3 to 1000")
        positive = "layers hidden_size embedding_size heads feed_forward epochs warm_up patience checkpoint_every"
        for name in positive.split():
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        if self.model == "transformer":
            require(self.hidden_size % self.heads == 0, "heads", self.heads, f"a divisor of {self.hidden_size}")
        if self.model in ("rnn", "attention") and not self.one_way:
            require(self.hidden_size % 2 == 0, "hidden_size", self.hidden_size, "even, half of it for each direction of the encoder")
        if self.reverse_source:
            # An encoder that reads both ways reads backwards as it is, and attention finds each word wherever it stands.
            reads_forwards = self.model == "single-rnn" or (self.model == "rnn" and self.one_way)
            require(reads_forwards, "reverse_source", "", "with --model single-rnn, or --model rnn --one-way")
        if self.model == "attention":
            require(self.style == "luong" or not self.input_feeding, "input_feeding", "", "with --style luong")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "at least 0 and below 1")
        require(0 <= self.label_smoothing < 1, "label_smoothing", self.label_smoothing, "at least 0 and below 1")
        require(self.batch_tokens >= self.max_tokens, "batch_tokens", self.batch_tokens, f"at least --max-tokens, {self.max_tokens}")
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.clip_norm > 0, "clip_norm", self.clip_norm, "above 0")
        require(0 <= self.average < 1, "average", self.average, "at least 0 and below 1")
        require(1 <= self.beam_width <= 16, "beam_width", self.beam_width, "from 1 to 16")
        require(self.length_penalty >= 0, "length_penalty", self.length_penalty, "at least 0")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2147483647")
