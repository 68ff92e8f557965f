import pytest

from pipelines.training import progress
from pipelines.training.fit import Plan


@pytest.mark.parametrize(("limit", "ends"), [(None, ", at most 5 min left"), (250, ", at most 2 min left"), (200, "")])
def test_an_epoch_says_how_long_the_training_still_takes(capsys, limit, ends):
    plan = Plan(5, patience=5, checkpoint_every=1, steps=1, items=1, unit="rows", seconds=limit)
    progress.print_epoch({"epoch": 2, "loss": 0.5}, plan, 1000.0, seconds=100.0, seconds_before=50.0)
    assert capsys.readouterr().err == f"epoch 2/5: loss 0.5000, 1,000 rows/s{ends}\n"
