"""The command `check`: checks whether TF Serving can load a SavedModel, or whether a server answers as it does."""

import dataclasses
import re
import sys
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import SAVED_MODELS, SavedModelsFlag, print_json
from pipelines.export.exported import version_of
from pipelines.runs import inventory
from pipelines.settings.fields import NAME, PATH
from pipelines.support.errors import UserError

_VERSION = "2.20.0"


@dataclasses.dataclass(frozen=True)
class Check:
    """Check whether TF Serving can load a SavedModel, or whether a running server answers as the SavedModel does."""

    examples: ClassVar = ("saved_models/sentiment/1", "sentiment --server localhost:8500")

    export: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="EXPORT")]]
    """Folder of a version, such as saved_models/sentiment/1; or name/version, or a name, of which the newest version is
    taken."""
    server: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """Send the requests that are stored with the export to a running server, tensorflow/serving or `serve`, and compare
    its answers with those of the export: host:port for gRPC, http://host:port for REST; with TLS grpcs://host:port and
    https://host:port. Exits with status 1 if one differs."""
    ca_file: Annotated[Path | None, PATH] = None
    """PEM file of the certificates that --server may have, instead of the certificates that the system trusts."""
    name: Annotated[str | None, NAME] = None
    """With --server: name of the model on the server. By default that of the export."""
    serving_version: Annotated[str | None, tyro.conf.arg(metavar="VERSION", help_behavior_hint="(default: 2.20.0)")] = (
        None
    )
    """Version of TF Serving that is to load it: 2.19.1 or 2.20.0."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the findings as one JSON object."""

    def __call__(self) -> None:
        """Checks the SavedModel or the server, and prints the findings."""
        from pipelines.support.quiet import import_tensorflow

        if self.server is not None and re.fullmatch(r"[0-9.]+", self.server):
            raise UserError(
                f"--server {self.server}: it is the address of a running server, such as localhost:8500; "
                f"--serving-version {self.server} checks for a version of TF Serving"
            )
        if self.server is None and (self.ca_file or self.name):
            raise UserError(f"{'--ca-file' if self.ca_file else '--name'} has no effect without --server")
        if self.server is not None and self.serving_version:
            raise UserError("--serving-version has no effect with --server, which is asked itself: leave it out")
        import_tensorflow()
        folder = self._folder()
        self._ask_server(folder, self.server) if self.server else self._check(folder)

    def _folder(self) -> Path:
        """Returns the folder of the version; if it is none, what was given."""
        found = inventory.find_exports(self.saved_models, self.export)
        if found and not (Path(self.export) / "saved_model.pb").exists():
            return found[-1].path
        return Path(self.export)

    def _check(self, folder: Path) -> None:
        from serving import check

        version = self.serving_version or _VERSION
        if version not in check.SERVER_VERSIONS:
            known = ", ".join(check.SERVER_VERSIONS)
            raise UserError(f"--serving-version {version}: the ops of this version are unknown; known are {known}")
        try:
            findings = check.check(folder, version)
        except ValueError as error:
            raise UserError(str(error)) from error
        problems = self._print(findings, {"path": str(folder), "serving_version": version})
        if problems:
            first = problems[0]
            raise UserError(f"TF Serving {version} cannot serve {folder}: {first.check}: {first.problem}")

    def _ask_server(self, folder: Path, server: str) -> None:
        from pipelines.export.verify import TOLERANCE
        from pipelines.support.quiet import capture_stderr_descriptor
        from serving import client, golden

        if self.ca_file and not self.ca_file.is_file():
            raise UserError(f"no such file: {self.ca_file}")
        version = version_of(folder.resolve())
        model = self.name or folder.resolve().parent.name
        if not (folder / "saved_model.pb").is_file():
            raise UserError(f"{folder} contains no saved_model.pb: give an export, such as saved_models/sentiment/1")
        try:
            with capture_stderr_descriptor():  # TensorFlow may print lines about oneDNN
                findings = list(golden.compare(folder, client.Address(server, self.ca_file), model, version, TOLERANCE))
        except ValueError as error:
            raise UserError(str(error)) from error
        except client.Unanswered as error:
            raise UserError(f"--server {server}: {error}") from error
        problems = self._print(findings, {"path": str(folder), "server": server, "model": model, "version": version})
        if problems:
            sys.exit(1)

    def _print(self, findings: list, about: dict) -> list:
        """Prints the findings, and returns those with problems."""
        problems = [finding for finding in findings if finding.problem]
        if self.json:
            listed = [dataclasses.asdict(finding) for finding in findings]
            print_json(about | {"ok": not problems, "findings": listed})
        else:
            for finding in findings:
                print(f"wrong {finding.check}: {finding.problem}" if finding.problem else f"ok    {finding.check}")
        sys.stdout.flush()
        return problems
