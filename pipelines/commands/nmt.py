"""`train|evaluate|predict nmt`."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.commands.common import SAVED_MODELS, NameFlag, PathFlag, SavedModels, ServerFlag, Training, ask, print_json, tell
from pipelines.configs import base
from pipelines.configs.nmt import DEFAULT_MODELS, PRESETS, NmtConfig
from pipelines.errors import UserError

_AS_TRAINED = f"(default: as trained; with --server, if any of these is given, {NmtConfig.beam_width} and {NmtConfig.length_penalty})"
Pair = Annotated[str | None, tyro.conf.arg(metavar="FROM-TO")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(Training):
    """Train a translator, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: NmtConfig
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default nmt and the pair, such as nmt-en-de (nmt-en-es-sample for the embedded sample)."""

    def __call__(self) -> None:
        from pipelines.data import pairs

        config = base.resolved(self.config, PRESETS, DEFAULT_MODELS)
        pair = pairs.language_pair(config.data, config.target, config.pair)
        name = self.name or (f"nmt-{pair}" if pair else "nmt")
        self.train("nmt", config, "nmt_report", name)


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure an exported translator with BLEU, chrF and TER."""

    data: Annotated[str | None, PathFlag] = None
    """Sentences and their translations, as for train (of a source with parts, the test set, or else the validation set). A model of
    the embedded sample needs none: it is measured on fresh ones."""
    target: Annotated[str | None, PathFlag] = None
    """The translations of --data, line for line."""
    split: Annotated[str | None, NameFlag] = None
    """The files of a folder or corpus to take, such as test_2016_flickr or val."""
    output: Annotated[Path | None, PathFlag] = None
    """Write the translations to this file, a line for each pair that is measured."""
    pair: Pair = None
    """The two languages, such as en-de. By default the model's."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default nmt and the pair; without --pair, the one there is."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the measures as one JSON object."""

    def __call__(self) -> None:
        from pipelines import models, nmt_answers

        exported = models.find(self.saved_models, models.translator(self.saved_models, self.pair, self.name), self.name, self.version)
        tell(f"model {exported.title}")
        measures = nmt_answers.evaluate(exported, self.data, self.target, self.pair, self.split, self.output)
        print_json(measures) if self.json else print(nmt_answers.table(measures))


@dataclasses.dataclass(frozen=True)
class Predict:
    """Translate with an exported translator."""

    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    """The sentences, each in quotes."""
    input: Annotated[str | None, PathFlag] = None
    """Translate the lines of a file instead; - for stdin."""
    output: Annotated[Path | None, PathFlag] = None
    """With --input: the file to write, line for line. By default stdout."""
    beam_width: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=_AS_TRAINED)] = None
    """Hypotheses kept, from 1 (greedy) to 16."""
    length_penalty: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint=_AS_TRAINED)] = None
    """The higher, the longer the translations."""
    max_length: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: by the source's length)")] = None
    """Pieces of a translation at most."""
    best: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Show so many translations of each sentence, with their scores."""
    attention: Annotated[Path | None, PathFlag] = None
    """Draw where the model looked to this .png file (of the first sentence)."""
    each_head: bool = False
    """With --attention: a picture for each head of a transformer rather than their mean."""
    pair: Pair = None
    """The two languages, such as en-de, where there are models of several."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default nmt and the pair; without --pair, the one there is."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    server: ServerFlag = None
    """Ask a server rather than load the model: host:port for gRPC, http://host:port for REST."""
    json: bool = False
    """Print one JSON object; with --input its counts (which needs --output)."""

    def __call__(self) -> None:
        from pipelines import models, nmt_answers

        if bool(self.texts) == bool(self.input):
            raise UserError('give sentences to translate: either "in quotes" or in a file with --input')
        if self.input and (self.attention or self.best > 1):
            raise UserError(f'--{"attention" if self.attention else "best"} is for sentences "in quotes": leave out --input')
        if self.json and self.input and not self.output:
            raise UserError("--json with --input needs --output: the JSON object on stdout holds the counts alone")
        if self.output and not self.input:
            raise UserError("--output is for --input: the translations of sentences in quotes are printed")
        knobs = {"beam_width": self.beam_width, "length_penalty": self.length_penalty, "max_length": self.max_length}
        if self.server:
            self._ask(knobs)
            return
        exported = models.find(self.saved_models, models.translator(self.saved_models, self.pair, self.name), self.name, self.version)
        if self.attention:
            nmt_answers.check_picture(exported, self.attention, knobs, self.best)
        tell(f"model {exported.title}")
        if self.input:
            counts = nmt_answers.translate_file(exported, self.input, self.output, knobs)
            if self.json:
                print_json({"model": exported.title, **counts})
            else:
                tell(", ".join(f"{n:,} {name}" for name, n in counts.items() if n))
            return
        results = nmt_answers.translate_texts(exported, list(self.texts), knobs, self.best)
        if self.attention:
            nmt_answers.draw_attention(exported, self.texts[0], self.attention, self.each_head)
            tell(f"attention drawn to {self.attention}")
        self._print(exported.title, results)

    def _ask(self, knobs: dict) -> None:
        from pipelines import nmt_answers

        for flag in ("input", "attention"):
            if getattr(self, flag):
                raise UserError(f'--server is for sentences "in quotes": leave out --{flag}')
        if not self.name and not self.pair:
            raise UserError("--server needs --pair, such as en-de, or the model's --name")
        name = self.name or f"nmt-{self.pair}"
        inputs, signature = {"text": list(self.texts)}, ""
        if self.best > 1 or any(value is not None for value in knobs.values()):
            # This signature knows no defaults, and the server does not tell those of the model.
            knobs = nmt_answers.knobs_of(vars(NmtConfig()), knobs, self.best)
            tell(f"beam width {knobs['beam_width']}, length penalty {knobs['length_penalty']}")
            inputs |= {knob: [value] * len(self.texts) for knob, value in knobs.items()}
            signature = "translate"
        self._print(name, nmt_answers.told(list(self.texts), ask(self.server, name, self.version, inputs, signature), self.best))

    def _print(self, title: str, results: list[dict]) -> None:
        if self.json:
            print_json({"model": title, "predictions": results})
            return
        for result in results:
            if "note" in result:
                tell(f"note: {result['note']}")
            if self.best == 1:
                print(result["translation"])
            for candidate in result.get("translations", []):
                print(f"{candidate['score']:8.3f}   {candidate['translation']}")
        sys.stdout.flush()
