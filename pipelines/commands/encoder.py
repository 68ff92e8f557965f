"""`train encoder`."""

import dataclasses

from pipelines.commands.common import Training, print_json
from pipelines.configs import base
from pipelines.configs.encoder import DEFAULT_MODELS, PRESETS, EncoderConfig, sized


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(Training):
    """Pretrain a text encoder on unlabelled text, or make one of word vectors, with TF Hub's interface: `train transfer` takes it."""

    config: EncoderConfig

    def __call__(self) -> None:
        config = sized(base.resolved(self.config, PRESETS, DEFAULT_MODELS))
        if config.vectors:
            base.require(config.data is None, "data", config.data, "left out, where --vectors makes the encoder")
            config.check()
            self._of_vectors()
            return
        self.train("encoder", config, "encoder_report")

    def _of_vectors(self) -> None:
        from pipelines.quiet import import_tensorflow

        import_tensorflow()
        from pipelines import vector_encoder

        result = vector_encoder.make(self.config.vectors, self.saved_models, self.name or "vectors", self.config.max_tokens, self.config.max_bytes)
        if self.json:
            print_json(result)
        else:
            print(f"{result['words']:,} words, vectors of {result['size']}: {result['export']}")
