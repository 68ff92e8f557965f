"""Handles of pretrained encoders: a name, a URL or a folder -> the folder of a SavedModel."""

from pathlib import Path

from layers.hub_module import resolve
from pipelines.support.errors import UserError


def module_folder(handle: str) -> Path:
    """Returns the folder of the SavedModel of a handle; downloads or extracts it if necessary.

    Raises:
        UserError: it cannot be reached, or is no SavedModel.
    """
    try:
        return resolve(handle)
    except ValueError as error:
        raise UserError(f"--encoder {error}") from error
