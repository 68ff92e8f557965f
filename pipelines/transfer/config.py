"""Settings of transfer: a pretrained text encoder -> a classifier, in stages."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.data import prepared
from pipelines.data.prepared import Prepared
from pipelines.labelled.config import LabelledConfig
from pipelines.settings.config import Presets
from pipelines.settings.fields import (
    FRACTION,
    HANDLE,
    NAME,
    NEGATED,
    POSITIVE,
    RATE,
    UNSET,
    Bounds,
    Only,
    Patience,
    Range,
    Resolved,
    Tuned,
    at_least,
    declared,
    reject_without_effect,
    require,
)

# Few texts need more epochs and smaller batches, so that there are enough training steps: (number of texts is below,
# settings).
BY_NUM_TEXTS = (
    (300, {"batch_size": 8, "head_epochs": 5, "top_epochs": 10}),
    (1000, {"batch_size": 8, "head_epochs": 3, "top_epochs": 5}),
    (5000, {"batch_size": 16, "head_epochs": 2, "top_epochs": 4}),
    (float("inf"), {"batch_size": 32, "head_epochs": 1, "top_epochs": 2}),
)
# A deeper encoder needs smaller steps: (maximum number of layers, learning rate). Turc et al. 2019 use 0.00003 to
# 0.0003 for small BERTs, Devlin et al. 2019 0.00002 to 0.00005 for large ones.
BY_DEPTH = ((1, 0.001), (5, 0.0002), (float("inf"), 0.00003))
UNFREEZE_GROUPS = 2
EMBEDDINGS = "embeddings"  # the group that recipes leave frozen: few texts have few of the words
RATE_OF_RECIPES = 0.04  # divided by the size of the encoder's vector: 0.0001 for 384, 0.00005 for 768
OWN, UNFROZEN, AUTO = "own", "unfrozen", "auto"  # of the recipes
HEAD_LEARNING_RATE, RESET_LEARNING_RATE = 0.005, 0.001  # of the first stage, without and with --reset-top

_CHOSEN = Only("--recipe chooses it", lambda config: config.recipe == OWN)
_HIDDEN = Only("it needs --head-layers", lambda config: config.head_layers > 0)
_ALL_LAYERS = Only("--drop-layers leaves the top layers out", lambda config: not config.drop_layers)
_OWN_OUTPUT = Only("--drop-layers chooses the output", lambda config: not config.drop_layers)


def _by_num_texts(field: str):
    """Annotates a field whose default depends on the number of texts: `--help` then shows all defaults."""
    *fewer, (_, usual) = [(below, settings[field]) for below, settings in BY_NUM_TEXTS]
    others = [f"{value} below {below:,}" for below, value in reversed(fewer)]
    return tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {usual}; {', '.join(others)} texts)")


def _by_depth():
    """Annotates the learning rate, whose default depends on the number of the encoder's layers."""
    (shallow, rate), (medium, medium_rate), (_, deep_rate) = BY_DEPTH
    own = f"{rate}; for {shallow + 1} to {medium} layers {medium_rate}, for more {deep_rate:.5f}"
    hint = f"(default: {RATE_OF_RECIPES} / size of the encoder's vector, {rate} for one layer; with --recipe own {own})"
    return tyro.conf.arg(metavar="X", help_behavior_hint=hint)


