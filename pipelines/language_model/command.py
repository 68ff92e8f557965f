"""`train|evaluate|predict language-model` and `char-lm`."""

import dataclasses
from typing import Annotated

import tyro

from pipelines.command_line import ModelFlags, ServedModelFlags, TrainCommand, print_error, print_json
from pipelines.config import PATHS
from pipelines.data import paths
from pipelines.data.paths import Data
from pipelines.decoding.options import SAMPLING, flags_class
from pipelines.language_model.config import LanguageModelConfig

GenerationFlags = flags_class("GenerationFlags", SAMPLING)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Train a language model, measure it, and export it. The same command resumes an interrupted run."""

    config: LanguageModelConfig = LanguageModelConfig()

    def __call__(self) -> None:
        """Trains and prints the summary."""
        self.train(self.config.resolve())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure an exported language model on a text."""

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    data: Annotated[Data | None, PATHS] = None
    """Text to measure on: files, or tiny-shakespeare. By default the embedded sample, for a model that was trained on
    it."""
    json: bool = False
    """Print the measures as one JSON object."""
    model: ModelFlags = ModelFlags()

    def __call__(self) -> None:
        """Measures the model and prints the measures."""
        from pipelines.language_model.evaluate import evaluate, format_measures

        measures = evaluate(self.model.find(self.task), paths.expanded(self.data))
        print_json(measures) if self.json else print(format_measures(measures))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict:
    """Continue texts with an exported language model."""

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    texts: tyro.conf.Positional[tuple[str, ...]] = ("",)
    """Prompts, each in quotes. Without any, the model starts a text."""
    json: bool = False
    """Print one JSON object."""
    generation: GenerationFlags = GenerationFlags()
    model: ServedModelFlags = ServedModelFlags()

    def __call__(self) -> None:
        """Continues the texts and prints them."""
        from pipelines.language_model.predict import continue_texts, continue_texts_on_server

        prompts, given = list(self.texts), vars(self.generation)
        if self.model.server:
            title = self.model.name or self.task
            results = continue_texts_on_server(self.model, title, prompts, given)
        else:
            exported = self.model.find(self.task)
            title = exported.title
            results = continue_texts(exported, prompts, given)
        if self.json:
            print_json({"model": title, "predictions": results})
            return
        for result in results:
            if "note" in result:
                print_error(result["note"])
            print(result["prompt"] + result["text"])
