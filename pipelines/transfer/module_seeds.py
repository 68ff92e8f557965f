"""Seeds for the random operations of a foreign module, such as its dropout, so that a run can be repeated.

The random operations of a TF Hub module keep their state in the running process (`RandomUniform`), and most have no
seed. Their random numbers then differ in every process, and TensorFlow's deterministic mode refuses them.
"""

from collections.abc import Iterator
from pathlib import Path

from tensorflow.core.protobuf import saved_model_pb2

_RANDOM_OPS = (
    "RandomUniform",
    "RandomStandardNormal",
    "TruncatedNormal",
    "RandomUniformInt",
    "RandomShuffle",
    "Multinomial",
)


def has_random_ops(folder: Path) -> bool:
    """Whether a SavedModel has operations whose random numbers depend on how often they ran in this process."""
    model = _read(folder)
    return model is None or any(True for _ in _random_nodes(model))


def set_seeds(folder: Path, seed: int) -> None:
    """Gives each random operation of a SavedModel that has no seed one of its own, in the file itself."""
    model = _read(folder)
    if model is None:
        return
    for i, node in enumerate(_random_nodes(model)):
        if not node.attr["seed"].i and not node.attr["seed2"].i:
            node.attr["seed"].i, node.attr["seed2"].i = seed, i + 1
    (folder / "saved_model.pb").write_bytes(model.SerializeToString(deterministic=True))


def _read(folder: Path) -> saved_model_pb2.SavedModel | None:
    """The SavedModel, or None if it is written as text (saved_model.pbtxt): its random operations stay as they are."""
    if not (folder / "saved_model.pb").exists():
        return None
    return saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())


def _random_nodes(model: saved_model_pb2.SavedModel) -> Iterator:
    for meta_graph in model.meta_graphs:
        graph = meta_graph.graph_def
        for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
            yield from (node for node in nodes if node.op in _RANDOM_OPS)
