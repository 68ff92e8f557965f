"""The dropout that is inside of a foreign module: seeded in a run's own copy of it, so that the run can be repeated.

A TF Hub module draws with ops whose state is in the running process (`RandomUniform`), mostly without a seed. What they draw is then
another thing in every process, and TensorFlow's deterministic mode refuses them.
"""

from pathlib import Path

from tensorflow.core.protobuf import saved_model_pb2

_OPS = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "RandomShuffle", "Multinomial")


def draws(folder: Path) -> bool:
    """Whether a SavedModel has ops whose draws depend on how often they ran in this process."""
    model = _read(folder)
    return model is None or any(True for _ in _nodes(model))


def seed(folder: Path, seed: int) -> None:
    """Gives each such op without a seed one of its own, in the SavedModel itself."""
    model = _read(folder)
    if model is None:
        return
    for i, node in enumerate(_nodes(model)):
        if not node.attr["seed"].i and not node.attr["seed2"].i:
            node.attr["seed"].i, node.attr["seed2"].i = seed, i + 1
    (folder / "saved_model.pb").write_bytes(model.SerializeToString(deterministic=True))


def _read(folder: Path):
    """None for one that is written as text (saved_model.pbtxt), whose draws stay as they are."""
    if not (folder / "saved_model.pb").exists():
        return None
    return saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())


def _nodes(model):
    for meta_graph in model.meta_graphs:
        graph = meta_graph.graph_def
        for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
            yield from (node for node in nodes if node.op in _OPS)
