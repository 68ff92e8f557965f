import collections

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from pipelines.data import sample_pairs
from pipelines.text.subword_sampling import SubwordSampler
from pipelines.text.tokenizers import train_tokenizer


@pytest.fixture(scope="module")
def sentences():
    return sample_pairs.generate(300)[0]


@pytest.fixture(scope="module")
def tokenizer(sentences):
    return train_tokenizer("cased", sentences, 150, 1000)


def test_samples_differ_and_decode_to_the_same_text(tokenizer, sentences):
    texts = np.array([*sentences[:50], "  odd \u00a0 spaces", ""], object)
    sampler = SubwordSampler(tokenizer, texts, 0.2)
    first, again, other = (sampler(seed).to_list() for seed in (1, 1, 2))
    assert first == again and first != other
    expected = [" ".join(text.split()) for text in texts]
    for rows in (first, other):
        decoded = tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()
        assert [value.decode() for value in decoded] == expected


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_segmentations_are_sampled_with_their_probability(tokenizer, alpha):
    samples = SubwordSampler(tokenizer, np.array(["green"] * 20_000, object), alpha)(1).to_list()
    counts = collections.Counter(map(tuple, samples))
    model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    log_p = {tuple(best): sum(map(model.get_score, best)) for best in model.nbest_encode("green", nbest_size=16)}
    assert set(counts) <= set(log_p) and len(counts) > 1
    weights = np.exp(alpha * np.array(list(log_p.values())))
    for segmentation, probability in zip(log_p, weights / weights.sum(), strict=True):
        assert counts[segmentation] / len(samples) == pytest.approx(probability, abs=0.015)
