"""Finding exported models: `saved_models/<name>/<version>/`."""

import dataclasses
from pathlib import Path

from pipelines.errors import UserError
from pipelines.files import read_json

SAMPLE_SUFFIX = "-sample"
CARD = "model_card.json"


@dataclasses.dataclass(frozen=True)
class Exported:
    """One version of an exported model."""

    name: str
    version: int
    path: Path

    @property
    def title(self) -> str:
        return f"{self.name}/{self.version}"

    def card(self) -> dict:
        return read_json(self.path / CARD)


def versions(folder: Path) -> list[int]:
    """The versions in `saved_models/<name>`, lowest first; folders whose names are not numbers are none (as in TF Serving)."""
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal() and path.is_dir())


def translator(root: Path, pair: str | None, name: str | None) -> str:
    """The name of a translator without its sample's suffix: `nmt-<pair>`, and without a pair the only one there is.

    Raises:
        UserError: there are several; the message names them.
    """
    if name or pair:
        return f"nmt-{pair}" if pair else name
    there = sorted({path.name.removesuffix(SAMPLE_SUFFIX) for path in root.glob("nmt*") if versions(path)})
    real = [title for title in there if versions(root / title)]
    there = real if len(real) == 1 else there
    if len(there) > 1:
        raise UserError(f"there are several translators in {root}: choose with --pair or --name ({', '.join(there)})")
    return there[0] if there else "nmt"


def find(root: Path, pipeline: str, name: str | None = None, version: int | None = None) -> Exported:
    """The model to answer with: `version` (by default the newest) of `name` (by default the pipeline's).

    Where the pipeline's own name has no version, a sample's serves.

    Raises:
        UserError: there is none; the message says what there is, or how to make one.
    """
    names = [name] if name else [pipeline, pipeline + SAMPLE_SUFFIX]
    command = "nmt" if pipeline.startswith("nmt") else pipeline
    chosen = next((candidate for candidate in names if versions(root / candidate)), None)
    if chosen is None:
        there = sorted(path.parent.parent.name for path in root.glob(f"*/*/{CARD}") if path.parent.name.isdecimal())
        known = f"there is {', '.join(dict.fromkeys(there))}" if there else "nothing has been exported yet"
        raise UserError(f"no model {names[0]!r} in {root} ({known}): train one with `python main.py train {command}`")
    found = versions(root / chosen)
    if version is not None and version not in found:
        raise UserError(f"{chosen} has no version {version}; it has {', '.join(map(str, found))}")
    version = found[-1] if version is None else version
    return Exported(chosen, version, root / chosen / str(version))
