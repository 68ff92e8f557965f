"""The command `inspect`: looks inside trained models, and draws what it sees."""

import dataclasses
import functools
import operator
from typing import Annotated

import tyro

from pipelines.command_line import join_help_lines
from pipelines.inspect.intervention_views import Intervene, Patch
from pipelines.inspect.language_views import Agreement, Gradients, Memory
from pipelines.inspect.model_views import Clipping, Cost, Embeddings, Layers, Neurons, Positions, Size
from pipelines.inspect.text_views import Attention, Gates, Salience, States, Training
from pipelines.inspect.view import TextView

VIEWS = {
    view.NAME: view
    for view in (
        Gates,
        States,
        Attention,
        Salience,
        Intervene,
        Patch,
        Agreement,
        Memory,
        Gradients,
        Training,
        Clipping,
        Layers,
        Neurons,
        Embeddings,
        Positions,
        Size,
        Cost,
    )
}
"""WHAT -> class."""

_WITH_TEXT = (TextView, Training)
NAMES = {name: view(**({"text": ""} if issubclass(view, _WITH_TEXT) else {})) for name, view in VIEWS.items()}
"""WHAT -> an instance, for `mistyped`."""

_View = functools.reduce(
    operator.or_, (Annotated[join_help_lines(view), tyro.conf.subcommand(name)] for name, view in VIEWS.items())
)


@dataclasses.dataclass(frozen=True)
class Inspect:
    """Look inside exported models: gates, states, attention, what was learned, what it costs.

    Each inspection writes one HTML page that works without a network, or a picture.
    """

    what: _View

    def __call__(self) -> None:
        """Runs the inspection."""
        self.what()
