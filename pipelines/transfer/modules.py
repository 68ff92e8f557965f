"""The pretrained modules of a run: the encoder and its preprocessor. The run keeps a copy of both."""

import contextlib
import dataclasses
import shutil
from pathlib import Path

from layers.hub_module import DictInputError, InputError
from pipelines.export.exported import difference, files_of
from pipelines.pretrained.handles import module_folder
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from pipelines.transfer import module_seeds
from pipelines.transfer.config import TransferConfig


@dataclasses.dataclass(frozen=True)
class Modules:
    """Folders of the modules. To a run, they are the tokenizer: they convert text, and their copy is part of the run.

    Attributes:
        encoder: folder of the encoder's SavedModel.
        preprocessor: folder of the SavedModel that converts strings to the encoder's inputs; None for an encoder of
            strings.
        groups: names of the encoder's groups of trainable weights, the lowest first.
        size: of the vector that the head reads; 0 before it is known.
        seed: of the modules' random operations.
        vocabulary_size: not known.
        removes_invisible: whether texts lose their invisible characters before the encoder reads them.
        run: the run's folder, where vectors of texts are kept; None before it has a copy.
    """

    encoder: Path
    preprocessor: Path | None
    groups: tuple[str, ...] = ()
    size: int = 0
    seed: int = 0
    vocabulary_size: None = None
    removes_invisible: bool = True
    run: Path | None = None

    def save(self, folder: Path) -> None:
        """Copies and seeds the modules, so that a run can be resumed where the handles cannot be reached."""
        for name in ("encoder", "preprocessor"):
            if getattr(self, name):
                shutil.copytree(getattr(self, name), folder / name)
                module_seeds.set_seeds(folder / name, self.seed)
        values = {
            "groups": self.groups,
            "size": self.size,
            "files": files_of(folder),
            "removes_invisible": self.removes_invisible,
        }
        write_record(folder / "modules.json", values)


def find_modules(config: TransferConfig) -> Modules:
    """Returns the modules of the handles, without their groups.

    Raises:
        UserError: a handle cannot be reached, or is neither a SavedModel nor a checkpoint.
    """
    preprocessor = module_folder(config.preprocessor, "--preprocessor") if config.preprocessor else None
    return Modules(module_folder(config.encoder), preprocessor, seed=config.seed)


def load_modules(folder: Path) -> Modules:
    """Returns the modules that `Modules.save` copied to `folder`.

    Raises:
        UserError: a file has changed.
    """
    remedy = "delete the run's folder to train from scratch"
    saved = read_record(folder / "modules.json", remedy)
    problem = difference(folder, saved["files"])
    if problem:
        raise UserError(f"{folder} is damaged ({problem}): {remedy}")
    preprocessor = folder / "preprocessor"
    return Modules(
        folder / "encoder",
        preprocessor if preprocessor.is_dir() else None,
        tuple(saved["groups"]),
        saved.get("size", 0),  # no record: an older run, which has no recipe that needs it
        removes_invisible=saved.get("removes_invisible", False),  # no record: an older run, which keeps them
        run=folder.parent,
    )


@contextlib.contextmanager
def module_errors(config: TransferConfig, modules: Modules):
    """Turns an error about the run's copy of the encoder into a UserError that names the handle."""
    try:
        yield
    except ValueError as error:
        cause = _input_error(error) or error
        message = str(cause).replace(str(modules.encoder), str(config.encoder))
        if isinstance(cause, DictInputError) and not modules.preprocessor:
            message += ": give --preprocessor"
        raise UserError(message) from error


def _input_error(error: BaseException) -> InputError | None:
    """The InputError that caused `error`, or None: Keras wraps the error of a layer in longer ones."""
    found = None
    inner = error
    while inner := inner.__context__:
        found = inner if isinstance(inner, InputError) else found
    return found
