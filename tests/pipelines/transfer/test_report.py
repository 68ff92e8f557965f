import dataclasses
import types

from pipelines.transfer.config import TransferConfig
from pipelines.transfer.report import stage_results


def test_each_stage_that_started_has_its_best_epoch():
    config = TransferConfig(encoder="bert", head_epochs=2, top_epochs=1, all_epochs=3).complete(
        500, ["embeddings", "layer_1"]
    )
    row = {"val_accuracy": 0.5, "trainable_weights": 10}
    epochs = [
        row | {"epoch": 1, "val_loss": 0.6},
        row | {"epoch": 2, "val_loss": 0.5, "val_accuracy": 0.7},
        row | {"epoch": 3, "val_loss": 0.4, "trainable_weights": 90},
    ]
    result = types.SimpleNamespace(config=dataclasses.asdict(config), epochs=epochs, epoch_seconds=[1.0, 2.0, 4.0])
    head, top = stage_results(result)
    assert (head.name, head.epochs, head.accuracy, head.loss, head.seconds) == ("head", 2, 0.7, 0.5, 3.0)
    assert (top.name, top.epochs, top.trainable_weights) == ("top 2", 1, 90)
