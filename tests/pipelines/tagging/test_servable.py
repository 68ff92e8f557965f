import numpy as np
import pytest
import tensorflow as tf

from pipelines.tagging.entities import entities_of
from pipelines.tagging.tagged import tag_sentences, tag_texts
from tests.pipelines.tagging.small import EACH_KIND, SENTENCES, SPAN_TAGS

TEXTS = [
    "Anna sees the sea. She's near!",
    "",
    "  ",
    "Ünïcode \N{GRINNING FACE} isn't   rare\n\nhere.",
    "one two three four five six seven eight nine ten eleven",
]


def small(make_small, kind="lstm", **options):
    return make_small(kind, **options).tagger


@pytest.mark.long
@pytest.mark.parametrize("kind", EACH_KIND)
def test_every_token_has_a_tag_and_its_probability(make_small, kind):
    tagger = small(make_small, kind)
    for text, result in zip(TEXTS, tag_texts(tagger.tag_text, TEXTS), strict=True):
        assert len(result["tags"]) == len(result["tokens"])
        assert all(0 < score <= 1 for score in result["scores"])
        assert [text[a:b] for a, b in zip(result["start"], result["end"], strict=True)] == result["tokens"]
        assert "".join(result["tokens"]) == "".join(text.split())


@pytest.mark.long
def test_tags_of_texts_are_those_of_their_sentences(make_small):
    tagger = small(make_small)
    (result,) = tag_texts(tagger.tag_text, TEXTS[:1])
    first, second = ["Anna", "sees", "the", "sea", "."], ["She", "'s", "near", "!"]
    assert result["tokens"] == first + second and result["sentence"] == [0] * 5 + [1] * 4
    tagged = tag_sentences(tagger.tag_tokens, [first, second])
    assert result["tags"] == [tag for tags in tagged.tags for tag in tags]
    np.testing.assert_allclose(result["scores"], np.concatenate(tagged.scores), atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_other_texts_change_no_result(make_small, kind):
    tagger = small(make_small, kind)
    together = tag_texts(tagger.tag_text, TEXTS)
    for text, result in zip(TEXTS, together, strict=True):
        (alone,) = tag_texts(tagger.tag_text, [text])
        np.testing.assert_allclose(alone.pop("scores"), result.pop("scores"), atol=2e-5)
        assert alone == result


def test_invisible_characters_change_no_tag_and_positions_count_the_users_text(make_small):
    tagger = small(make_small)
    text = "An\u00adna s\u200bees\u2060 the \ufeffsea."
    plain, changed = tag_texts(tagger.tag_text, ["Anna sees the sea.", text])
    assert changed.pop("tokens") == ["An\u00adna", "s\u200bees", "the", "sea", "."]
    assert (changed.pop("start"), changed.pop("end")) == ([0, 6, 13, 18, 21], [5, 11, 16, 21, 22])
    np.testing.assert_allclose(changed["scores"], plain["scores"], atol=2e-5)
    assert changed["tags"] == plain["tags"] and changed["sentence"] == plain["sentence"]

    tokens = [["Anna", "sees", "the", "sea", "."], ["An\u00adna", "s\u200bees\u2060", "the", "\ufeffsea", "."]]
    tagged = tag_sentences(tagger.tag_tokens, tokens)
    assert tagged.tags[0] == tagged.tags[1]
    np.testing.assert_allclose(tagged.scores[0], tagged.scores[1], atol=2e-5)


def test_long_sentences_are_divided(make_small):
    tagger = small(make_small)  # reads five tokens at once
    words = TEXTS[-1].split()
    whole = tag_sentences(tagger.tag_tokens, [words])
    parts = tag_sentences(tagger.tag_tokens, [words[:5], words[5:10], words[10:]])
    assert whole.tags[0] == [tag for tags in parts.tags for tag in tags]


def test_many_sentences_are_read_in_batches(make_small):
    tagger = small(make_small)
    few = tag_sentences(tagger.tag_tokens, SENTENCES)
    text = " ".join("Anna sees the sea. The sea is near! Anna is near." for _ in range(70))
    (result,) = tag_texts(tagger.tag_text, [text])
    assert result["tags"] == [tag for tags in few.tags[:3] for tag in tags] * 70
    assert result["sentence"][-1] == 3 * 70 - 1


def test_no_text_and_no_token(make_small):
    tagger = small(make_small)
    outputs = tagger.tag_text(tf.constant([], tf.string))
    assert outputs["tokens"].shape == (0, 0) and outputs["num_tokens"].shape == (0,)
    for shape in ((0, 0), (2, 0), (2, 3)):
        outputs = tagger.tag_tokens(tf.fill(shape, ""))
        assert outputs["tags"].shape == shape and outputs["scores"].shape == shape
        assert set(outputs["tags"].numpy().ravel()) <= {b""}
        assert outputs["num_tokens"].numpy().tolist() == [0] * shape[0]


def test_an_empty_token_within_a_sentence_has_a_tag(make_small):
    outputs = small(make_small).tag_tokens(tf.constant([["Anna", "", "sea", ""]]))
    tags = outputs["tags"].numpy()[0].tolist()
    assert all(tags[:3]) and tags[3] == b"" and outputs["num_tokens"].numpy().tolist() == [3]


@pytest.mark.parametrize("kind", ["lstm", "simple, no crf"])
def test_no_span_continues_another_kind_of_span(make_small, kind):
    tagger = small(make_small, kind, spans=True)
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefgANXYZ.,19"))
    sentences = [["".join(rng.choice(letters, 4)) for _ in range(5)] for _ in range(200)]
    seen = set()
    for tags in tag_sentences(tagger.tag_tokens, sentences).tags:
        for previous, tag in zip(["O", *tags], tags, strict=False):
            assert not tag.startswith("I-") or previous in (tag, f"B-{tag[2:]}")
        seen |= set(tags)
    assert seen & {"I-LOC", "I-PER"} and seen <= set(SPAN_TAGS)


def test_the_scores_are_marginals_of_the_crf(make_small):
    made = make_small("lstm")
    inputs = {name: each.to_tensor() for name, each in made.features(tf.ragged.constant([SENTENCES[0]])).items()}
    marginals = made.model.get_layer("crf").marginals(made.model(inputs)).numpy()[0]
    tagged = tag_sentences(made.tagger.tag_tokens, SENTENCES[:1])
    for row, score in zip(marginals, tagged.scores[0], strict=True):
        assert np.abs(row - score).min() < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("kind", ["lstm", "simple, no crf"])
def test_the_entities_are_those_of_the_tags(make_small, kind):
    tagger = small(make_small, kind, spans=True)
    texts = [*TEXTS, "Anna \N{GRINNING FACE}\r\n\tsees e\u0301 \u05e9\u05dc\u05d5\u05dd. The sea!"]
    found = {name: each.numpy().tolist() for name, each in tagger.find_entities(tf.constant(texts)).items()}
    num_entities = 0
    for row, result in enumerate(tag_texts(tagger.tag_text, texts)):
        expected = entities_of(result)
        num_entities += len(expected)
        assert found["num_entities"][row] == len(expected)
        for i, each in enumerate(expected):
            names = {"text": "entities", "label": "labels", "start": "start", "end": "end"}
            values = {key: found[name][row][i] for key, name in names.items()}
            values = {key: value.decode() if isinstance(value, bytes) else value for key, value in values.items()}
            assert values == {key: each[key] for key in names}
            assert found["scores"][row][i] == pytest.approx(each["score"], abs=1e-5)
    assert num_entities > 5


@pytest.mark.long
def test_only_tags_of_spans_have_entities(make_small):
    assert "entities" in small(make_small, spans=True).signatures()
    assert "entities" not in small(make_small).signatures()
