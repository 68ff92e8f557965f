"""The inspections of what models compute for a text. They import nothing heavy."""

import dataclasses
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from pipelines.command_line import RUNS, RunsFlag
from pipelines.inspect.view import TextView, View, check_treebank
from pipelines.runs import inventory
from pipelines.settings.fields import PATH
from pipelines.support.errors import UserError

_MAX_UNITS = 4096
_MAX_STEPS = 4096


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gates(TextView):
    """The gates of an LSTM or a GRU through a text, its state, and what may come next."""

    NAME: ClassVar[str] = "gates"

    top: int = 24
    """Number of single units to show: those whose gate varies most."""
    unit: int | None = None
    """Show this unit alone. Units count from 0."""
    treebank: Annotated[Path | None, PATH] = None
    """A file with tagged sentences (.conllu): show the means by part of speech, too."""
    sentences: int = 500
    """With --treebank: number of sentences to read."""
    over_seeds: bool = False
    """Show the gates of all --models in one figure: the mean over the models, and a band from the lowest to the
    highest. They must differ in their --seed alone."""

    def check(self) -> None:
        """Checks the file and the numbers."""
        check_treebank(self.treebank, self.sentences)
        if self.over_seeds and (self.treebank is not None or self.unit is not None):
            raise UserError("--over-seeds shows means over units and models: leave out --treebank and --unit")
        _check_top(self.top)
        super().check()

    def look(self):
        """Returns the figures of each model, or with --over-seeds that of all."""
        if not self.over_seeds:
            return super().look()
        from pipelines.inspect import gates_over_seeds

        found = self.found()
        gates_over_seeds.require_same_settings({model.title: model.card for model in found})
        traces = [model.trace([self.text])[0] for model in found]
        rows = gates_over_seeds.seed_rows(traces)
        figure = gates_over_seeds.figure([model.title for model in found], traces[0], rows)
        cut = ["the models read only a part of the text, the one that is shown"] if traces[0].cut else []
        return [figure], [*cut, *gates_over_seeds.notes(rows)]

    def draw(self, model, trace):
        """Returns the figures of one model."""
        from pipelines.inspect import gates

        activation = model.card.get("config", {}).get("activation", "tanh")
        figures = gates.figures(trace, self.top, self.unit, activation)
        return figures if self.treebank is None else [*figures, self._by_tag(model)]

    def _by_tag(self, model):
        """Returns the figure of the means by part of speech."""
        from pipelines.inspect import gates_by_tag

        words, tags, traces = _tagged_traces(model, self.treebank, self.sentences)
        rows = gates_by_tag.by_tag(gates_by_tag.gate_rows(traces, words, tags))
        return gates_by_tag.figure(model.title, rows)


def _check_top(top: int) -> None:
    """Checks the value of --top.

    Raises:
        UserError: it is out of range.
    """
    if not 1 <= top <= _MAX_UNITS:
        raise UserError(f"--top {top}: it must be from 1 to {_MAX_UNITS}")


