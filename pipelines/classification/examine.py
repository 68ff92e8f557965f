"""What `doctor` says about the labelled texts of a classifier. Imports no TensorFlow."""

from pipelines.classification import forecast
from pipelines.classification.config import ClassificationConfig
from pipelines.labelled import findings
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.support.findings import Examined


def examine(config: ClassificationConfig) -> Examined:
    """Reads the labelled texts and describes them, with what a training takes.

    Raises:
        UserError: the data cannot be read at all.
    """

    def needs(splits: LabelledSplits) -> dict | None:
        expected = forecast.needs(config, splits)
        return expected and expected._asdict()

    return findings.examined(config, needs)
