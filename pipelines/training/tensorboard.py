"""Learning curves as event files, which TensorBoard shows."""

from pathlib import Path

import tensorflow as tf
from tensorflow.core.framework.summary_pb2 import DATA_CLASS_SCALAR, SummaryMetadata

# As `tf.summary.scalar`, which needs the package tensorboard.
_SCALAR = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"), data_class=DATA_CLASS_SCALAR)


def write(folder: Path, rows: list[dict[str, float]]) -> None:
    """Writes the last of the epochs, and the earlier ones if `folder` has none of them.

    Args:
        folder: gets the folders training and validation, so that TensorBoard draws both curves of a measure in one
            diagram.
        rows: one dict per epoch, the rows of metrics.csv.
    """
    new = rows[-1:] if folder.exists() else rows
    for part, prefix in (("training", ""), ("validation", "val_")):
        writer = tf.summary.create_file_writer(str(folder / part))
        with writer.as_default():
            for row in new:
                for name, value in _scalars(row, prefix).items():
                    tf.summary.write(name, tf.constant(value, tf.float32), row["epoch"], _SCALAR)
        writer.close()


def _scalars(row: dict[str, float], prefix: str) -> dict[str, float]:
    """Returns the measures of one part, without the prefix of their names."""
    of_part = {
        name: value for name, value in row.items() if name.startswith("val_") == bool(prefix) and name != "epoch"
    }
    return {name.removeprefix(prefix): value for name, value in of_part.items()}
