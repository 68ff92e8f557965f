"""The signatures of the exports are an interface that clients use: they are compared with the committed list
signatures.json.

A new input breaks clients of the REST API, which must send every input. Give it a new signature instead, and add that
to the list: in the folder of the repository,
`PYTHONPATH=. python tests/pipelines/export/test_exported_signatures.py` prints the current one.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification import task as classification
from pipelines.classification.config import ClassificationConfig
from pipelines.data import sample_pairs, sample_reviews, sample_text
from pipelines.data.pairs import Pairs
from pipelines.encoder import task as encoder
from pipelines.encoder.config import EncoderConfig
from pipelines.export.saved_model import concrete_function
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.language_model import task as language_model
from pipelines.language_model.config import LanguageModelConfig
from pipelines.tagging import data as tagging_data
from pipelines.tagging import task as tagging
from pipelines.tagging.config import TaggingConfig
from pipelines.text.tokenizers import train_tokenizer
from pipelines.transfer import task as transfer
from pipelines.transfer.config import TransferConfig
from pipelines.translation import task as translation
from pipelines.translation.config import TranslationConfig
from tests.layers import hub_modules

EXPECTED = json.loads((Path(__file__).parent / "signatures.json").read_text())


def labelled_splits() -> LabelledSplits:
    labelled = Labelled(sample_reviews.generate(40)[0], np.arange(40, dtype=np.int32) % 2)
    return LabelledSplits(labelled, labelled, None, ("negative", "positive"), {})


def make_classification(folder: Path):
    config, splits = ClassificationConfig(hidden_size=4).resolve(), labelled_splits()
    tokenizer = classification.make_tokenizer(config, splits)
    model = classification.build(config, splits, tokenizer, None, training=False)
    return classification.make_servable(config, splits, tokenizer, model)


def make_classification_several_labels(folder: Path):
    config, splits = ClassificationConfig(hidden_size=4, labels_separator="|").resolve(), labelled_splits()
    both = Labelled(splits.train.texts, np.stack([splits.train.labels, 1 - splits.train.labels], axis=1))
    splits = LabelledSplits(both, both, None, ("food", "sport"), {})
    tokenizer = classification.make_tokenizer(config, splits)
    model = classification.build(config, splits, tokenizer, None, training=False)
    return classification.make_servable(config, splits, tokenizer, model)


def make_language_model(folder: Path):
    # A model of words has all signatures; one of characters lacks those with a cache.
    config = LanguageModelConfig(tokenizer="word", hidden_size=4, embedding_size=4).resolve()
    tokenizer = train_tokenizer("spaced", [sample_text.sample_text()[:1000]], 100, 1000)
    model = language_model.build(config, None, tokenizer, None, training=False)
    return language_model.make_servable(config, None, tokenizer, model)


def make_translation(folder: Path):
    config = TranslationConfig(model="attention", hidden_size=4, embedding_size=4, vocabulary_size=100).resolve()
    pairs = Pairs(*sample_pairs.generate(100))
    splits = translation.Splits(pairs, pairs, None, "en-es", {})
    tokenizers = translation.make_tokenizer(config, splits)
    model = translation.build(config, splits, tokenizers, None, training=False)
    return translation.make_servable(config, splits, tokenizers, model)


def make_encoder(folder: Path):
    config = EncoderConfig(hidden_size=4, embedding_size=4).resolve()
    tokenizer = train_tokenizer("subword", sample_reviews.generate(40)[0], 60, 1000)
    model = encoder.build(config, None, tokenizer, None, training=False)
    return encoder.make_servable(config, None, tokenizer, model)


def make_transfer(folder: Path):
    hub_modules.save_bert(folder / "bert")
    hub_modules.save_preprocessor(folder / "preprocess")
    config = TransferConfig(encoder=str(folder / "bert"), preprocessor=str(folder / "preprocess"), head_epochs=1)
    splits = labelled_splits()
    modules = transfer.make_tokenizer(config, splits)
    config = transfer.complete_config(config, splits, modules)
    model = transfer.build(config, splits, modules, None, training=False)
    return transfer.make_servable(config, splits, modules, model)


def make_tagging(folder: Path):
    return made_tagger(TaggingConfig(model="lstm", hidden_size=4).resolve(), folder)


def made_tagger(config: TaggingConfig, folder: Path):
    splits = tagging_data.load(config)
    tokenizer = tagging.make_tokenizer(config, splits)
    encoded = tagging.encode(config, splits, tokenizer, folder)
    model = tagging.build(config, splits, tokenizer, encoded, training=False)
    return tagging.make_servable(config, splits, tokenizer, model)


def make_tagging_spans(folder: Path):
    (folder / "names.tsv").write_text("".join(f"{name}\tB-PER\nleft\tO\n\n" for name in ("Ann", "Bob", "Eve") * 9))
    config = TaggingConfig(model="lstm", preset="quick", hidden_size=4, data=str(folder / "names.tsv")).resolve()
    return made_tagger(config, folder)


MAKERS = {
    "classification": make_classification,
    "classification_several_labels": make_classification_several_labels,
    "language_model": make_language_model,
    "translation": make_translation,
    "encoder": make_encoder,
    "transfer": make_transfer,
    "tagging": make_tagging,
    "tagging_spans": make_tagging_spans,
}


def describe(servable) -> dict:
    """Signature -> inputs and outputs -> name -> dtype[rank]."""

    def described(specs):
        return {name: f"{spec.dtype.name}[{spec.shape.rank}]" for name, spec in sorted(specs.items())}

    result = {}
    for name, function in servable.signatures().items():
        signature = concrete_function(function)
        specs = tf.nest.flatten(signature.structured_input_signature)
        inputs = {spec.name: spec for spec in specs if isinstance(spec, tf.TensorSpec)}
        result[name] = {"inputs": described(inputs), "outputs": described(signature.structured_outputs)}
    return result


LONG = ("classification_several_labels", "translation", "encoder", "tagging", "tagging_spans")


@pytest.mark.long
@pytest.mark.parametrize("package", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in MAKERS])
def test_the_signatures_are_those_of_the_committed_list(package, tmp_path):
    assert describe(MAKERS[package](tmp_path)) == EXPECTED[package]


def test_every_input_but_the_number_of_classes_has_a_batch_axis_and_serving_default_takes_texts_alone():
    for signatures in EXPECTED.values():
        assert signatures["serving_default"]["inputs"] == {"text": "string[1]"}
        for name, signature in signatures.items():
            scalars = [each for each, spec in signature["inputs"].items() if spec.endswith("[0]")]
            assert scalars == ["k"] * (name == "classes")


if __name__ == "__main__":
    import tempfile

    print(json.dumps({name: describe(make(Path(tempfile.mkdtemp()))) for name, make in MAKERS.items()}, indent=2))
