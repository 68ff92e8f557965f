import pytest
import tensorflow as tf

from pipelines.translation.config import TranslationConfig
from pipelines.translation.tokenizers import load_tokenizer, train_tokenizers


@pytest.mark.parametrize("joint", [True, False])
def test_saved_tokenizers_are_loaded_unchanged(pairs, tmp_path, joint):
    config = TranslationConfig(vocabulary_size=150, joint_vocabulary=joint).resolve()
    tokenizers = train_tokenizers(config, pairs.source, pairs.target)
    assert (tokenizers.source is tokenizers.target) == joint
    assert tokenizers.vocabulary_size == tokenizers.target.vocabulary_size <= 150
    tokenizers.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert (loaded.source is loaded.target) == joint
    for side in ("source", "target"):
        assert getattr(loaded, side).vocabulary() == getattr(tokenizers, side).vocabulary()


def test_the_tokens_keep_upper_case(pairs):
    config = TranslationConfig(vocabulary_size=150).resolve()
    tokenizer = train_tokenizers(config, pairs.source, pairs.target).source
    decoded = tokenizer.decode(tokenizer.encode(tf.constant(["The  dog sees Cada cow ."])))
    assert decoded.numpy()[0].decode() == "The dog sees Cada cow ."
