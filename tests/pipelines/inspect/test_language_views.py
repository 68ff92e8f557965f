import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from pipelines.export import saved_model
from pipelines.export.network import load_network
from pipelines.inspect import agreement, language_views, models, reference, sentences
from pipelines.language_model import networks, task
from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.servable import Generator
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import START
from pipelines.text.tokenizers import train_tokenizer
from tests.pipelines.inspect.exports import assert_page, assert_refused, export_language_model

pytestmark = pytest.mark.long  # they train or load models


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("agreement", "to be or", "--candidates", "not", "be"), "after 'or' P(not) = "),
        (("memory", "--tokens", "500", "--back", "1", "2"), "small/1, layer 2 cell, random weights: memory of"),
        (
            ("gradients", "--window", "8", "--places", "4", "--untrained", "--forget-bias", "0", "3"),
            "small/1, untrained, forget bias 3, layer 1 hidden: ",
        ),
    ],
)
def test_each_writes_a_page(exports, tmp_path, capsys, arguments, expected):
    flags = ("--models", "small", "--saved-models", exports)
    assert expected in assert_page(capsys, tmp_path / "page.html", *arguments, *flags)


def test_forget_biases_are_those_of_the_lstms_alone(tmp_path, capsys):
    for model in ("lstm", "simple"):
        export_language_model(tmp_path, model, name=model)
    flags = ("--window", 8, "--places", 4, "--forget-bias", 3, "--models", "lstm", "simple", "--saved-models", tmp_path)
    printed = assert_page(capsys, tmp_path / "page.html", "gradients", *flags)
    assert "lstm/1, untrained, forget bias 3" in printed and "simple/1, layer 1 hidden: " in printed
    assert "simple/1, untrained" not in printed


def test_the_accuracy_of_agreement(exports, tmp_path, capsys, monkeypatch):
    from pipelines.inspect import sentences

    few = sentences.test_sentences(4, seed=1, distances=(0, 1, 2))
    monkeypatch.setattr(sentences, "test_sentences", lambda *arguments, **options: few)
    path = tmp_path / "page.html"
    flags = ("--grammar", "--models", "small", "--saved-models", exports)
    assert " sentences of the grammar" in assert_page(capsys, path, "agreement", *flags)
    assert 'id="agreement-attractors-grammar"' in path.read_text()


@pytest.fixture(scope="module")
def grammarians(tmp_path_factory):
    """Models of the grammar's words that are not trained: a stack of two LSTMs, and a transformer."""
    root = tmp_path_factory.mktemp("grammarians")
    for model in ("lstm", "transformer"):
        config = LanguageModelConfig(
            model=model, preset="quick", tokenizer="word", window=48, num_layers=2, hidden_size=8,
            embedding_size=8 if model == "lstm" else None, num_heads=2, vocabulary_size=100,
        ).resolve()  # fmt: skip
        tokenizer = train_tokenizer("spaced", [sentences.training_text(200, seed=1)], 100, 1000)
        generator = Generator(config, networks.build(config, tokenizer.vocabulary_size), tokenizer)
        card = {"task": "language-model", "config": dataclasses.asdict(config)}
        saved_model.export(generator, model, root, card, task.example_requests(generator), verify=False)
    return root


def test_the_number_of_the_subject_in_every_layer(grammarians, tmp_path, capsys):
    flags = ("--models", "lstm", "transformer", "--back", 1, 8, "--saved-models", grammarians)
    printed = assert_page(capsys, tmp_path / "page.html", "memory", "--grammar", *flags)
    states = [f"lstm/1, layer {i} {name}" for i in (1, 2) for name in ("hidden", "cell")]
    states += [f"transformer/1, layer {i} features" for i in (1, 2)]
    for state in states:
        assert f"{state}, trained weights: memory of" in printed and f"{state}, random weights: memory of" in printed


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_the_states_are_those_of_the_prefix_alone(grammarians, name):
    model = models.find(grammarians, (name,))[0]
    config, network = load_network(model.exported, model.loaded)
    asked = sentences.test_sentences(2, seed=1, distances=(0, 4))
    states = reference.states_after_prefixes(model, config, network, asked)
    for row, sentence in enumerate(asked):
        alone = reference.states_after_prefixes(model, config, network, [sentence])
        length = len(sentence.prefix.split())
        for state, values in alone.items():
            np.testing.assert_allclose(states[state][row, :length], values[0], atol=1e-5)
    if name == "lstm":  # the state of a text that is read in one piece
        ids = model.ask("encode", text=[asked[0].prefix])["ids"][0]
        whole = reference.states_of(network, np.concatenate([[START], ids]).astype(np.int32))
        np.testing.assert_allclose(states["layer_2_cell"][0, : len(ids)], whole["layer_2_cell"][1:], atol=1e-5)


def test_a_window_that_is_too_short(grammarians):
    model = models.find(grammarians, ("transformer",))[0]
    config, network = load_network(model.exported, model.loaded)
    asked = sentences.test_sentences(2, seed=1, distances=(60,))
    with pytest.raises(UserError, match="reads 48 tokens, which is less than the sentences have"):
        reference.states_after_prefixes(model, config, network, asked)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("agreement", " ", "--models", "small"), "give a text of at least one word"),
        (("agreement", "--models", "small", "--treebank", "absent"), "--treebank absent: no such file"),
        (("memory", "--models", "attentive"), "attentive/1: a transformer network carries no state"),
        (("memory", "--models", "small", "--tokens", "1"), "--tokens 1: it must be from 500"),
        (("memory", "--models", "small", "--back", "0"), "--back: give steps from 1 to 200"),
        (("memory", "--models", "small", "--data", "absent"), "--data absent: no such file"),
        (("memory", "--models", "small", "--grammar"), "small/1 reads characters: --grammar needs a model of words"),
        (("memory", "--models", "small", "--grammar", "--back", "25"), "with --grammar, give steps from 1 to 24"),
        (("memory", "--grammar", "--data", __file__), "--data has no effect with --grammar"),
        (("gradients", "--models", "attentive"), "attentive/1: a transformer network carries no state"),
        (("gradients", "--models", "attentive", "--forget-bias", "3"), "none of the models has a forget gate"),
        (("gradients", "--models", "small", "--window", "2"), "--window 2: it must be from 4"),
        (("gradients", "--models", "small", "--places", "0"), "--places 0: it must be from 1"),
    ],
)
def test_mistakes_are_one_line(exports, capsys, arguments, message):
    assert_refused(capsys, message, *arguments, "--saved-models", exports)


def test_models_with_different_vocabularies_have_the_same_groups(monkeypatch):
    generator = np.random.default_rng(1)
    monkeypatch.setattr(agreement, "with_known_verbs", lambda signatures, sentences: sentences[:: int(signatures)])
    monkeypatch.setattr(
        agreement, "score_function", lambda signatures, before: lambda texts: generator.random(len(texts))
    )
    models = [SimpleNamespace(title=step, signatures=step, tokenizer="word") for step in ("1", "6")]
    figures, notes = language_views._accuracies(models, sentences.test_sentences(20, seed=1), "pairs")
    assert len(notes) == 2
    for figure in figures:
        (rows,) = figure.data.values()
        labels = [rows.loc[rows["model"] == title, "label"].tolist() for title in ("1", "6")]
        assert labels[0] == labels[1] and (rows["sentences"] >= 20).all()
