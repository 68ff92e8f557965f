"""The tokenizers of a translator: one for both languages, or one for each."""

import dataclasses
import itertools
from collections.abc import Iterable
from pathlib import Path

from pipelines.text import tokenizers
from pipelines.text.tokenizers import Tokenizer
from pipelines.translation.config import TranslationConfig

MAX_BYTES = 20_000  # of a sentence


@dataclasses.dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both languages. With a joint vocabulary they are the same object."""

    source: Tokenizer
    target: Tokenizer

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens of the target."""
        return self.target.vocabulary_size

    def save(self, folder: Path) -> None:
        """Writes to the empty `folder` what `load_tokenizer` reads."""
        tokenizers = {"joint": self.target} if self.source is self.target else vars(self)
        for name, tokenizer in tokenizers.items():
            (folder / name).mkdir()
            tokenizer.save(folder / name)


def train_tokenizers(config: TranslationConfig, source: Iterable[str], target: Iterable[str]) -> Tokenizers:
    """Trains the tokenizers on training sentences.

    Raises:
        UserError: --vocabulary-size is too small for the characters of the sentences.
    """

    def train(sentences: Iterable[str]) -> Tokenizer:
        return tokenizers.train_tokenizer("cased", sentences, config.vocabulary_size, MAX_BYTES)

    if config.joint_vocabulary:
        joint = train(itertools.chain(source, target))
        return Tokenizers(joint, joint)
    return Tokenizers(train(source), train(target))


def load_tokenizer(folder: Path) -> Tokenizers:
    """Loads what `Tokenizers.save` wrote."""
    if (folder / "joint").is_dir():
        joint = tokenizers.load_tokenizer(folder / "joint")
        return Tokenizers(joint, joint)
    return Tokenizers(*(tokenizers.load_tokenizer(folder / side) for side in ("source", "target")))
