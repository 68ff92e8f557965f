"""`train|evaluate|predict char-lm`."""

import dataclasses
from typing import Annotated

import tyro

from pipelines.commands.common import SAVED_MODELS, NameFlag, PathFlag, SavedModels, ServerFlag, Training, ask, print_json, tell
from pipelines.configs import base
from pipelines.configs.char_lm import DEFAULT_MODELS, GENERATION_DEFAULTS, PRESETS, CharLmConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(Training):
    """Train a language model, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: CharLmConfig

    def __call__(self) -> None:
        config = base.resolved(self.config, PRESETS, DEFAULT_MODELS)
        self.train("char-lm", config, "lm_report")


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure an exported language model on a text."""

    data: Annotated[str | None, PathFlag] = None
    """The text: a file, or tiny-shakespeare. A model of the embedded sample needs none: it is measured on all of that."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default char-lm, else char-lm-sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the measures as one JSON object."""

    def __call__(self) -> None:
        from pipelines import lm_answers, models

        exported = models.find(self.saved_models, "char-lm", self.name, self.version)
        tell(f"model {exported.title}")
        measures = lm_answers.evaluate(exported, self.data)
        print_json(measures) if self.json else print(lm_answers.table(measures))


@dataclasses.dataclass(frozen=True)
class Predict:
    """Go on from a text with an exported language model."""

    texts: tyro.conf.Positional[tuple[str, ...]] = ("",)
    """The beginnings, each in quotes. Without any, the model begins by itself."""
    max_length: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 200)")] = None
    """Tokens to write, at most 10000."""
    temperature: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint="(default: 0.8)")] = None
    """Below 1 it writes what is likelier, above 1 what is rarer; 0 takes the likeliest token each time."""
    top_k: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 0)")] = None
    """Choose among so many tokens; 0 for all."""
    top_p: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint="(default: 0.95)")] = None
    """Choose among the fewest tokens whose probabilities reach this."""
    stop: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """End behind this text."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 1)")] = None
    """The same seed writes the same text."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default char-lm, else char-lm-sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    server: ServerFlag = None
    """Ask a server rather than load the model: host:port for gRPC, http://host:port for REST."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        from pipelines import lm_answers, models

        knobs = {name: getattr(self, name) for name in ("max_length", "temperature", "top_k", "top_p", "seed", "stop")}
        if self.server:
            title = self.name or "char-lm"
            results = self._asked(title, lm_answers.knobs_of(GENERATION_DEFAULTS, knobs))
        else:
            exported = models.find(self.saved_models, "char-lm", self.name, self.version)
            title = exported.title
            tell(f"model {title}")
            results = lm_answers.continue_texts(exported, list(self.texts), **knobs)
        if self.json:
            print_json({"model": title, "predictions": results})
            return
        for result in results:
            if "note" in result:
                tell(result["note"])
            print(result["prompt"] + result["text"])

    def _asked(self, name: str, knobs: dict) -> list[dict]:
        inputs = {"text": list(self.texts)} | {knob: [value] * len(self.texts) for knob, value in knobs.items()}
        outputs = ask(self.server, name, self.version, inputs, "generate")
        columns = zip(self.texts, outputs["text"], outputs["log_probability"], outputs["tokens"], strict=True)
        return [{"prompt": prompt, "text": text, "log_probability": round(p, 4), "tokens": n} for prompt, text, p, n in columns]
