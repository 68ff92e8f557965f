"""The inspections that need no text. They import nothing heavy."""

import dataclasses
import itertools
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import RUNS, RunsFlag
from pipelines.inspect.view import ModelsView, View, check_treebank
from pipelines.runs import inventory
from pipelines.settings.fields import PATH
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size(ModelsView):
    """Every matrix of a model, with its shape, its formula and its number of parameters."""

    NAME: ClassVar[str] = "size"

    def look_at(self, model):
        """Returns the figure of one model, and its table."""
        from pipelines.inspect import size

        variables = [(each.name, tuple(each.shape)) for each in model.variables()]
        if not variables:
            raise UserError(f"{model.title} does not name its matrices: its encoder is a module of TF Hub")
        return size.figures(model.title, variables), size.text(size.size_rows(variables))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Embeddings(ModelsView):
    """The nearest neighbours of tokens among the embeddings of a language model, or of words in context."""

    NAME: ClassVar[str] = "embeddings"

    words: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TOKEN ...")] = ()
    """Tokens to look at. By default eight frequent ones, or with --treebank three with several parts of speech."""
    neighbours: int = 8
    """Number of neighbours of each."""
    treebank: Annotated[Path | None, PATH] = None
    """Encoders and language models of words or subwords: a file with tagged sentences (.conllu). Show the vectors of
    words in its sentences beside their embeddings."""
    sentences: int = 1000
    """With --treebank: number of sentences to read."""

    def check(self) -> None:
        """Checks the file and the numbers."""
        check_treebank(self.treebank, self.sentences)
        if not 1 <= self.neighbours <= 50:
            raise UserError(f"--neighbours {self.neighbours}: it must be from 1 to 50")
        super().check()

    def look_at(self, model):
        """Returns the figure of one model, and a line for each word."""
        from pipelines.inspect import embeddings
        from pipelines.inspect.axes import shown

        if self.treebank is not None:
            return self._in_context(model)
        if "words" in model.signatures:
            raise UserError(f"{model.title} is an encoder: name a file with sentences with --treebank FILE.conllu")
        vectors, names = model.embeddings()
        # Vocabularies are ordered by frequency; the first tokens are special ones and punctuation.
        frequent = [name for name in names[4:400] if name.isalpha()]
        words = list(self.words or frequent[:8])
        for word in words:
            if word not in names:
                raise UserError(f"--words {word!r}: {model.title} does not know this token")
        rows = embeddings.nearest(vectors, names, words, self.neighbours)
        lines = [
            f"{shown(word)}: {', '.join(f'{shown(row.neighbour)} {row.cosine:.2f}' for row in group.itertuples())}"
            for word, group in rows.groupby("word", sort=False)
        ]
        return embeddings.figures(model.title, vectors, names, words, self.neighbours), lines

    def _in_context(self, model):
        """Returns the figure of the words of a treebank, and a line for each word."""
        from pipelines.inspect import contextual
        from pipelines.inspect.reference import read_tagged

        words, tags, _ = read_tagged(self.treebank, self.sentences)
        return contextual.look(model, words, tags, self.words, self.neighbours)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layers(ModelsView):
    """What each layer holds of the words of a treebank, from the word itself to its place in the sentence."""

    NAME: ClassVar[str] = "layers"
    examples: ClassVar = ("--treebank en_ewt-ud-dev.conllu --models my-encoder",)

    treebank: Annotated[Path | None, PATH] = None
    """A file with parsed sentences (.conllu)."""
    sentences: int = 500
    """Number of sentences to read."""

    def check(self) -> None:
        """Checks the file and the numbers."""
        if self.treebank is None:
            raise UserError("--treebank is missing: name a file with parsed sentences (.conllu)")
        check_treebank(self.treebank, self.sentences)
        super().check()

    def look_at(self, model):
        """Returns the figure of one model, and a line for each question."""
        from pipelines.inspect import layers, treebank

        return layers.look(model, list(itertools.islice(treebank.sentences_of(str(self.treebank)), self.sentences)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Neurons(ModelsView):
    """Units of a character model that follow quotes, line ends, capitals and so on, shown on a text."""

    NAME: ClassVar[str] = "neurons"

    data: Annotated[Path | None, PATH] = None
    """Text file to read, such as the validation text. By default the embedded sample."""

    def check(self) -> None:
        """Checks that the file exists."""
        if self.data is not None and not self.data.is_file():
            raise UserError(f"--data {self.data}: no such file")
        super().check()

    def look_at(self, model):
        """Returns the figure of one model, and a line for each feature."""
        from pipelines.inspect import neurons
        from pipelines.inspect.reference import read_pieces

        texts = read_pieces(self.data)
        traces = [each for text in texts for each in model.trace([text])]
        units = neurons.best_units(traces, texts)
        lines = [
            f"{row.feature}: unit {row.unit} of {row.layer}, {row.state}, correlation {row.correlation:.2f}"
            for row in units.itertuples()
        ]
        return neurons.figures(traces, texts), lines


@dataclasses.dataclass(frozen=True, kw_only=True)
class Clipping(View):
    """The norm of the gradient over the training of runs, beside the threshold of --clip-norm."""

    NAME: ClassVar[str] = "clipping"
    examples: ClassVar = ("--run char-lm/my-lstm-0123abcd",)

    run: Annotated[tuple[str, ...], tyro.conf.arg(metavar="RUN [RUN ...]")] = ()
    """The runs, side by side: the folder or the name of each; `list` has them. They need --keep-checkpoints when they
    are trained."""
    batches: int = 25
    """Number of batches of each run's training data, evenly spread; the same for all epochs."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""

    def check(self) -> None:
        """Checks that the runs exist."""
        if not self.run:
            raise UserError("--run is missing: name the runs whose gradients are shown; `list` has them")
        if not 1 <= self.batches <= 10_000:
            raise UserError(f"--batches {self.batches}: it must be from 1 to 10000")
        for each in self.run:
            inventory.find_run(self.runs, each)

    def look(self):
        """Returns the figure, and a line for each run."""
        import pandas as pd

        from pipelines.inspect import clipping
        from pipelines.inspect.runs import TrainedRun

        tables = []
        for each in self.run:
            run = TrainedRun(self.runs, each)
            tables.append(clipping.by_epoch(clipping.gradient_norms(run, self.batches), run.config.clip_norm))
        return clipping.figures(pd.concat(tables, ignore_index=True)), [clipping.sentence(each) for each in tables]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Positions(View):
    """The sinusoidal positional encoding, and how similar two positions are."""

    NAME: ClassVar[str] = "positions"

    length: int = 100
    """Number of positions, 4 to 1000."""
    size: int = 64
    """Number of features, an even number from 4 to 1024."""

    def check(self) -> None:
        """Checks the numbers."""
        if not 4 <= self.length <= 1000:
            raise UserError(f"--length {self.length}: it must be from 4 to 1000")
        if not 4 <= self.size <= 1024 or self.size % 2:
            raise UserError(f"--size {self.size}: it must be an even number from 4 to 1024")

    def look(self):
        """Returns the figure."""
        from pipelines.inspect import positions

        return positions.figures(self.length, self.size), []


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost(View):
    """Time and memory of a training step over the length of the text: recurrent layers and attention."""

    NAME: ClassVar[str] = "cost"

    lengths: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N ...")] = (64, 128, 256, 512, 1024, 2048)
    """Lengths of the text in tokens."""
    size: int = 128
    """Features of the inputs and units of the layer."""
    batch_size: int = 4
    """Texts per step."""

    def check(self) -> None:
        """Checks the numbers."""
        if len(set(self.lengths)) < 2 or not all(2 <= each <= 16_384 for each in self.lengths):
            raise UserError("--lengths: give two different lengths or more, each from 2 to 16384")
        if not 1 <= self.size <= 4096 or not 1 <= self.batch_size <= 1024:
            raise UserError("--size must be from 1 to 4096 and --batch-size from 1 to 1024")

    def look(self):
        """Returns the figure, and a line for each architecture."""
        from pipelines.inspect import cost

        rows = cost.measure(tuple(sorted(set(self.lengths))), self.size, self.batch_size)
        notes = [
            f"{row.architecture}: time grows with length^{row.exponent:.2f}" for row in cost.slopes(rows).itertuples()
        ]
        return cost.figures(rows, self.size, self.batch_size), notes
