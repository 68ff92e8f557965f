"""Every knob of the sentiment pipeline."""

import dataclasses
from typing import Annotated, Literal

import tyro

from pipelines.configs.base import by_preset, require

PATH = tyro.conf.arg(metavar="PATH")
NAME = tyro.conf.arg(metavar="NAME")

_COMMON = dict(
    max_tokens=1000, encoder_tokens=1000, vocabulary_size=30_000, ngrams=0, ngram_buckets=0, word_vectors="random",
    negations=0, span_rate=0.0, word_dropout=0.0, embedding_size=64, embedding_dropout=0.3, hidden_size=64, layers=1, pooling="max", dropout=0.5,
    batch_size=64, epochs=4, learning_rate=0.002,
)  # fmt: skip
_QUICK = dict(max_tokens=100, encoder_tokens=100, vocabulary_size=10_000, dropout=0.3, batch_size=32, epochs=3, learning_rate=0.005)
_SEQUENCE = dict(max_tokens=400, encoder_tokens=400, word_vectors="cooccurrence", word_dropout=0.1)

# Found on IMDB's training reviews with a tenth of the films held out (benchmarks/sentiment.py measures them).
PRESETS = {
    ("bag", "quick"): _COMMON | dict(
        ngram_buckets=2**16, embedding_size=16, dropout=0.3, batch_size=32, learning_rate=0.02,
    ),
    ("bag", "full"): _COMMON | dict(
        max_tokens=3000, encoder_tokens=3000, ngram_buckets=2**18, embedding_size=16, dropout=0.3, learning_rate=0.01,
    ),
    **{(model, "quick"): _COMMON | _QUICK for model in ("cnn", "simple", "gru", "lstm", "peephole", "transformer")},
    **{(model, "full"): _COMMON | _SEQUENCE for model in ("simple", "gru", "lstm", "peephole")},
    ("cnn", "full"): _COMMON | dict(max_tokens=400, encoder_tokens=400),
    ("transformer", "full"): _COMMON | _SEQUENCE | dict(encoder_tokens=200, layers=2, learning_rate=0.001),
    ("best", "quick"): _COMMON | _QUICK | dict(max_tokens=1000, ngrams=50_000),
    ("best", "full"): _COMMON | _SEQUENCE | dict(max_tokens=3000, ngrams=400_000, negations=6000, span_rate=0.5),
}  # fmt: skip
DEFAULT_MODELS = {"quick": "bag", "full": "best"}


