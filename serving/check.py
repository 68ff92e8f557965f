"""Checks whether a version of TF Serving can load a SavedModel, and names every problem."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

from serving import replay

_OPS = Path(__file__).parent / "ops"
SERVER_VERSIONS = sorted((path.stem for path in _OPS.glob("*.json")), key=lambda v: tuple(map(int, v.split("."))))
_PREDICT = "tensorflow/serving/predict"
_LOCAL_PATH = re.compile(rb"(?<![\w.:/])/(?:home|root|Users|tmp|var|mnt|work|opt|private)/[\w./-]+")


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: what was checked.
        problem: what is wrong, "" if nothing is.
    """

    check: str
    problem: str = ""


def check(folder: Path, server: str = SERVER_VERSIONS[-1]) -> list[Finding]:
    """Runs all checks on a SavedModel.

    Args:
        folder: the folder of a version.
        server: version of TF Serving, one of SERVER_VERSIONS.

    Raises:
        ValueError: the folder contains no SavedModel that can be parsed.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    path = folder / "saved_model.pb"
    try:
        model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except OSError as error:
        example = "saved_models/sentiment/1"
        raise ValueError(
            f"{folder} contains no saved_model.pb: give the folder of a version, such as {example}"
        ) from error
    except Exception as error:
        raise ValueError(f"{path} cannot be parsed: {error}") from error
    graphs = [graph for graph in model.meta_graphs if "serve" in graph.meta_info_def.tags]
    if not graphs:
        return [Finding("graph for serving", 'no graph has the tag "serve"')]
    findings = [*_check_ops(graphs[0].graph_def, server), *_check_signatures(graphs[0])]
    return [*findings, _check_paths(folder), _check_warm_up(folder)]


def _check_ops(graph, server: str) -> list[Finding]:
    known = json.loads((_OPS / f"{server}.json").read_text(encoding="utf-8"))
    functions = {function.signature.name for function in graph.library.function}
    unknown_ops: set[str] = set()
    unknown_attributes: set[str] = set()
    xla_ops: set[str] = set()
    for node in _nodes(graph):
        if node.op.startswith("Xla") or node.attr["_XlaMustCompile"].b:
            xla_ops.add(node.op)
        if node.op in known:
            public = (name for name in node.attr if not name.startswith("_"))
            unknown_attributes.update(f"{node.op}.{name}" for name in public if name not in known[node.op])
        elif node.op not in functions:
            unknown_ops.add(node.op)
    return [
        Finding(f"ops of TF Serving {server}", _join("unknown to it:", unknown_ops)),
        Finding("attributes of these ops", _join("unknown to it:", unknown_attributes)),
        Finding("no op needs XLA, which TF Serving disables", _join("these ops do:", xla_ops)),
    ]


def _nodes(graph):
    """All nodes of a graph and of its functions."""
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _check_signatures(graph) -> list[Finding]:
    findings = []
    if "serving_default" not in graph.signature_def:
        findings.append(Finding("signature serving_default", "missing: requests that name no signature fail"))
    for name, definition in sorted(graph.signature_def.items()):
        if not name.startswith("__saved_model"):
            problems = _signature_problems(definition, may_have_scalars=name != "serving_default")
            findings.append(Finding(f"signature {name}", "; ".join(problems)))
    return findings


def _signature_problems(definition, may_have_scalars: bool) -> list[str]:
    """Returns what is wrong with a signature.

    Args:
        may_have_scalars: whether an input may be one value for the whole request, which REST's columnar form takes.
    """
    problems = []
    if definition.method_name != _PREDICT:
        problems.append(f"its method is {definition.method_name!r}, not {_PREDICT}")
    if not definition.inputs or not definition.outputs:
        problems.append("it has no inputs or no outputs")
    for kind, tensors in (("input", definition.inputs), ("output", definition.outputs)):
        for key, info in tensors.items():
            shape = info.tensor_shape
            if kind == "input" and may_have_scalars and not shape.unknown_rank and not shape.dim:
                continue
            if not shape.unknown_rank and (not shape.dim or shape.dim[0].size != -1):
                problems.append(f"{kind} {key} has no batch axis of unknown size, which REST's row format needs")
    return problems


def _check_paths(folder: Path) -> Finding:
    paths = {match.decode() for match in _LOCAL_PATH.findall((folder / "saved_model.pb").read_bytes())}
    return Finding("no path of another machine in the graph", _join("found:", paths))


def _check_warm_up(folder: Path) -> Finding:
    """Loads the model in a fresh process with XLA disabled, and runs its warm-up requests there."""
    process = subprocess.run([sys.executable, "-I", replay.__file__, str(folder)], capture_output=True, text=True)
    if process.returncode:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        problem = lines[-1] if lines else f"the process ended with status {process.returncode}"
        return Finding("warm-up requests, with XLA disabled", problem)
    return Finding(f"{process.stdout.strip()} warm-up requests, with XLA disabled")


def _join(text: str, names: set[str]) -> str:
    return f"{text} {', '.join(sorted(names))}" if names else ""
