"""`train encoder`."""

import dataclasses

from pipelines.command_line import TrainCommand, print_json
from pipelines.encoder.config import EncoderConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Pretrain a text encoder on texts without labels, or make one from word vectors.

    The export has TF Hub's interface: `train transfer` fine-tunes it. The same command resumes an interrupted run.
    """

    config: EncoderConfig = EncoderConfig()

    def __call__(self) -> None:
        """Trains and prints the summary."""
        config = self.config.resolve()
        if config.vectors:
            config.check()
            self._export_word_vectors(config)
        else:
            self.train(config)

    def _export_word_vectors(self, config: EncoderConfig) -> None:
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        from pipelines.encoder import word_vectors

        name = self.name or "vectors"
        result = word_vectors.export(config.vectors, self.saved_models, name, config.max_tokens, config.max_bytes)
        if self.json:
            print_json(result)
        else:
            print(f"{result['words']:,} words, vectors of {result['size']} numbers: {result['export']}")
