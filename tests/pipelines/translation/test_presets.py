"""Tests of what --preset and --model decide about a translator."""

from pipelines.translation.presets import LEAST_VOCABULARY, MODELS, PRESETS, SAMPLE_RECURRENT, SAMPLE_TRANSFORMER


def test_each_model_has_both_presets_with_the_same_settings():
    assert {(model, preset) for model in MODELS for preset in ("quick", "full")} <= set(PRESETS)
    fields = [set(values) for values in PRESETS.values()]
    assert all(each == fields[0] for each in fields)


def test_the_sample_changes_settings_that_a_preset_has():
    for sample, model in ((SAMPLE_TRANSFORMER, "transformer"), (SAMPLE_RECURRENT, "attention")):
        assert set(sample) <= set(PRESETS[model, "quick"]) and sample["vocabulary_size"] == LEAST_VOCABULARY
