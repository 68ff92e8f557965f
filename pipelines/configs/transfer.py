"""Every knob of the transfer pipeline."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from pipelines.configs.base import require
from pipelines.configs.sentiment import NAME, PATH

HANDLE = tyro.conf.arg(metavar="HANDLE")
PRESETS = {("hub", preset): {} for preset in ("quick", "full")}
DEFAULT_MODELS = dict.fromkeys(("quick", "full"), "hub")

# Few texts are read more often, in smaller batches, so that there are steps enough to learn from: (below so many texts, settings).
BY_TEXTS = (
    (1000, dict(batch_size=8, head_epochs=3, top_epochs=5)),
    (5000, dict(batch_size=16, head_epochs=2, top_epochs=4)),
    (float("inf"), dict(batch_size=32, head_epochs=1, top_epochs=2)),
)  # fmt: skip
# The deeper an encoder, the smaller the steps that it bears: (up to so many layers, rate). Turc et al. 2019 take 0.00003 to 0.0003 for small BERTs,
# Devlin et al. 2019 0.00002 to 0.00005 for large ones.
BY_DEPTH = ((1, 0.001), (5, 0.0002), (float("inf"), 0.00003))
TOP = 2


def by_texts(field: str):
    """An annotation for a field whose default depends on how many texts there are; `--help` then shows all of them."""
    *fewer, (_, usual) = [(below, settings[field]) for below, settings in BY_TEXTS]
    shown = [f"{value} below {below:,}" for below, value in reversed(fewer)]
    return tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {usual}; {', '.join(shown)} texts)")


def by_depth():
    """The same for the rate, whose default depends on how many layers the encoder has."""
    (shallow, usual), (middle, smaller), (_, smallest) = BY_DEPTH
    hint = f"(default: {usual}; {smaller} where the encoder has {shallow + 1} to {middle} layers, {smallest:.5f} where it has more)"
    return tyro.conf.arg(metavar="RATE", help_behavior_hint=hint)


@dataclasses.dataclass(frozen=True)
class Stage:
    """Epochs with the same weights learning.

    Attributes:
        name: for the report.
        epochs: how many.
        top: groups of the encoder's weights that learn; None for all.
        rate: step size at its highest; of the head in the first stage, and of the topmost weights of the encoder later.
    """

    name: str
    epochs: int
    top: int | None
    rate: float


@dataclasses.dataclass(frozen=True)
class TransferConfig:
    """Settings of the transfer pipeline: a pretrained text encoder -> a classifier, in stages."""

    encoder: Annotated[str | None, HANDLE] = None
    """The encoder: a TF Hub or Kaggle URL, a folder with a SavedModel, a .tar.gz."""
    preprocessor: Annotated[str | None, HANDLE] = None
    """The module that makes the encoder's inputs of strings, where it takes no strings: a handle as --encoder."""
    data: Annotated[str | None, PATH] = None
    """Texts to learn from: a CSV or TSV file (also .gz, .xz, .bz2, .zip), a folder with one sub-folder of .txt files per
    class, or `imdb`, which is downloaded. Without it: the embedded sample."""
    valid: Annotated[str | None, PATH] = None
    """Validation texts of your own, in the same formats. Without it, part of --data is split off."""
    valid_fraction: float = 0.1
    """The part to split off for validation: by film where there is a `url` column, else by text."""
    text_column: Annotated[str | None, NAME] = None
    """The column with the text; found by its name (text, review, ...) if not given."""
    label_column: Annotated[str | None, NAME] = None
    """The column with the label; found by its name (label, sentiment, ...) if not given."""
    labels: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Learn from so many of the labelled texts alone, as many of each class as can be; 0 takes all."""
    signature: Annotated[str | None, NAME] = None
    """Of the encoder, where it is not called itself."""
    output_key: Annotated[str | None, NAME] = None
    """Which of the encoder's outputs to classify by: its name; pooled_output if there is one, else the mean over sequence_output."""
    drop_top: int = 0
    """Leave out so many of the encoder's top layers: classify by the mean over the layer below them. For encoders with `encoder_outputs`."""
    head_epochs: Annotated[int | None, by_texts("head_epochs")] = None
    """First stage: epochs in which the head learns and the encoder is frozen."""
    head_rate: float = 0.005
    """First stage: step size at its highest."""
    top: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {TOP}, or all where there are fewer)")] = None
    """Second stage: groups of the encoder's weights (pooler, layers, embeddings) to unfreeze, from the top, those included that --drop-top leaves
    out."""
    top_epochs: Annotated[int | None, by_texts("top_epochs")] = None
    """Second stage: epochs; none for an encoder without weights that can learn."""
    all_epochs: int = 0
    """Third stage: epochs in which all of the encoder learns."""
    learning_rate: Annotated[float | None, by_depth()] = None
    """Second and third stage: step size at its highest, of the encoder's top group and of the head."""
    layer_decay: float = 0.8
    """Each group of the encoder's weights learns this much slower than the one above it."""
    warm_up: float = 0.1
    """The part of each stage in which the step size rises; then it falls to zero, both on a line."""
    weight_decay: float = 0.01
    """AdamW's, on matrices alone."""
    dropout: float = 0.2
    """The part of the encoder's features left out in training."""
    class_weights: bool = False
    """Weigh each class by the inverse of its frequency, for data with rare classes."""
    max_bytes: int = 40_000
    """Bytes of UTF-8 that are read of a text; the rest is cut."""
    batch_size: Annotated[int | None, by_texts("batch_size")] = None
    """Texts per training step."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm."""
    halves: bool = True
    """Where there is no GPU, compute the two halves of each batch side by side: it takes less time. --no-halves computes it as a whole,
    as is always done with an encoder that draws its own dropout."""
    patience: int = 100
    """Stop after so many epochs without a lower validation loss; the best epoch is the one that is kept."""
    checkpoint_every: int = 200
    """Steps between checkpoints (one is written after every epoch as well)."""
    seed: int = 1
    """Seed of the head's weights, dropout and order: the same seed on the same machine gives the same weights."""
    preset: tyro.conf.Suppress[str | None] = None
    model: tyro.conf.Suppress[str | None] = None
    precision: tyro.conf.Suppress[Literal["float32"]] = "float32"

    @property
    def stages(self) -> list[Stage]:
        """Those that have epochs, of a settled config."""
        stages = [
            Stage("head", self.head_epochs, 0, self.head_rate),
            Stage(f"top {self.top}", self.top_epochs, self.top, self.learning_rate),
            Stage("all", self.all_epochs, None, self.learning_rate),
        ]
        return [stage for stage in stages if stage.epochs]

    @property
    def epochs(self) -> int:
        return self.head_epochs + self.top_epochs + self.all_epochs

    def stage_at(self, epoch: int) -> Stage:
        """The stage of an epoch, counted from 0."""
        for stage in self.stages:
            if epoch < stage.epochs:
                return stage
            epoch -= stage.epochs
        return self.stages[-1]

    def settled(self, texts: int, groups: Sequence[str]) -> "TransferConfig":
        """The config with all that was left to the data and the encoder.

        Args:
            texts: how many there are to train on.
            groups: names of the encoder's groups of weights (HubEncoder.groups).
        """
        defaults = dict(next(settings for below, settings in BY_TEXTS if texts < below))
        if not groups:
            defaults["top_epochs"] = 0
        depth = sum(name.startswith("layer_") for name in groups)
        rate = next(rate for most, rate in BY_DEPTH if depth <= most)
        defaults |= {"top": min(TOP, len(groups)) or 1, "learning_rate": rate}
        return dataclasses.replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

    def check(self) -> None:
        """Raises UserError for the first setting that no training could use. What is None is left to the data."""
        require(self.encoder, "encoder", "is missing", "a TF Hub handle, a folder with a SavedModel, or a .tar.gz")
        require(0 < self.valid_fraction < 1, "valid_fraction", self.valid_fraction, "between 0 and 1")
        require(self.labels == 0 or self.labels >= 2, "labels", self.labels, "0, for all, or at least 2")
        require(self.drop_top >= 0, "drop_top", self.drop_top, "at least 0")
        stages = ("head_epochs", "top_epochs", "all_epochs")
        for least, names in ((0, stages), (1, ("top", "batch_size", "patience", "checkpoint_every"))):
            for name in names:
                value = getattr(self, name)
                require(value is None or value >= least, name, value, f"at least {least}")
        require(any(getattr(self, name) != 0 for name in stages), "head_epochs", self.head_epochs, "at least 1, if no other stage has epochs")
        for name in ("head_rate", "learning_rate", "clip_norm"):
            value = getattr(self, name)
            require(value is None or value > 0, name, value, "above 0")
        require(0 < self.layer_decay <= 1, "layer_decay", self.layer_decay, "above 0 and at most 1")
        require(0 <= self.warm_up <= 1, "warm_up", self.warm_up, "from 0 to 1")
        require(self.weight_decay >= 0, "weight_decay", self.weight_decay, "at least 0")
        require(0 <= self.dropout < 1, "dropout", self.dropout, "at least 0 and below 1")
        require(self.max_bytes >= 100, "max_bytes", self.max_bytes, "at least 100")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2147483647")
