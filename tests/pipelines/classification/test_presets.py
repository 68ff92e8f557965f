"""Tests of what --preset and --model decide about a classifier."""

from pipelines.classification.presets import FEEDFORWARD, PRESETS


def test_each_model_has_both_presets_with_the_same_settings():
    models = {model for model, _ in PRESETS}
    assert set(PRESETS) == {(model, preset) for model in models for preset in ("quick", "full")}
    fields = [set(values) - {"epochs"} for values in PRESETS.values()]
    assert all(each == fields[0] for each in fields)


def test_best_trains_larger_batches_on_more_texts():
    limits, values = zip(*FEEDFORWARD, strict=True)
    assert list(limits) == sorted(limits) and limits[-1] == float("inf")
    assert [each["batch_size"] for each in values] == sorted(each["batch_size"] for each in values)
