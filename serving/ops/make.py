"""Lists the ops of a TF Serving version: `<version>.json` beside this file, op -> names of its attributes.

The server is TensorFlow of its own version with tensorflow_text's ops of another (2.18.0 to 2.19.1 link text 2.12.1, 2.20.0 links
2.20.0), so the two may have to come from different environments:

    python make.py tensorflow > core.json     where that TensorFlow is installed
    python make.py text > text.json           where that tensorflow_text is installed, with the TensorFlow that it needs
    python make.py merge core.json text.json > 2.19.1.json
"""

import json
import sys


def main(what: str, *files: str) -> None:
    if what == "merge":
        ops = {}
        for path in files:
            with open(path, encoding="utf-8") as file:
                ops |= json.load(file)
        print(json.dumps(ops, sort_keys=True, separators=(",", ":")))
        return
    import tensorflow  # noqa: F401

    ops = registered()
    if what == "text":
        import tensorflow_text  # noqa: F401

        ops = {name: attributes for name, attributes in registered().items() if name not in ops}
    print(json.dumps(ops, sort_keys=True))


def registered() -> dict[str, list[str]]:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return {op.name: sorted(attribute.name for attribute in op.attr) for op in ops.op}


if __name__ == "__main__":
    main(*sys.argv[1:])
