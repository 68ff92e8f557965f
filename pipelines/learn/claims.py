"""What the material says of settings, as data: the settings that are compared, and what would make each claim hold."""

import dataclasses
import math
from typing import Any, NamedTuple

TIME = "seconds per epoch"


class Prediction(NamedTuple):
    """By how much a number of one point of a grid is claimed to differ from that of another one.

    Attributes:
        measure: a score of the validation set, such as "loss"; "parameters", also "parameters of LAYER"; or TIME.
        point, than: indices of the points: the difference is that of `point` minus that of `than`.
        low, high: what is claimed: the difference is between them.
        relative: whether the difference is a fraction of the number of `than`.
    """

    measure: str
    point: int
    than: int
    low: float = -math.inf
    high: float = math.inf
    relative: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the material, and its test.

    Attributes:
        question: what a reader wants to know.
        where, says: the section, and its sentence in other words.
        task: name in the registry.
        settings: field -> value of all trainings, beside --preset quick; small, so that samples take minutes.
        grid: the values of --grid of `tune`. Points are numbered in their order, the last field varying fastest.
        equal_parameters: whether hidden sizes are chosen so that all points have equally many parameters.
        predictions: the claim holds if all of them do.
        commands: of a claim without a grid.
    """

    question: str
    where: str
    says: str
    task: str = "char-lm"
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    grid: tuple[str, ...] = ()
    equal_parameters: bool = False
    predictions: tuple[Prediction, ...] = ()
    commands: tuple[str, ...] = ()


_SMALL = {"model": "lstm", "hidden_size": 64, "epochs": 1}
_TRANSFORMER = {"model": "transformer", "hidden_size": 64, "epochs": 1}
_CELLS = {"hidden_size": 128, "epochs": 2}
_PAIRS = {
    "vocabulary_size": 400,
    "hidden_size": 64,
    "embedding_size": 64,
    "batch_tokens": 400,
    "epochs": 6,
    "learning_rate": 0.005,
    "warmup_steps": 50,
    "monitor": "loss",
}
_CONSTANT_TOKENS = "Each update has equally many tokens, so that all points make equally many updates."

CLAIMS = {
    1: Claim(
        question="Does tying the embeddings with the output save weights and lower the perplexity?",
        where="ch. 6 §3.3, text slides",
        says="One matrix for embeddings and output has fewer weights, and the model predicts better.",
        task="language-model",
        settings={"model": "lstm", "hidden_size": 64, "embedding_size": 64, "epochs": 2},
        grid=("tie_weights=True,False",),
        predictions=(Prediction("parameters", 0, 1, high=0), Prediction("perplexity", 0, 1, high=0)),
    ),
    2: Claim(
        question="What does the hidden size buy?",
        where="ch. 5, exercise 2",
        says="A larger state predicts better, and each step costs more time.",
        settings={"model": "lstm", "epochs": 1},
        grid=("hidden_size=32,64,128",),
        predictions=(Prediction("loss", 2, 0, high=0), Prediction(TIME, 2, 0, low=0)),
    ),
    3: Claim(
        question="Do both directions see more?",
        where="ch. 6 §5.2, RNN slides, notes",
        says="A network that reads from both sides labels words better than one that reads from the left.",
        task="tagging",
        settings={"model": "lstm", "hidden_size": 32, "epochs": 3},
        grid=("bidirectional=True,False",),
        predictions=(Prediction("accuracy", 0, 1, low=0),),
    ),
    4: Claim(
        question="Does reversing the source help?",
        where="RNN slides",
        says="Without attention, translations are better if the source is read from its end.",
        task="nmt",
        settings={**_PAIRS, "model": "single-rnn"},
        grid=("reverse_source=False,True",),
        predictions=(Prediction("bleu", 1, 0, low=0),),
    ),
    5: Claim(
        question="Which attention score?",
        where="RNN slides, ch. 6 §7.4",
        says="The dot product is faster than the additive score and translates as well (at most 1 BLEU less).",
        task="nmt",
        settings={**_PAIRS, "model": "attention", "epochs": 4},
        grid=("attention_score=additive,scaled_dot",),
        predictions=(
            Prediction(TIME, 1, 0, high=0, relative=True),
            Prediction("bleu", 1, 0, low=-1),
        ),
    ),
    6: Claim(
        question="Deep or wide, with equal parameters?",
        where="ch. 5, exercise 12",
        says="With equally many parameters, two layers predict better than one wide layer.",
        settings=_SMALL,
        grid=("num_layers=1,2",),
        equal_parameters=True,
        predictions=(Prediction("loss", 1, 0, high=0),),
    ),
    7: Claim(
        question="Is a GRU 25 % smaller and 20 to 30 % faster than an LSTM?",
        where="ch. 5 §5.4.2",
        says="A GRU has three sets of weights where an LSTM has four: a quarter fewer parameters in the layer, and "
        "training takes 20 to 30 % less time.",
        settings=_CELLS,
        grid=("model=lstm,gru",),
        predictions=(
            Prediction("parameters of recurrent_1", 1, 0, low=-0.27, high=-0.23, relative=True),
            Prediction(TIME, 1, 0, low=-0.3, high=-0.2, relative=True),
        ),
    ),
    8: Claim(
        question="How many layers?",
        where="ch. 6 §5.1",
        says="Two to four layers are best: both two and four predict better than one.",
        settings=_SMALL,
        grid=("num_layers=1,2,4",),
        predictions=(Prediction("loss", 1, 0, high=0), Prediction("loss", 2, 0, high=0)),
    ),
    9: Claim(
        question="Do the layers form a hierarchy, from local to distant?",
        where="ch. 6 §5.1, ch. 5 fig. 5.27, notes",
        says="Lower layers know the words nearby, higher ones phrases and topics.",
        commands=(
            "train char-lm --num-layers 3 --name layers-3",
            "inspect memory --models layers-3-sample",
        ),
    ),
    10: Claim(
        question="Through how many tokens should gradients flow (K)?",
        where="ch. 5 §5.5.3",
        says=f"K of 35 to 100 is best: 64 tokens predict better than 16, and no worse than 128. {_CONSTANT_TOKENS}",
        settings=_SMALL,
        grid=("window+batch_size=16+64,64+16,128+8",),
        predictions=(Prediction("loss", 1, 0, high=0), Prediction("loss", 1, 2, high=0.01)),
    ),
    11: Claim(
        question="Which threshold for clipping?",
        where="ch. 5 §5.5.3",
        says="Thresholds of 1 to 5 are usual: 1 predicts better than 0.1, and than 100, which clips nothing.",
        settings=_SMALL,
        grid=("clip_norm=0.1,1,100",),
        predictions=(Prediction("loss", 1, 0, high=0), Prediction("loss", 1, 2, high=0)),
    ),
    12: Claim(
        question="Dropout and weight decay against overfitting?",
        where="ch. 5 §5.5.3",
        says="Either lowers the loss on other text than that of training.",
        task="language-model",
        settings={"model": "lstm", "hidden_size": 64, "embedding_size": 64, "epochs": 3},
        grid=("dropout=0,0.2", "weight_decay=0,0.1"),
        predictions=(Prediction("loss", 2, 0, high=0), Prediction("loss", 1, 0, high=0)),
    ),
    13: Claim(
        question="Are learned positions as good as sines?",
        where="ch. 6 §8.7",
        says="Both work equally well: the losses differ by less than 0.02.",
        settings=_TRANSFORMER,
        grid=("positions=sinusoidal,learned,none",),
        predictions=(Prediction("loss", 1, 0, low=-0.02, high=0.02),),
    ),
    14: Claim(
        question="Do more heads see more?",
        where="ch. 6 §8.5, RNN slides, notes",
        says="Heads attend to different things: four predict better than one of the same size in all.",
        settings=_TRANSFORMER,
        grid=("num_heads=1,4,8",),
        predictions=(Prediction("loss", 1, 0, high=0),),
    ),
    15: Claim(
        question="Is a GRU as good as an LSTM?",
        where="ch. 5 §5.4.2, notes",
        says="On most tasks there is no clear winner: the losses differ by less than 0.02.",
        settings=_CELLS,
        grid=("model=lstm,gru",),
        predictions=(Prediction("loss", 1, 0, low=-0.02, high=0.02),),
    ),
    16: Claim(
        question="What does a window of K = 20 tokens lose?",
        where="ch. 5, exercise 8",
        says=f"Gradients that end after 20 tokens teach nothing from before: 80 predict better. {_CONSTANT_TOKENS}",
        settings=_SMALL,
        grid=("window+batch_size=20+48,80+12",),
        predictions=(Prediction("loss", 0, 1, low=0),),
    ),
    17: Claim(
        question="Must each step of a decoder get the context?",
        where="ch. 6 §6.3",
        says="If the context is given only at the first step its influence fades: the translations are worse.",
        task="nmt",
        settings={**_PAIRS, "model": "rnn", "bidirectional": False},
        grid=("context=every-step,first-step",),
        predictions=(Prediction("bleu", 1, 0, high=0),),
    ),
}
"""Number -> claim."""