@dataclasses.dataclass(frozen=True)
class SentimentConfig:
    """Settings of the sentiment pipeline: review -> label. Where a default says quick/full, --preset decides."""

    data: Annotated[str | None, PATH] = None
    """Reviews to learn from: a CSV or TSV file (also .gz, .xz, .bz2, .zip), a folder with one sub-folder of .txt files per
    class (such as aclImdb), or `imdb`, which is downloaded. Without it: the embedded sample."""
    valid: Annotated[str | None, PATH] = None
    """Validation reviews of your own, in the same formats. Without it, part of --data is split off."""
    valid_fraction: float = 0.1
    """The part to split off for validation: by film where there is a `url` column, else by text."""
    text_column: Annotated[str | None, NAME] = None
    """The column with the text; found by its name (text, review, ...) if not given."""
    label_column: Annotated[str | None, NAME] = None
    """The column with the label; found by its name (label, sentiment, ...) if not given."""
    preset: Literal["quick", "full"] | None = None
    """quick: about two minutes on two cores; full: best quality. By default quick on the sample and full on --data."""
    model: Literal["best", "bag", "cnn", "simple", "gru", "lstm", "peephole", "transformer"] | None = None
    """best: a GRU and filters over short runs of words, averaged with a linear model of n-grams; bag: averaged embeddings of
    words and word pairs; cnn: the filters alone; simple, gru, lstm, peephole: a recurrent network of such cells; transformer.
    By default best with --preset full and bag with quick."""
    tokens: Literal["word", "character", "subword"] = "word"
    """The unit of text that the model reads."""
    class_weights: bool = False
    """Weigh each class by the inverse of its frequency, for data with rare classes."""
    max_bytes: int = 40_000
    """Bytes of UTF-8 that are read of a review; the rest is cut."""
    max_tokens: Annotated[int | None, by_preset(PRESETS, "max_tokens")] = None
    """The window: how many tokens of a review are read; of longer ones the start and the end, half each."""
    encoder_tokens: Annotated[int | None, by_preset(PRESETS, "encoder_tokens")] = None
    """How many of those the encoder reads, again from both ends; the n-grams of --ngrams are of the whole window."""
    vocabulary_size: Annotated[int | None, by_preset(PRESETS, "vocabulary_size")] = None
    """How many different tokens are known, the four special ones included."""
    ngrams: Annotated[int | None, by_preset(PRESETS, "ngrams")] = None
    """Average the model with a linear one over so many n-grams of up to three words; 0 does without."""
    ngram_buckets: Annotated[int | None, by_preset(PRESETS, "ngram_buckets")] = None
    """bag: hash buckets for the pairs of neighbouring tokens; 0 leaves the pairs out."""
    word_vectors: Annotated[Literal["random", "cooccurrence"] | None, by_preset(PRESETS, "word_vectors", None)] = None
    """What the vectors of the words start from; cooccurrence: words that stand beside the same words start alike."""
    negations: Annotated[int | None, by_preset(PRESETS, "negations")] = None
    """Add so many short English sentences to training that show what "not" does to the adjectives of the reviews, where the
    classes are negative and positive: long reviews say too little about it."""
    span_rate: Annotated[float | None, by_preset(PRESETS, "span_rate")] = None
    """The part of the reviews of which the encoder, in training, sees a random span alone."""
    word_dropout: Annotated[float | None, by_preset(PRESETS, "word_dropout")] = None
    """The part of the words hidden from the encoder in training."""
    embedding_size: Annotated[int | None, by_preset(PRESETS, "embedding_size")] = None
    """Width of a token's vector."""
    embedding_dropout: Annotated[float | None, by_preset(PRESETS, "embedding_dropout")] = None
    """The part of a vector's features left out in training, the same ones in a whole text."""
    hidden_size: Annotated[int | None, by_preset(PRESETS, "hidden_size")] = None
    """Recurrent networks: width of the state in each direction. cnn: half the filters of each width."""
    layers: Annotated[int | None, by_preset(PRESETS, "layers")] = None
    """Recurrent networks and transformer: how many layers are stacked."""
    bidirectional: bool = True
    """Recurrent networks: read from both ends."""
    pooling: Annotated[Literal["last", "mean", "max", "attention"] | None, by_preset(PRESETS, "pooling", None)] = None
    """Recurrent networks and transformer: how the states become one vector."""
    heads: int = 4
    """transformer: attention heads; they divide the embedding size."""
    dropout: Annotated[float | None, by_preset(PRESETS, "dropout")] = None
    """The part of the review's features left out in training."""
    batch_size: Annotated[int | None, by_preset(PRESETS, "batch_size")] = None
    """Reviews per training step."""
    epochs: Annotated[int | None, by_preset(PRESETS, "epochs")] = None
    """Passes over the training reviews, at most."""
    learning_rate: Annotated[float | None, by_preset(PRESETS, "learning_rate")] = None
    """Adam's step size at its highest: after a warm-up of 5 % of the steps, then down to zero on a cosine."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm."""
    patience: int = 3
    """Stop after so many epochs without a lower validation loss; the best epoch is the one that is kept."""
    precision: Literal["auto", "float32", "mixed_bfloat16"] = "auto"
    """Of training; auto takes mixed_bfloat16 where the hardware multiplies it faster. Scores and exports are float32."""
    checkpoint_every: int = 200
    """Steps between checkpoints (one is written after every epoch as well)."""
    seed: int = 1
    """Seed of weights, dropout and order: the same seed on the same machine gives the same weights."""

    def check(self) -> None:
        """Raises UserError for the first setting that no training could use. Expects a resolved config."""
        require(0 < self.valid_fraction < 1, "valid_fraction", self.valid_fraction, "between 0 and 1")
        require(self.max_bytes >= 100, "max_bytes", self.max_bytes, "at least 100")
        require(self.max_tokens >= 4, "max_tokens", self.max_tokens, "at least 4")
        require(self.vocabulary_size >= 10, "vocabulary_size", self.vocabulary_size, "at least 10")
        pairs = self.ngram_buckets
        require(pairs == 0 or 2 <= pairs <= 2**21, "ngram_buckets", pairs, "0 (no pairs) or from 2 to 2097152")
        for name in ("embedding_size", "hidden_size", "layers", "heads", "batch_size", "epochs", "patience", "checkpoint_every"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        require(4 <= self.encoder_tokens, "encoder_tokens", self.encoder_tokens, "at least 4")
        require(0 <= self.ngrams <= 10**7, "ngrams", self.ngrams, "from 0 (none) to 10000000")
        require(0 <= self.negations <= 10**6, "negations", self.negations, "from 0 to 1000000")
        require(0 <= self.span_rate <= 1, "span_rate", self.span_rate, "from 0 to 1")
        for name in ("word_dropout", "embedding_dropout", "dropout"):
            require(0 <= getattr(self, name) < 1, name, getattr(self, name), "at least 0 and below 1")
        if self.model == "transformer":
            require(self.embedding_size % self.heads == 0, "heads", self.heads, f"a divisor of {self.embedding_size}")
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.clip_norm > 0, "clip_norm", self.clip_norm, "above 0")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2147483647")
