"""Will a version of TF Serving take this SavedModel? What is wrong with it, each thing by its name."""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

from serving import replay

SERVERS = sorted((path.stem for path in (Path(__file__).parent / "ops").glob("*.json")), key=lambda v: tuple(map(int, v.split("."))))
_PREDICT = "tensorflow/serving/predict"
_INNER = re.compile(rb"(?<![\w.:/])/(?:home|root|Users|tmp|var|mnt|work|opt|private)/[\w./-]+")


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that was looked at: what, and what is wrong with it ("" if nothing is)."""

    what: str
    wrong: str = ""


def check(folder: Path, server: str = SERVERS[-1]) -> list[Finding]:
    """
    Args:
        folder: of a version.
        server: one of SERVERS.

    Raises:
        ValueError: the folder holds no SavedModel that can be parsed.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    try:
        model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    except OSError as error:
        raise ValueError(f"{folder} holds no saved_model.pb: give a version's folder, such as saved_models/sentiment/1") from error
    except Exception as error:
        raise ValueError(f"{folder / 'saved_model.pb'} cannot be read: {error}") from error
    graphs = [graph for graph in model.meta_graphs if "serve" in graph.meta_info_def.tags]
    if not graphs:
        return [Finding("a graph for serving", 'there is none with the tag "serve"')]
    return [*_ops(graphs[0].graph_def, server), *_signatures(graphs[0]), *_paths(folder), *_replayed(folder)]


def nodes(graph):
    """All nodes of a graph and of its functions."""
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _ops(graph, server: str) -> list[Finding]:
    with open(Path(__file__).parent / "ops" / f"{server}.json", encoding="utf-8") as file:
        known = json.load(file)
    functions = {function.signature.name for function in graph.library.function}
    unknown, attributes, xla = set(), set(), set()
    for node in nodes(graph):
        if node.op.startswith("Xla") or node.attr["_XlaMustCompile"].b:
            xla.add(node.op)
        if node.op not in known:
            unknown.update({node.op} - functions)
        else:
            attributes.update(f"{node.op}.{name}" for name in node.attr if not name.startswith("_") and name not in known[node.op])
    return [
        Finding(f"ops of TF Serving {server}", _list("it lacks", unknown)),
        Finding("attributes of these ops", _list("it lacks", attributes)),
        Finding("nothing needs XLA, which TF Serving turns off", _list("these do:", xla)),
    ]


def _signatures(graph) -> list[Finding]:
    findings = []
    if "serving_default" not in graph.signature_def:
        findings.append(Finding("signature serving_default", "there is none: requests that name no signature have no answer"))
    for name, definition in sorted(graph.signature_def.items()):
        if name.startswith("__saved_model"):
            continue
        wrong = []
        if definition.method_name != _PREDICT:
            wrong.append(f"its method is {definition.method_name!r}, not {_PREDICT}")
        if not definition.inputs or not definition.outputs:
            wrong.append("it has no inputs or no outputs")
        for kind, tensors in (("input", definition.inputs), ("output", definition.outputs)):
            for key, info in tensors.items():
                shape = info.tensor_shape
                if not shape.unknown_rank and (not shape.dim or shape.dim[0].size != -1):
                    wrong.append(f"{kind} {key} has no free batch axis, which REST's row form needs")
        findings.append(Finding(f"signature {name}", "; ".join(wrong)))
    return findings


def _paths(folder: Path) -> list[Finding]:
    found = {match.decode() for match in _INNER.findall((folder / "saved_model.pb").read_bytes())}
    return [Finding("no path of another machine inside", _list("there is", found))]


def _replayed(folder: Path) -> list[Finding]:
    """Loads the model in a process of its own, XLA disabled, and answers the requests it came with."""
    process = subprocess.run([sys.executable, "-I", replay.__file__, str(folder)], capture_output=True, text=True)
    if process.returncode:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        return [Finding("warm-up requests, with XLA disabled", lines[-1] if lines else f"the process ended with {process.returncode}")]
    return [Finding(f"{process.stdout.strip()} warm-up requests, with XLA disabled")]


def _list(what: str, names: set[str]) -> str:
    return f"{what} {', '.join(sorted(names))}" if names else ""
