"""The inspections of language models that measure: agreement, memory, gradients. They import nothing heavy."""

import dataclasses
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.inspect.view import ModelsView
from pipelines.settings.fields import PATH
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted

_EXAMPLE = "the flights the airline operated"
_NUM_CLASSES = 25  # of the probes: the most frequent tokens; more take minutes
_MAX_TOKENS = 20_000  # of a text, for probes and gradients
SUBJECT_DISTANCES = (8, 12, 16, 20, 24)  # between subject and verb, in the sentences of `inspect memory --grammar`
_SUBJECT_SENTENCES = 200  # of each distance


@dataclasses.dataclass(frozen=True, kw_only=True)
class LanguageView(ModelsView):
    """An inspection of language models."""

    def found(self) -> list:
        """Returns the models, loaded.

        Raises:
            UserError: one is no language model.
        """
        found = super().found()
        for model in found:
            if model.entry.explains != "next token":
                raise UserError(f"{model.title} is no language model: `inspect {self.NAME}` needs one")
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agreement(LanguageView):
    """Whether a language model gives the verb the number of its subject: word by word, and by distance."""

    NAME: ClassVar[str] = "agreement"

    text: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="TEXT")]] = _EXAMPLE
    """The beginning of a sentence, up to the word before the verb."""
    candidates: Annotated[tuple[str, ...], tyro.conf.arg(metavar="WORD ...")] = ("was", "were")
    """Words whose probabilities are shown."""
    treebank: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="PATH ...")] = ()
    """Files of a treebank of Universal Dependencies (.conllu): measure the accuracy on its pairs of subject and
    verb."""
    grammar: bool = False
    """Measure the accuracy on sentences of the embedded grammar, whose training text `benchmarks/inside.py` writes. A
    recurrent model of documents reads three other sentences first, as in training."""

    def check(self) -> None:
        """Checks the text and the file."""
        if not self.text.split() or not self.candidates:
            raise UserError("give a text of at least one word, and at least one word with --candidates")
        for path in self.treebank:
            if not path.is_file():
                raise UserError(f"--treebank {path}: no such file")
        super().check()

    def look(self):
        """Returns the figures, and lines with the accuracies."""
        import pandas as pd

        from pipelines.inspect import agreement, curves

        models, words, notes, frames = self.found(), self.text.split(), [], []
        for model in models:
            score = agreement.score_function(model.signatures, _before(model) if self.grammar else None)
            rows = agreement.word_by_word(score, self.text, self.candidates, model.tokenizer)
            melted = rows.reset_index(names="position").melt(
                ["position", "word"], list(self.candidates), "candidate", "probability"
            )
            frames.append(melted.assign(model=model.title))
            last = rows.iloc[-1]
            best = max(self.candidates, key=lambda word: last[word])
            values = ", ".join(f"P({word}) = {last[word]:.3g}" for word in self.candidates)
            notes.append(f"{model.title}: after {words[-1]!r} {values}: {best} is the most likely of these")
        figures = [curves.word_by_word(pd.concat(frames, ignore_index=True), words, list(self.candidates))]
        for source, sentences in self._sentences(models[0].tokenizer):
            drawn, lines = _accuracies(models, sentences, source)
            figures += drawn
            notes += lines
        return figures, notes

    def _sentences(self, tokenizer: str):
        if self.grammar:
            from pipelines.inspect.sentences import test_sentences

            yield "sentences of the grammar", test_sentences(100, seed=1)
        if self.treebank:
            from pipelines.inspect.treebank import pairs_from_conllu

            pairs = pairs_from_conllu(self.treebank, spaced=tokenizer == "word")
            yield f"pairs of {' and '.join(path.name for path in self.treebank)}", pairs


def _before(model):
    """Returns the tokens of three sentences of the grammar, for recurrent models that read many in training."""
    from pipelines.inspect.agreement import documents_before
    from pipelines.inspect.sentences import training_text

    if model.card.get("config", {}).get("documents") != "line" or model.kind == "transformer":
        return None
    return documents_before(model.signatures, training_text(3, seed=4).splitlines())


