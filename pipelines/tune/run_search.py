"""The life of a search: its folder, its trials, the export of the best one, and the report."""

import contextlib
import dataclasses
import io
from typing import TYPE_CHECKING

from pipelines.runs import repeat, run_folder
from pipelines.settings.config import TrainingConfig
from pipelines.settings.fields import Values
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import make_folders, shown, write_json
from pipelines.support.quiet import import_tensorflow
from pipelines.support.records import read_record
from pipelines.task import TASKS
from pipelines.tune import search_report, workers
from pipelines.tune import study as studies
from pipelines.tune.search import Search, best, description
from pipelines.tune.study import Study

if TYPE_CHECKING:
    from pipelines.tune.command import TuneCommand


def run(command: "TuneCommand", space: dict[str, Values], num_trials: int) -> tuple[dict, str]:
    """Searches, exports the best run, and writes report.md and result.json in the folder of the search.

    Args:
        space: field -> values.
        num_trials: maximum number of trials.

    Returns:
        (the result for --json, the lines for the terminal).

    Raises:
        UserError: a mistake that the user can fix; or no trial has finished in the given time.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the trials have saved their checkpoints.
    """
    tried = description(space)
    study = studies.find(command.task, command.config, tried, command.runs, command.run)
    with opened(study, tried):
        search = Search(study, space, num_trials, command.seconds)
        with workers.connected(command.ray, command.parallel) as pool:
            search.run(pool)
        trials = search.tried()
        winner = best(trials)
        if winner is None:
            raise UserError(
                f"no trial of {shown(study.folder)} is finished: repeat the same command with more --minutes, and it "
                "continues"
            )
        preset = command.config.resolve()
        changed = {field: value for field, value in winner.settings.items() if value != getattr(preset, field)}
        chosen = dataclasses.replace(command.config, **changed)
        line = train_line(command, chosen)
        console.say(f"the best of {len(trials)} trials is trial {winner.number}: exporting it ...")
        result, summary = _export(command, study, winner.number, chosen)
        report = search_report.write(study, space, search, trials, line, result)
        write_json(study.result, report)
        return report, search_report.summarize(report, summary)


@contextlib.contextmanager
def opened(study: Study, tried: dict):
    """Makes the folder of a study, holds its lock, and reads the data: what is refused leaves no new folder.

    Raises:
        UserError: another process has the lock, the folder is of another study, or the data cannot be read.
    """
    resolved = studies.resolved_config(study, study.config.resolve())
    is_new = not study.folder.exists()
    splits = studies.load_splits(study.task, resolved) if is_new else None
    make_folders(study.folder)
    with run_folder.locked(study.folder):
        studies.save_or_check(study, tried)
        if is_new:
            studies.keep_splits(studies.shared_folder(study.folder, resolved), lambda: splits)
        console.say(f"{'' if is_new else 'continuing '}{shown(study.folder)}")
        yield


def _export(command: "TuneCommand", study: Study, number: int, config: TrainingConfig) -> tuple[dict, str]:
    """Makes a trial a run, and exports it as `train` does; returns (its result, the lines of `train`)."""
    folder = studies.promote(study, number, config.resolve(), command.runs)
    train = (
        TASKS[command.task]
        .command()
        .Train(
            task=command.task,
            config=config,
            name=command.name,
            runs=command.runs,
            saved_models=command.saved_models,
        )
    )
    import_tensorflow(config.parallel_ops())
    summary = io.StringIO()
    with contextlib.redirect_stdout(summary):
        train()
    return read_record(folder / "result.json", "delete it, and repeat the same command"), summary.getvalue().rstrip()


def train_line(command: "TuneCommand", config: TrainingConfig) -> str:
    """Returns the command that trains, or has trained, a config, which is not resolved."""
    return repeat.train_line(command.task, config, command.name, command.runs, command.saved_models)
