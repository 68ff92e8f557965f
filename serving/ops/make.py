"""Lists the ops of a TF Serving version: `<version>.json` in this folder, op -> names of its attributes.

The server contains TensorFlow of its own version and tensorflow_text's ops of another version (2.18.0 to 2.19.1 link
text 2.12.1, 2.20.0 links 2.20.0). So the two lists may have to come from two environments:

    python make.py tensorflow > core.json     in an environment with that TensorFlow
    python make.py text > text.json           in an environment with that tensorflow_text and its TensorFlow
    python make.py merge core.json text.json > 2.19.1.json
"""

import json
import sys


def main(command: str, *files: str) -> None:
    """Runs one of the commands of the module's docstring."""
    if command == "merge":
        print(json.dumps(merge(files), sort_keys=True, separators=(",", ":")))
        return
    import tensorflow  # noqa: F401

    ops = registered_ops()
    if command == "text":
        import tensorflow_text  # noqa: F401

        ops = {name: attributes for name, attributes in registered_ops().items() if name not in ops}
    print(json.dumps(ops, sort_keys=True))


def merge(files: tuple[str, ...]) -> dict[str, list[str]]:
    """The ops of all files; of an op that is in several, the attributes of the last file."""
    ops: dict[str, list[str]] = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            ops |= json.load(file)
    return ops


def registered_ops() -> dict[str, list[str]]:
    """Op -> names of its attributes, for all ops registered in this process."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return {op.name: sorted(attribute.name for attribute in op.attr) for op in ops.op}


if __name__ == "__main__":
    main(*sys.argv[1:])
