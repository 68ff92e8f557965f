"""The command `check`: checks whether TF Serving can load a SavedModel."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.command_line import print_json
from pipelines.settings import PATH
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True)
class Check:
    """Check whether TF Serving can load a SavedModel, and report every problem."""

    path: tyro.conf.Positional[Annotated[Path, PATH]]
    """Folder of a version, such as saved_models/sentiment/1."""
    server: Annotated[str, tyro.conf.arg(metavar="VERSION")] = "2.20.0"
    """Version of TF Serving: 2.19.1 or 2.20.0."""
    json: bool = False
    """Print the findings as one JSON object."""

    def __call__(self) -> None:
        """Checks the SavedModel and prints the findings."""
        from pipelines.support.quiet import import_tensorflow
        from serving import check

        if self.server not in check.SERVER_VERSIONS:
            versions = ", ".join(check.SERVER_VERSIONS)
            raise UserError(f"--server {self.server}: the ops of this version are unknown; known are {versions}")
        import_tensorflow()
        try:
            findings = check.check(self.path, self.server)
        except ValueError as error:
            raise UserError(str(error)) from error
        problems = [finding for finding in findings if finding.problem]
        if self.json:
            print_json(
                {
                    "path": str(self.path),
                    "server": self.server,
                    "ok": not problems,
                    "findings": [dataclasses.asdict(finding) for finding in findings],
                }
            )
        else:
            for finding in findings:
                print(f"wrong {finding.check}: {finding.problem}" if finding.problem else f"ok    {finding.check}")
        sys.stdout.flush()
        if problems:
            first = problems[0]
            raise UserError(f"TF Serving {self.server} cannot serve {self.path}: {first.check}: {first.problem}")