@dataclasses.dataclass(frozen=True)
class Stage:
    """Epochs in which the same weights are trained.

    Attributes:
        name: for the report.
        epochs: number of epochs.
        unfreeze_groups: number of groups of the encoder's weights, from the top, that are trained; None for all.
        learning_rate: highest learning rate of the head and of the encoder's top group.
    """

    name: str
    epochs: int
    unfreeze_groups: int | None
    learning_rate: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Handles:
    """The pretrained modules. Fields of the last base class come first in `--help`."""

    encoder: Annotated[str | None, HANDLE] = None
    """Pretrained text encoder: hf://ORG/NAME[@REVISION], kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, a TF Hub or Kaggle
    URL, the folder of a SavedModel or of a checkpoint of Hugging Face, or a .tar.gz file. Required."""
    preprocessor: Annotated[str | None, HANDLE] = None
    """Module that converts strings to the encoder's inputs, for an encoder that does not take strings. A handle like
    --encoder."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransferConfig(LabelledConfig, _Handles):
    """Settings of the training."""

    PRESETS: ClassVar[Presets] = {("hub", "quick"): {}, ("hub", "full"): {}}
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "hub", "full": "hub"}
    DATA_FIELDS: ClassVar[tuple[str, ...]] = tuple(
        name for name in LabelledConfig.DATA_FIELDS if name not in ("labels_separator", "label_columns")
    )
    CONTINUED: ClassVar[dict[str, float]] = {}

    preset: tyro.conf.Suppress[Resolved[str]] = UNSET
    model: tyro.conf.Suppress[Resolved[str]] = UNSET
    precision: tyro.conf.Suppress[Literal["float32"]] = "float32"
    optimizer: tyro.conf.Suppress[Literal["adam"]] = "adam"
    polarity: tyro.conf.Suppress[bool] = True
    labels_separator: tyro.conf.Suppress[str | None] = None
    label_columns: tyro.conf.Suppress[str | None] = None
    positive: tyro.conf.Suppress[str | None] = None

    signature: Annotated[str | None, NAME] = None
    """Signature of the encoder to call. By default the encoder itself is called, or its default signature."""
    output_key: Annotated[str | None, NAME, _OWN_OUTPUT] = None
    """Output of the encoder to classify by. By default pooled_output if there is one, else the mean over
    sequence_output."""
    drop_layers: Annotated[int, tyro.conf.arg(metavar="N"), at_least(0), _CHOSEN] = 0
    """Leave out the encoder's top N layers and classify by the mean over the layer below them. For encoders with
    `encoder_outputs`."""
    reset_top: Annotated[int, tyro.conf.arg(metavar="N"), at_least(0), _CHOSEN, _ALL_LAYERS] = 0
    """Initialize the weights of the encoder's N top groups (pooler, layers, embeddings) at random. They are trained
    from the first stage on."""
    head_layers: Annotated[int, tyro.conf.arg(metavar="N"), at_least(0), _CHOSEN] = 0
    """Put N hidden layers between the encoder and the layer that scores the classes."""
    head_size: Annotated[int, tyro.conf.arg(metavar="N"), at_least(1), _HIDDEN] = 128
    """Units of each of --head-layers."""
    recipe: Annotated[
        Resolved[Literal["own", "linear", "frozen", "unfrozen", "auto"]],
        tyro.conf.arg(
            metavar="{own,linear,frozen,unfrozen,auto}",
            help_behavior_hint="(default: unfrozen; own if a flag is given that a recipe chooses)",
        ),
    ] = UNSET
    """own: what the other settings say. frozen: logistic regression on the vectors of the frozen encoder. linear: the
    same, with a linear model over n-grams beside it. unfrozen: the encoder is trained from there. auto: try linear and
    unfrozen, then with few labels without top layers, with many with new top layers or a hidden layer;
    keep the training with the lowest validation loss."""
    ngrams: Annotated[bool, _CHOSEN] = False
    """Add the logits of a linear model over n-grams of words and characters, as much as that helps on the validation
    texts."""
    solve_head: Annotated[bool, _CHOSEN] = False
    """Before the first stage, give the head the weights of logistic regression on the vectors of the encoder, which is
    frozen and reads each text once."""
    max_labels: Annotated[int, tyro.conf.arg(metavar="N"), at_least(2, zero="all")] = 0
    """Train on at most N labelled texts, with the same number of each class where possible; 0 uses all."""
    head_epochs: Annotated[Resolved[int], _by_num_texts("head_epochs"), at_least(0), _CHOSEN] = UNSET
    """First stage: epochs in which only the head is trained, with the groups of --reset-top, and the rest of the
    encoder is frozen."""
    head_learning_rate: Annotated[
        Resolved[float],
        POSITIVE,
        Tuned(Range(0.0003, 0.03, log=True)),
        tyro.conf.arg(
            metavar="X",
            help_behavior_hint=f"(default: {HEAD_LEARNING_RATE}; with --reset-top {RESET_LEARNING_RATE})",
        ),
    ] = UNSET
    """First stage: highest learning rate."""
    top_epochs: Annotated[Resolved[int], _by_num_texts("top_epochs"), at_least(0), _CHOSEN] = UNSET
    """Second stage: epochs in which the top groups of the encoder's weights are trained, too. 0 for an encoder without
    trainable weights."""
    unfreeze_groups: Annotated[
        Resolved[int],
        at_least(1),
        tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {UNFREEZE_GROUPS}, or all if there are fewer)"),
    ] = UNSET
    """Second stage: number of groups of the encoder's weights (pooler, layers, embeddings) to train, counted from the
    top, including those that --drop-layers leaves out. --recipe trains all but the embeddings."""
    all_epochs: Annotated[int, tyro.conf.arg(metavar="N"), at_least(0), _CHOSEN] = 0
    """Third stage: epochs in which the whole encoder is trained."""
    learning_rate: Annotated[Resolved[float], _by_depth(), POSITIVE, Tuned(Range(0.00001, 0.003, log=True))] = UNSET
    """Second and third stage: highest learning rate, of the head and of the encoder's top group."""
    layer_decay: Annotated[float, Bounds(0, 1, above=True), Tuned(Range(0.6, 1.0, step=0.1))] = 0.8
    """The learning rate of each group of the encoder's weights is that of the group above it, times this factor."""
    warmup_fraction: Annotated[float, FRACTION] = 0.1
    """Fraction of each stage in which the learning rate rises; then it falls to 0. Both are linear."""
    weight_decay: Annotated[float, at_least(0), Tuned((0.0, 0.01, 0.03, 0.1))] = 0.01
    """Weight decay of AdamW, for matrices only."""
    dropout: Annotated[float, RATE, Tuned(Range(0.0, 0.5, step=0.05))] = 0.2
    """Dropout rate of the encoder's features."""
    batch_size: Annotated[Resolved[int], _by_num_texts("batch_size"), at_least(1), Tuned((8, 16, 32))] = UNSET
    """Texts per training step."""
    split_batches: Annotated[bool, NEGATED] = True
    """Compute whole batches. By default, without a GPU, the two halves of each batch are computed in parallel, which is
    faster, unless the encoder has random operations of its own."""
    patience: Patience = 100
    """Stop after N epochs without a lower validation loss. The weights of the best epoch are kept."""

    @property
    def stages(self) -> list[Stage]:
        """The stages that have epochs, of a complete config; one that changes nothing if nothing is trained."""
        if not self.trains:
            return [Stage("solved head", 1, 0, 0.0)]
        stages = [
            Stage("head", self.head_epochs, self.reset_top, self.head_learning_rate),
            Stage(f"top {self.unfreeze_groups}", self.top_epochs, self.unfreeze_groups, self.learning_rate),
            Stage("all", self.all_epochs, None, self.learning_rate),
        ]
        return [stage for stage in stages if stage.epochs]

    @property
    def trains(self) -> bool:
        """Whether weights are trained by steps, of a complete config; else the head is only solved."""
        return self.head_epochs + self.top_epochs + self.all_epochs > 0

    @property
    def epochs(self) -> int:
        """Maximum number of epochs of all stages, of a complete config."""
        return sum(stage.epochs for stage in self.stages)

    def of_recipe(self, name: str) -> "TransferConfig":
        """Returns the settings of a recipe that is one training, of a complete config.

        Args:
            name: "linear", "frozen" or "unfrozen".
        """
        return dataclasses.replace(
            self,
            solve_head=True,
            ngrams=name != "frozen",
            head_epochs=0,
            # Without trainable weights there are no --top-epochs.
            top_epochs=self.head_epochs + self.top_epochs if name == UNFROZEN and self.top_epochs else 0,
        )

    def stage_at(self, epoch: int) -> Stage:
        """Returns the stage of an epoch, counted from 0."""
        for stage in self.stages:
            if epoch < stage.epochs:
                return stage
            epoch -= stage.epochs
        return self.stages[-1]

    def complete(self, num_texts: int, groups: Sequence[str], size: int = 0) -> "TransferConfig":
        """Returns the config with the fields filled in that depend on the data and the encoder.

        A recipe is replaced by its settings; "auto" by those that its trainings share.

        Args:
            num_texts: number of training texts.
            groups: names of the encoder's groups of weights (HubEncoder.groups).
            size: of the encoder's vector; recipes need it.

        Raises:
            UserError: --reset-top is larger than the number of groups, or than --unfreeze-groups.
        """
        names = ", ".join(groups) or "none"
        require(self.reset_top <= len(groups), "reset_top", self.reset_top, f"at most {len(groups)} here ({names})")
        defaults = dict(next(settings for below, settings in BY_NUM_TEXTS if num_texts < below))
        if not groups:
            defaults["top_epochs"] = 0
        depth = sum(name.startswith("layer_") for name in groups)
        rate = next(rate for max_layers, rate in BY_DEPTH if depth <= max_layers)
        defaults |= {
            "unfreeze_groups": max(min(UNFREEZE_GROUPS, len(groups)), self.reset_top, 1),
            "learning_rate": rate,
            "head_learning_rate": RESET_LEARNING_RATE if self.reset_top else HEAD_LEARNING_RATE,
        }
        has_recipe = self.recipe not in (None, OWN)
        if has_recipe:
            defaults["unfreeze_groups"] = max(1, len(groups) - (EMBEDDINGS in groups))
            defaults["learning_rate"] = rate if depth <= 1 or not size else RATE_OF_RECIPES / size
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        complete = dataclasses.replace(self, **missing)
        if has_recipe and self.recipe != AUTO:
            complete = complete.of_recipe(self.recipe)
        complete = dataclasses.replace(complete, recipe=OWN)
        needed = f"at least {self.reset_top}: the groups of --reset-top must be trained"
        require(complete.unfreeze_groups >= self.reset_top, "unfreeze_groups", complete.unfreeze_groups, needed)
        return complete

    def prepared(self) -> Prepared | None:
        """Returns the prepared data that --data names; None if --data is other data.

        Raises:
            UserError: it is damaged, or was prepared for another task.
        """
        return prepared.find(self.data, "transfer")

    def resolve(self) -> "TransferConfig":
        """As `TrainingConfig.resolve`; prepared data fixes some settings."""
        found, config = self.prepared(), super().resolve()
        if config.recipe is None:
            defaults = type(self)()
            chosen = [name for name, marks in declared(type(self)).items() if _CHOSEN in marks]
            is_own = any(getattr(config, name) != getattr(defaults, name) for name in chosen)
            config = dataclasses.replace(config, recipe=OWN if found or is_own else UNFROZEN)
        return prepared.settled(self, config, found) if found else config

    def check(self) -> None:
        """Checks a resolved config; None in a field that depends on the data passes. See `TrainingConfig.check`."""
        super().check()
        if self.prepared():
            reason = "the validation texts of prepared data are fixed: give --valid to `prepare`"
            reject_without_effect(self, reason, "valid", "folds")
            require(not self.max_labels, "max_labels", self.max_labels, "0 with prepared data")
            reason = "it reads all texts at once, and prepared data may be larger than memory"
            reject_without_effect(self, reason, "recipe", "solve_head", "ngrams")
        require(self.encoder, "encoder", "is missing", "hf://ORG/NAME, a TF Hub URL, a folder, or a .tar.gz")
        trains_encoder = self.top_epochs != 0 or self.all_epochs != 0
        require(
            self.head_epochs != 0 or trains_encoder or self.solve_head,
            "head_epochs",
            self.head_epochs,
            "at least 1, if no other stage has epochs",
        )
        if self.solve_head:
            reject_without_effect(self, "--solve-head needs the pretrained encoder alone", "reset_top", "head_layers")
        if self.recipe == AUTO:
            reject_without_effect(self, "--recipe compares on one validation split", "folds")

    def not_continued(self) -> str:  # noqa: D102
        return "a pretrained encoder is fine-tuned in stages, from its own weights"

    def module_handles(self) -> dict[str, str]:  # noqa: D102
        handles = {"encoder": self.encoder, "preprocessor": self.preprocessor}
        return {field: handle for field, handle in handles.items() if handle}

    def parallel_ops(self) -> int | None:  # noqa: D102
        return 2 if self.split_batches else None
