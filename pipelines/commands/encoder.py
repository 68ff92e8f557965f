"""`train encoder`."""

import dataclasses
from typing import Annotated

from pipelines.commands.common import RUNS, SAVED_MODELS, NameFlag, Runs, SavedModels, print_json
from pipelines.configs import base
from pipelines.configs.encoder import DEFAULT_MODELS, PRESETS, EncoderConfig, sized


@dataclasses.dataclass(frozen=True)
class Train:
    """Pretrain a text encoder on unlabelled text, or make one of word vectors, with TF Hub's interface: `train transfer` takes it."""

    config: EncoderConfig
    run: Annotated[str | None, NameFlag] = None
    """Name of the run's folder. By default made from the data's name and the settings."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported encoder. By default encoder (encoder-sample for the embedded sample)."""
    runs: Runs = RUNS
    """Folder of the runs."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the result as one JSON object."""

    def __call__(self) -> None:
        if self.config.vectors:
            self._of_vectors()
            return
        from pipelines import run

        config = sized(base.resolved(self.config, PRESETS, DEFAULT_MODELS))
        result = run.train("encoder", config, run.Place(self.runs, self.saved_models, self.run, self.name))
        if self.json:
            print_json(result)
        else:
            from pipelines import encoder_report

            print(encoder_report.summary(result))

    def _of_vectors(self) -> None:
        from pipelines.quiet import import_tensorflow

        import_tensorflow()
        from pipelines import vector_encoder

        result = vector_encoder.make(self.config.vectors, self.saved_models, self.name or "vectors", self.config.max_tokens, self.config.max_bytes)
        if self.json:
            print_json(result)
        else:
            print(f"{result['words']:,} words, vectors of {result['size']}: {result['export']}")