def _tagged_traces(model, path: Path, count: int) -> tuple:
    """Returns the words and the tags of the first sentences of a treebank, and the traces of their texts."""
    from pipelines.inspect.reference import read_tagged

    words, tags, texts = read_tagged(path, count)
    # Words are tokens of their own in the treebank; a model of words between spaces reads them so.
    texts = [" ".join(each) for each in words] if model.tokenizer == "word" else texts
    return words, tags, (model.trace([text])[0] for text in texts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class States(TextView):
    """The path of the hidden state and of the cell through a text, in the plane of their largest variance."""

    NAME: ClassVar[str] = "states"

    data: Annotated[Path | None, PATH] = None
    """Text file whose lines give the plane, such as the validation text. By default the text itself does."""
    surface: Annotated[str | None, tyro.conf.arg(metavar="TOKEN")] = None
    """Language models: draw the probability that this token comes next over the plane."""

    def check(self) -> None:
        """Checks that the file exists."""
        if self.data is not None and not self.data.is_file():
            raise UserError(f"--data {self.data}: no such file")
        super().check()

    def draw(self, model, trace):
        """Returns the figure of one model."""
        from pipelines.inspect import states
        from pipelines.inspect.reference import read_lines

        lines = read_lines(self.data) if self.data else []
        references = [each for line in lines for each in model.trace([line])]
        surface = model.probability_of(self.surface) if self.surface else None
        return states.figures(trace, references, surface, self.surface)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attention(TextView):
    """Where each attention head of each layer looks, and what it mostly looks at."""

    NAME: ClassVar[str] = "attention"

    treebank: Annotated[Path | None, PATH] = None
    """A file with tagged sentences (.conllu): count the self-attention of each head over it by part of speech, too."""
    sentences: int = 500
    """With --treebank: number of sentences to read."""

    def check(self) -> None:
        """Checks the file and the number."""
        check_treebank(self.treebank, self.sentences)
        super().check()

    def look_at(self, model):
        """Returns the figures of one model, and a line for each head."""
        from pipelines.inspect import attention_by_tag

        figures, notes = super().look_at(model)
        if self.treebank is None:
            return figures, notes
        words, tags, traces = _tagged_traces(model, self.treebank, self.sentences)
        counts = attention_by_tag.count(traces, words, tags)
        kinds = attention_by_tag.kind_rows(counts)
        figures = [*figures, attention_by_tag.figure(model.title, attention_by_tag.tag_rows(counts), kinds)]
        return figures, [*notes, *attention_by_tag.sentences_text(model.title, counts, kinds)]

    def look(self):
        """Returns the figures of the models with attention, and a line for each of the others.

        Raises:
            UserError: no model has attention.
        """
        figures, notes = super().look()
        if not figures:
            raise UserError(
                "none of the models has attention: train --model transformer or a translator with attention"
            )
        return figures, notes

    def draw(self, model, trace):
        """Returns the figures of one text; none if the model has no attention and stands beside others."""
        from pipelines.inspect import attention

        return attention.figures(trace) if trace.attention or len(self.models) < 2 else []

    def notes(self, model, trace) -> list[str]:
        """Returns a line for each head."""
        from pipelines.inspect import attention

        if not trace.attention:
            return [attention.without_attention(trace)]
        return [f"{model.title}: {line}" for line in attention.overview_text(trace)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(View):
    """How the gates, the states or the attention of a run changed over its training, with a slider."""

    NAME: ClassVar[str] = "training"
    examples: ClassVar = ('"The list of functions" --run char-lm/my-lstm-0123abcd',)

    text: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="TEXT")]]
    """The text to look at, in quotes."""
    run: str = ""
    """The run: its folder, or its name; `list` has them. It needs --keep-checkpoints when it is trained."""
    show: Literal["gates", "states", "attention"] = "gates"
    """What to show."""
    top: int = 24
    """gates: number of single units to show: those whose gate varies most in the end."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""

    def check(self) -> None:
        """Checks the number, and that a run is named."""
        _check_top(self.top)
        if not self.run:
            raise UserError("--run is missing: name the run whose training is shown; `list` has them")
        inventory.find_run(self.runs, self.run)

    def title(self) -> str:
        """Returns the title of the page."""
        return f"Training of {self.run}: {self.text}"

    def look(self):
        """Returns the figures, each with a slider over the epochs."""
        from pipelines.inspect import attention, gates, states, training
        from pipelines.inspect.runs import TrainedRun

        run = TrainedRun(self.runs, self.run)
        epochs = run.epochs()
        traces = [run.trace(self.text, epoch) for epoch in epochs]
        activation = getattr(run.config, "activation", "tanh")

        def draw(trace):
            if self.show == "gates":
                return gates.figures(trace, self.top, activation=activation, like=traces[-1])
            return states.figures(trace, traces) if self.show == "states" else attention.figures(trace)

        by_epoch = [draw(trace) for trace in traces]
        losses = [run.validation_loss(epoch) for epoch in epochs]
        figures = [training.over_epochs(list(each), epochs, losses) for each in zip(*by_epoch, strict=True)]
        notes = ["the model reads only a part of the text, the one that is shown"] if traces[0].cut else []
        return figures, notes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Salience(TextView):
    """How much each token counts for the next token, the label or a tag: integrated gradients beside occlusion."""

    NAME: ClassVar[str] = "salience"

    token: str | None = None
    """Language models: the next token whose probability is explained. By default the most probable one."""
    label: str | None = None
    """Classifiers and taggers: the label or tag that is explained. By default the one that the model chooses."""
    word: str | None = None
    """Taggers: the word whose tag is explained. By default the one whose tag is the least certain."""
    steps: int = 64
    """Integrated gradients: points between the text and the baseline. More make the gap smaller."""

    def check(self) -> None:
        """Checks the number."""
        if not 1 <= self.steps <= _MAX_STEPS:
            raise UserError(f"--steps {self.steps}: it must be from 1 to {_MAX_STEPS}")
        super().check()

    def look_at(self, model):
        """Returns the figure of one model, and how far the methods agree."""
        from pipelines.inspect import explained, salience

        found = explained.explain(model, self.text, explained.Wanted(self.token, self.label, self.word))
        return salience.look(model.title, found, self.steps)
