"""`train`, `predict` and `prepare` for `encoder`."""

import dataclasses
import re
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import PrepareCommand, TrainCommand, print_json, subset
from pipelines.encoder.config import SIZES, EncoderConfig
from pipelines.export.exported import Exported, find_export
from pipelines.predicting.command import PredictCommand
from pipelines.runs.run_folder import check_name
from pipelines.settings.fields import NAME, PATH
from pipelines.support.errors import UserError
from pipelines.support.files import shown


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Pretrain a text encoder on texts without labels, or make one from word vectors or a checkpoint.

    The export has TF Hub's interface: `train transfer` fine-tunes it. The same command resumes an interrupted run.
    """

    config: EncoderConfig = EncoderConfig()

    def __call__(self) -> None:
        """Trains and prints the summary."""
        config = self.resolved()
        if config.vectors:
            config.check()
            self._export_word_vectors(config)
        elif config.checkpoint:
            config.check()
            self._export_checkpoint(config.checkpoint)
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

    def _export_checkpoint(self, handle: str) -> None:
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        from pipelines.pretrained import checkpoint, handles

        folder = handles.checkpoint_folder(handle)
        if folder is None:
            raise UserError(f"--checkpoint {handle} is no checkpoint: give hf://ORG/NAME, or the folder of one")
        name = self.name or re.split(r"[/@]", handle.rstrip("/"))[-1]
        exported = checkpoint.export(folder, handle, self.saved_models, check_name("model", name))
        card = exported.card()
        if self.json:
            print_json({"export": shown(exported.path), "parameters": card["parameters"], "size": card["size"]})
            return
        print(f"{card['parameters']:,} parameters, vectors of {card['size']} numbers: {shown(exported.path)}")
        print(f"try it: python main.py predict encoder --input FILE --output vectors.npy --name {name}")


_ToPrepare = subset(
    EncoderConfig,
    (*EncoderConfig.DATA_FIELDS, "valid_fraction", "max_bytes", "seed"),
    vocabulary_size=(Annotated[int, tyro.conf.arg(metavar="N")], SIZES["small"]["vocabulary_size"]),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Tokenize texts without labels that may be larger than memory."""

    config: _ToPrepare = _ToPrepare()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(PredictCommand):
    """Fill the blank of a text, compare a word in several texts, or write the vectors of texts.

    Without --near and --input, each text has one [MASK], and the most likely tokens there are printed.
    """

    examples: ClassVar = (
        "{text}",
        '--near "he sat on the river bank" "a savings bank"',
        "--input texts.csv --output vectors.npy",
    )
    suffixes: ClassVar = (".npy",)
    top: Annotated[int, tyro.conf.arg(metavar="N")] = 10
    """Number of tokens to print for a blank, at most 100."""
    models: Annotated[tuple[str, ...], NAME] = ()
    """Names of exported encoders, to fill the blank by each. A causal one reads only the text before it."""
    near: bool = False
    """Compare a word in the contexts of the texts: the cosine of its vectors, and that of its token embeddings."""
    word: Annotated[str | None, NAME] = None
    """With --near: the word. By default the last one that all texts have."""
    output: Annotated[Path | None, PATH] = None
    """With --input: .npy file to write, a row per text."""

    def __call__(self) -> None:
        """Prints the tokens or the cosines, or writes the vectors."""
        self.check()
        if self.input:
            self.predict_files()
        elif self.near:
            self._compare()
        else:
            self._fill()

    def file_steps(self, exported: Exported, suffix: str):
        """See `PredictCommand.file_steps`."""
        from pipelines.encoder.predict import file_steps

        return file_steps(self.table.options(), suffix)

    def check(self) -> None:
        """See `PredictCommand.check`."""
        super().check()
        if self.input and not self.output:
            raise UserError("--input needs --output, which names the .npy file for the vectors")
        if not 1 <= self.top <= 100:
            raise UserError(f"--top {self.top}: it must be from 1 to 100")
        if self.word and not self.near:
            raise UserError("--word has no effect without --near")
        if self.near and self.input:
            raise UserError('--near is for texts "in quotes": leave out --input')
        if self.models and (self.near or self.input or self.model.name or self.model.server):
            raise UserError(
                "--models is for blanks and exported models: leave out --near, --input, --name and --server"
            )
        if self.model.server and self.near:
            raise UserError("--server fills blanks: leave out --near")

    def _fill(self) -> None:
        from pipelines.encoder import predict

        texts = list(self.texts)
        predict.check_blanks(texts)
        if self.model.server:
            title = self.model.name or self.task
            filled = {title: predict.results_of(texts, self.model.ask(title, {"text": texts}, "fill"), self.top)}
        else:
            folder = self.model.saved_models
            each = [find_export(folder, self.task, name, None) for name in self.models] or [self.model.find(self.task)]
            filled = {exported.title: predict.fill_blanks(exported, texts, self.top) for exported in each}
        if self.json:
            print_json({"predictions": [{"model": title, "results": results} for title, results in filled.items()]})
            return
        for i, text in enumerate(texts):
            print(text)
            for title, results in filled.items():
                if self.models:
                    print(title)
                print(predict.format_candidates(results[i]["candidates"]))

    def _compare(self) -> None:
        from pipelines.encoder import predict

        exported = self.model.find(self.task)
        result = predict.compare_words(exported, list(self.texts), self.word)
        print_json({"model": exported.title, **result}) if self.json else print(predict.format_comparison(result))
