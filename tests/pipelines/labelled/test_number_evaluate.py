"""A model of numbers from the training to files, `evaluate` and its report."""

import json

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import unroll

WORDS = ("plastic", "steel", "silver", "golden")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    random = np.random.default_rng(0)
    level = random.integers(0, 4, 400)
    prices = np.round(10.0 ** (level / 2) + random.normal(0, 0.2, 400), 2)
    rows = [
        f"a {WORDS[i]} ring of style {random.integers(0, 99)} number {j},{prices[j]},{j % 7}"
        for j, i in enumerate(level)
    ]
    (folder / "rings.csv").write_text("\n".join(["text,price,shop", *rows, ""]))
    return folder


@pytest.fixture
def run(folder, run_main):
    def run(*arguments):
        done = run_main(folder, *arguments, "--saved-models", folder / "saved")
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.mark.long
@pytest.mark.slow
def test_a_model_of_numbers(folder, run, run_main):
    flags = ("--data", "rings.csv", "--label-column", "price", "--label-type", "number", "--preset", "quick")
    trained = run("train", "classification", *flags, "--runs", folder / "runs")
    assert "ridge regression" in trained.stdout and "warning" not in trained.stdout
    (report,) = folder.glob("runs/classification/*/report.md")
    assert "R²" in report.read_text() and (report.parent / "numbers.png").is_file()
    scores = json.loads((report.parent / "result.json").read_text())["scores"]["validation"]
    assert scores["spearman"] > 0.9 and scores["baselines"][0]["difference_interval"][0] > 0
    assert "spearman" in run_main(folder, "list", "--runs", "runs", "--saved-models", folder / "saved").stdout

    texts = ("a golden ring of style 5 number 7", "a plastic ring of style 5 number 7")
    dear, cheap = json.loads(run("predict", "classification", *texts, "--json").stdout)["predictions"]
    assert dear["value"] > 25 > 3 > cheap["value"] and "label" not in dear
    run("predict", "classification", "--input", "rings.csv", "--output", folder / "values.csv")
    values = pd.read_csv(folder / "values.csv")
    assert list(values) == ["text", "price", "shop", "value"] and len(values) == 400

    flags = ("--data", "rings.csv", "--label-column", "price", "--mistakes", folder / "mistakes.csv")
    measured = run("evaluate", "classification", *flags)
    assert "Spearman" in measured.stdout and "trained on these texts" in measured.stdout
    mistakes = pd.read_csv(folder / "mistakes.csv")
    assert (mistakes.error.abs().diff().dropna() <= 2e-6).all() and "shop" in mistakes
    np.testing.assert_allclose(mistakes.predicted - mistakes.label, mistakes.error, atol=2e-6)
    refused = run_main(
        folder, "evaluate", "classification", *flags[:4], "--by", "shop", "--saved-models", folder / "saved"
    )
    assert refused.returncode == 2 and "--by shop" in refused.stderr

    for flags in (("--sort", "uncertainty"), ("--for", "doccano")):
        arguments = ("predict", "classification", "--input", "rings.csv", *flags, "--saved-models", folder / "saved")
        refused = run_main(folder, *arguments)
        assert refused.returncode == 2 and "predicts numbers and no labels" in refused.stderr

    signatures = tf.saved_model.load(str(folder / "saved" / "rings" / "1")).signatures
    assert list(signatures) == ["serving_default"]
    value = signatures["serving_default"](text=tf.constant([texts[0], ""]))["value"]
    assert (
        value.dtype == tf.float32 and value.shape == (2,) and value[0].numpy() == pytest.approx(dear["value"], rel=1e-4)
    )
    model = unroll.load(folder / "saved" / "rings")
    np.testing.assert_allclose(model.predict(list(texts)), [dear["value"], cheap["value"]], rtol=1e-4)
    with pytest.raises(unroll.UserError, match="no probabilities"):
        model.predict_proba(list(texts))
    with pytest.raises(unroll.UserError, match="train classification --label-type number"):
        unroll.TextClassifier(label_type="number").fit(list(texts), [1.5, 2.5])
