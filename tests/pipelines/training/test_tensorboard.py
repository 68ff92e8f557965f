import tensorflow as tf

from pipelines.training import tensorboard

ROWS = [{"epoch": i, "loss": 1 / i, "val_loss": 2 / i, "val_accuracy": 0.5} for i in (1, 2, 3)]


def scalars(folder):
    """The events of a folder: (tag, epoch, value)."""
    found = []
    for path in sorted(folder.glob("events.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                assert value.metadata.plugin_data.plugin_name == "scalars"
                found.append((value.tag, event.step, round(float(tf.make_ndarray(value.tensor)), 3)))
    return sorted(found)


def test_each_epoch_is_written_once(tmp_path):
    for i in (1, 2, 3):
        tensorboard.write(tmp_path / "events", ROWS[:i])
    assert scalars(tmp_path / "events" / "training") == [("loss", 1, 1.0), ("loss", 2, 0.5), ("loss", 3, 0.333)]
    validation = scalars(tmp_path / "events" / "validation")
    assert [item for item in validation if item[0] == "loss"] == [
        ("loss", 1, 2.0),
        ("loss", 2, 1.0),
        ("loss", 3, 0.667),
    ]
    assert len(validation) == 6


def test_a_run_that_resumes_without_events_gets_those_of_all_epochs(tmp_path):
    tensorboard.write(tmp_path / "events", ROWS)
    assert [epoch for _, epoch, _ in scalars(tmp_path / "events" / "training")] == [1, 2, 3]
