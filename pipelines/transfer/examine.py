"""What `doctor` says about the labelled texts of a transfer. Imports no TensorFlow."""

from pipelines.labelled import findings
from pipelines.support.findings import Examined
from pipelines.transfer.config import TransferConfig


def examine(config: TransferConfig) -> Examined:
    """Reads the labelled texts and describes them.

    Raises:
        UserError: the data cannot be read at all.
    """
    return findings.examined(config)
