"""The command `remove`: removes a run, a search or an exported model, or all that no command takes by default."""

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, print_error, print_json
from pipelines.runs import inventory, run_folder
from pipelines.support.errors import UserError, suggestion
from pipelines.support.files import shown, sync
from pipelines.support.installation import called_name
from pipelines.support.numbers import counted
from pipelines.support.temporary import temporary_folder
from pipelines.tune.inventory import all_searches


@dataclasses.dataclass(frozen=True)
class Remove:
    """Remove a run, a search of `tune`, a version of an exported model, or all its versions, after a question."""

    examples: ClassVar = ("sentiment/reviews-best-0123abcd", "--unused")

    target: tyro.conf.Positional[
        Annotated[str | None, tyro.conf.arg(metavar="RUN|SEARCH|EXPORT", help_behavior_hint="")]
    ] = None
    """Name or folder of a run (sentiment/reviews-best-0123abcd), of a search with its trials
    (tune/sentiment-reviews-4567cdef), of a version (reviews/2), or of an exported model (reviews: all its versions).
    `list` has the names."""
    unused: bool = False
    """Instead of a target: all versions of each exported model but the newest, and the finished runs that made an
    export which is then gone."""
    yes: bool = False
    """Remove without a question."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print what was removed as one JSON object. It needs --yes."""

    def __call__(self) -> None:
        """Shows what goes, asks, and removes it."""
        if self.json and not self.yes:
            raise UserError("--json needs --yes: the question would not be JSON")
        if self.unused == bool(self.target):
            raise UserError("give a run, a search or an export, or --unused")
        if self.target and Path(self.target).is_symlink():
            raise UserError(f"{self.target} is a link: remove the link itself, or name what it points to")
        runs, exports = self._unused() if self.unused else self._find(self.target)
        for root, folders in ((self.runs, runs), (self.saved_models, exports)):
            for folder in folders:
                _refuse_links(folder, root)
        folders = runs + exports
        total = sum(map(inventory.size_of, folders))
        for folder in folders:
            print_error(f"{shown(folder)}   {_files(folder)}, {inventory.size(inventory.size_of(folder))}")
        if exports and not self.unused:
            print_error("note: a server that serves it unloads it; its run stays, and can export it again")
        if folders and not self.yes and not _confirmed(f"remove {inventory.size(total)}? [y/N] "):
            print_error("nothing was removed")
            return
        for folder in runs:
            with run_folder.locked(folder):
                _remove(folder)
        for folder in exports:
            _remove(folder)
        if self.json:
            print_json({"removed": [str(folder) for folder in folders], "bytes": total})
        else:
            print(f"removed {', '.join(shown(folder) for folder in folders) or 'nothing: there is nothing unused'}")

    def _unused(self) -> tuple[list[Path], list[Path]]:
        """Returns the folders of runs and of exports to remove with --unused."""
        exports = inventory.all_exports(self.saved_models)
        newest = {exported.name: exported for exported in exports}  # they are in the order of their versions
        unused = [exported for exported in exports if exported != newest[exported.name]]
        makers = {inventory.card_of(exported).get("run") for exported in unused}
        root = self.saved_models.resolve()

        def is_unused(run: inventory.Run) -> bool:
            if run.state != "finished" or not run.result or not run.result.get("export"):
                return False
            # An export in another folder may exist where this command does not see it.
            export = Path(run.result["export"]).resolve()
            return run.record.get("run") in makers or (export.parent.parent == root and not export.exists())

        runs = [run.path for run in inventory.all_runs(self.runs) if is_unused(run)]
        return runs, [exported.path for exported in unused]

    def _find(self, target: str) -> tuple[list[Path], list[Path]]:
        """Returns the folders of runs and of exports to remove; one of both is empty."""
        runs = [*inventory.all_runs(self.runs), *all_searches(self.runs)]
        named = Path(target).resolve()
        fitting = [run for run in runs if target in (run.title, run.name) or run.path.resolve() == named]
        exports = inventory.find_exports(self.saved_models, target)
        names = [run.title for run in fitting] + sorted({exported.name for exported in exports})
        if len(names) > 1:
            raise UserError(f"{target!r} names {', '.join(names)}: give the folder of one of them")
        if not names:
            known = inventory.known_names(runs, inventory.all_exports(self.saved_models))
            raise UserError(
                f"no run, search or export {target!r} in {shown(self.runs)} and {shown(self.saved_models)}"
                f"{suggestion(target, known)} (`{called_name()} list` lists all)"
            )
        if fitting and fitting[0].state == "training":
            raise UserError(f"{fitting[0].title} is being trained by another process: stop that first")
        if fitting:
            return [fitting[0].path], []
        return [], [exported.path for exported in exports]


def _refuse_links(folder: Path, root: Path) -> None:
    """Raises a UserError if `folder`, or a folder between it and `root`, is a link."""
    for place in (folder, *folder.parents):
        if place == root:
            return
        if place.is_symlink():
            raise UserError(f"{place} is a link: remove the link itself, or name what it points to")


def _remove(folder: Path) -> None:
    """Removes a folder at once: a kill leaves it whole, or as a temporary folder that the next command removes."""
    with temporary_folder(folder.parent) as part:
        os.rename(folder, part / folder.name)
        sync(folder.parent)
    if not any(folder.parent.iterdir()):  # the last version of an export, or the last run of a task
        folder.parent.rmdir()


def _files(folder: Path) -> str:
    return counted(sum(len(names) for _, _, names in os.walk(folder)), "file")


def _confirmed(question: str) -> bool:
    print(question, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        print_error("")
        raise UserError("there is no one to ask: give --yes")
    return answer.strip().lower() in ("y", "yes")
