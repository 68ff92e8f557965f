import numpy as np
import pytest

from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.support.errors import UserError
from pipelines.tagging import batches, crf_solver, linear, networks
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.crf_solver import Rules
from pipelines.tagging.features import TokenFeatures
from pipelines.tagging.servable import Tagger
from pipelines.tagging.tagged import tag_sentences
from tests.pipelines.tagging.small import SPAN_TAGS

SENTENCES = [
    (["Anna", "Kowalska", "lives", "in", "Oslo", "."], ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]),
    (["In", "New", "York", "Anna", "runs"], ["O", "B-LOC", "I-LOC", "B-PER", "O"]),
    (["Rain"], ["O"]),
] * 5  # fmt: skip
TOKENS, TAGS = ([list(each) for each in zip(*SENTENCES, strict=True)][i] for i in (0, 1))


@pytest.fixture(scope="module")
def fitted():
    """A linear tagger fitted to the sentences, and what it was fitted to."""
    tokenizer = TokenFeatures("whitespace", [], [], 0, 1000, reads=("hashes",))
    sentences = TaggedSentences(TOKENS, TAGS, [" ".join(each) for each in TOKENS], [0] * len(TOKENS), {})
    encoded = batches.encode(tokenizer, sentences, SPAN_TAGS, 100)
    counted = linear.count(encoded, len(SPAN_TAGS))
    sizes = networks.LinearSizes(len(counted.hashes), counted.num_weights)
    config = TaggingConfig(model="linear").resolve()
    model = networks.build(config, tokenizer, SPAN_TAGS, True, sizes)
    linear.fit(model.get_layer("linear_logits"), model.get_layer("crf"), counted, encoded, 0.1)
    return model, tokenizer, encoded, counted


@pytest.mark.long
def test_the_tagger_tags_as_the_solver_does(fitted):
    model, tokenizer, _, _ = fitted
    tagger = Tagger(model, model.get_layer("crf"), tokenizer, SPAN_TAGS, 100)
    new = [["Anna", "lives", "in", "New", "York"], ["Rain", "in", "Oslo", "."], ["Kowalska"]]
    tagged = tag_sentences(tagger.tag_tokens, [*TOKENS, *new])
    assert tagged.tags == linear.fit_and_tag(TOKENS, TAGS, [*TOKENS, *new])
    assert tagged.tags[: len(TOKENS)] == TAGS
    assert tagged.tags[-3] == ["B-PER", "O", "O", "B-LOC", "I-LOC"]


def test_every_pair_of_a_feature_and_a_tag_that_occurs_has_a_weight(fitted):
    model, _, encoded, counted = fitted
    has_tag = np.eye(len(SPAN_TAGS))[encoded.tags]
    pairs = counted.occurrences[:, :-1].T @ has_tag
    layer = model.get_layer("linear_logits")
    assert counted.num_weights == np.count_nonzero(pairs) == layer.num_weights
    assert (np.diff(layer.starts.numpy()) == np.count_nonzero(pairs, axis=1)).all()
    assert (counted.occurrences[:, -1].toarray() == 1).all()


def test_the_most_frequent_features_are_kept(fitted, monkeypatch):
    _, _, encoded, counted = fitted
    monkeypatch.setattr(linear, "_MAX_FEATURES", 10)
    fewer = linear.count(encoded, len(SPAN_TAGS))
    numbers = np.sort(np.asarray(counted.occurrences.sum(0)).ravel())[::-1]
    assert len(fewer.hashes) == 10 and fewer.occurrences[:, :-1].sum() == numbers[1:11].sum()


def test_sentences_without_tokens_have_no_tags():
    assert linear.fit_and_tag(TOKENS, TAGS, [[], ["Rain"], []]) == [[], ["O"], []]
    assert linear.fit_and_tag(TOKENS, TAGS, [[]]) == [[]]


def test_too_little_memory_is_one_line(fitted, monkeypatch):
    _, _, encoded, _ = fitted
    monkeypatch.setattr(linear.machine, "free_memory", lambda: 1000)
    with pytest.raises(UserError, match="--model linear: 5 tags of 60 tokens take about 0.0 GB .* train a network"):
        linear.count(encoded, len(SPAN_TAGS))
    # As the baseline of a network that is trained already, it must not end the run.
    assert linear.fit_and_tag(TOKENS, TAGS, [["Rain"]]) == [["O"]]


@pytest.mark.long
def test_a_fit_continues_with_new_features(fitted):
    """The rows of the known features are those of the first fit; what has no new weight stays."""
    _, tokenizer, encoded, counted = fitted
    weights = crf_solver.fit(counted.occurrences, encoded.tags, encoded.lengths, Rules.of_spans(SPAN_TAGS), 0.1)
    known = linear.Known(counted.hashes, weights)
    new = [(["Ola", "lives", "in", "Rome", "."], ["B-PER", "O", "O", "B-LOC", "O"])] * 3
    tokens, tags = ([list(each) for each in zip(*new, strict=True)][i] for i in (0, 1))
    sentences = TaggedSentences(tokens, tags, [" ".join(each) for each in tokens], [0] * len(tokens), {})
    others = batches.encode(tokenizer, sentences, SPAN_TAGS, 100)
    again = linear.count(others, len(SPAN_TAGS), known)
    assert set(counted.hashes) < set(again.hashes)
    placed = known.at(again.hashes).features
    rows = np.append(np.searchsorted(again.hashes, counted.hashes), len(again.hashes))
    np.testing.assert_array_equal(placed[rows].toarray(), weights.features.toarray())
    assert placed.nnz == weights.features.nnz
    model = networks.build(
        TaggingConfig(model="linear").resolve(),
        tokenizer,
        SPAN_TAGS,
        True,
        networks.LinearSizes(len(again.hashes), again.num_weights),
    )
    linear.fit(model.get_layer("linear_logits"), model.get_layer("crf"), again, others, 0.1, known=known)
    tagger = Tagger(model, model.get_layer("crf"), tokenizer, SPAN_TAGS, 100)
    assert tag_sentences(tagger.tag_tokens, [*TOKENS, *tokens]).tags == [*TAGS, *tags]