def _accuracies(models: list, sentences: list, source: str) -> tuple[list, list[str]]:
    """Returns the figures by distance and by attractors, and a line for each model."""
    import pandas as pd

    from pipelines.inspect import agreement, curves

    is_grammar = "grammar" in source
    measured, notes = {}, []
    for model in models:
        asked = agreement.with_known_verbs(model.signatures, sentences) if model.tokenizer == "word" else sentences
        if not asked:
            raise UserError(f"{model.title} knows no verb of the {source}: give a model of the same language")
        score = agreement.score_function(model.signatures, _before(model) if is_grammar else None)
        results = agreement.agreement(score, asked, model.tokenizer)
        decided = results[~results["tied"]]
        notes.append(f"{model.title}: right for {decided['correct'].mean():.3f} of {len(decided):,} {source}")
        measured[model.title] = results
    fewest = min(measured.values(), key=len)  # a model is not asked for verbs that it does not know
    figures = []
    for by, bins in (("distance", agreement.DISTANCE_BINS), ("attractors", range(fewest["attractors"].max() + 1))):
        groups = agreement.large_bins(fewest[by], bins)
        tables = [agreement.accuracy(results, by, groups).assign(model=title) for title, results in measured.items()]
        figures.append(curves.accuracy(pd.concat(tables, ignore_index=True), by, source))
    name = "grammar" if is_grammar else "treebank"
    return [dataclasses.replace(each, name=f"{each.name}-{name}") for each in figures], notes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Memory(LanguageView):
    """What the states still know: linear probes for the token, or the number of the subject, k steps ago."""

    NAME: ClassVar[str] = "memory"

    data: Annotated[Path | None, PATH] = None
    """Text file to read. By default the embedded sample."""
    back: Annotated[tuple[int, ...], tyro.conf.arg(metavar="K ...")] = (1, 2, 4, 8, 16)
    """How many steps back."""
    grammar: bool = False
    """Ask for the number of the subject, k words after it, in test sentences of the embedded grammar; also of each
    block of a transformer. For models of words, such as those of `benchmarks/inside.py`."""
    tokens: int = 3000
    """Number of tokens to read. The probes tell the 25 most frequent ones apart, so compare models with the same tokens
    alone."""

    def check(self) -> None:
        """Checks the file and the numbers."""
        if self.data is not None and not self.data.is_file():
            raise UserError(f"--data {self.data}: no such file")
        if self.data is not None and self.grammar:
            raise UserError("--data has no effect with --grammar: leave one of them out")
        if self.grammar and self.back and max(self.back) > SUBJECT_DISTANCES[-1]:
            raise UserError(f"--back: with --grammar, give steps from 1 to {SUBJECT_DISTANCES[-1]}")
        if not self.back or not all(1 <= k <= 200 for k in self.back):
            raise UserError("--back: give steps from 1 to 200")
        if not 500 <= self.tokens <= _MAX_TOKENS:
            raise UserError(f"--tokens {self.tokens}: it must be from 500 to {_MAX_TOKENS}")
        super().check()

    def look(self):
        """Returns the figure, and the memory of each state in steps."""
        import pandas as pd

        from pipelines.export.network import load_network
        from pipelines.inspect import curves, memory, weights

        frames, notes = [], []
        for model in self.found():
            config, network = load_network(model.exported, model.loaded)
            if not self.grammar:
                weights.require_recurrent(config, model.title)
            random = weights.untrained_network(config, network.output_shape[-1])
            probes = self._of_subject(model, config) if self.grammar else self._of_tokens(model)
            for kind, each in (("trained", network), ("random", random)):
                for state, table in probes(each):
                    frames.append(table.assign(model=model.title, state=state, weights=kind))
                    steps = counted(memory.memory_steps(table), "step")
                    notes.append(f"{model.title}, {state.replace('_', ' ')}, {kind} weights: memory of {steps}")
        return [curves.memory(pd.concat(frames, ignore_index=True), of_subject=self.grammar)], notes

    def _of_tokens(self, model):
        """Returns the function network -> (state, table) of the probes for tokens."""
        from pipelines.inspect import memory
        from pipelines.inspect.reference import read_ids, states_of

        ids = read_ids(model, self.data, self.tokens)

        def probes(network):
            for state, values in states_of(network, ids).items():
                yield state, memory.earlier_tokens(values, ids, sorted(self.back), num_tokens=_NUM_CLASSES)

        return probes

    def _of_subject(self, model, config):
        """Returns the function network -> (state, table) of the probes for the number of the subject."""
        from pipelines.inspect import memory, sentences
        from pipelines.inspect.reference import states_after_prefixes

        tests = sentences.test_sentences(_SUBJECT_SENTENCES, seed=2, distances=SUBJECT_DISTANCES)
        before = _before(model)

        def probes(network):
            for state, values in states_after_prefixes(model, config, network, tests, before).items():
                yield state, memory.number_of_subject(values, tests, sorted(self.back))

        return probes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gradients(LanguageView):
    """How much of the gradient of a loss reaches the states of earlier tokens."""

    NAME: ClassVar[str] = "gradients"

    data: Annotated[Path | None, PATH] = None
    """Text file to read. By default the embedded sample."""
    window: int = 64
    """Number of tokens between the first state and the loss."""
    places: int = 200
    """Number of places of the text."""
    untrained: bool = False
    """Show each network with random weights, too."""
    forget_bias: Annotated[tuple[float, ...], tyro.conf.arg(metavar="X ...")] = ()
    """LSTMs: show them with random weights and these biases of the forget gate, too, such as 0 1 3 5."""

    def check(self) -> None:
        """Checks the file and the numbers."""
        if self.data is not None and not self.data.is_file():
            raise UserError(f"--data {self.data}: no such file")
        if not 4 <= self.window <= 1000:
            raise UserError(f"--window {self.window}: it must be from 4 to 1000")
        if not 1 <= self.places <= 2000:
            raise UserError(f"--places {self.places}: it must be from 1 to 2000")
        super().check()

    def look(self):
        """Returns the figure, and a line for each state."""
        import pandas as pd

        from pipelines.export.network import load_network
        from pipelines.inspect import curves, gradients, weights
        from pipelines.inspect.reference import read_ids

        frames, steps, found = [], [], self.found()
        if self.forget_bias and not any(model.kind in weights.WITH_FORGET_GATE for model in found):
            raise UserError("--forget-bias: none of the models has a forget gate: give an lstm or peephole")
        for model in found:
            config, network = load_network(model.exported, model.loaded)
            weights.require_recurrent(config, model.title)
            windows = gradients.places(read_ids(model, self.data, _MAX_TOKENS), self.window, self.places)
            vocabulary_size = network.output_shape[-1]
            networks = {model.title: network}
            if self.untrained:
                networks[f"{model.title}, untrained"] = weights.untrained_network(config, vocabulary_size)
            for bias in self.forget_bias if config.model in weights.WITH_FORGET_GATE else ():
                name = f"{model.title}, untrained, forget bias {bias:g}"
                networks[name] = weights.untrained_network(config, vocabulary_size, forget_bias=bias)
            for name, each in networks.items():
                table = gradients.by_distance(gradients.gradient_norms(config, each, windows)).assign(model=name)
                frames.append(table)
                for state, group in table.groupby("state", sort=False):
                    lost = gradients.steps_per_loss(group["median"].to_numpy())
                    steps.append({"model": name, "state": state, "steps": lost})
        notes = [
            f"{row['model']}, {row['state'].replace('_', ' ')}: {curves.steps_text(row['steps'])}" for row in steps
        ]
        return [curves.gradients(pd.concat(frames, ignore_index=True), pd.DataFrame(steps))], notes
