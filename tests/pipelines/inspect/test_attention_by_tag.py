import numpy as np
import pytest

from pipelines.inspect import attention_by_tag
from pipelines.inspect.trace import Attention, Trace
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import assert_page, assert_refused, make_trace, picture

CONLLU = "".join(
    f"# text = {text}\n" + "".join(f"{i}\t{w}\t_\t{t}\t_\t_\t_\t_\t_\t_\n" for i, (w, t) in enumerate(pairs, 1)) + "\n"
    for text, pairs in (
        ("To be or", (("To", "PART"), ("be", "AUX"), ("or", "CCONJ"))),
        ("question is", (("question", "NOUN"), ("is", "AUX"))),
    )
)
TOKENS = ["<start>", "▁a", "▁b", "c", "<end>"]
WORDS, TAGS = ["a", "bc"], ["NOUN", "VERB"]


def trace_of(weights, tokens=TOKENS) -> Trace:
    attention = {"layer_1": Attention(np.asarray(weights), tokens, tokens, False)}
    return Trace("small/1", {"layer": tokens}, {}, attention, {}, False)


def random_weights(heads=2, tokens=5, seed=0, causal=False):
    weights = np.random.default_rng(seed).random((heads, tokens, tokens)) + 0.01
    weights = np.tril(weights) if causal else weights
    return weights / weights.sum(-1, keepdims=True)


def test_attention_between_words():
    weights = random_weights()
    between = attention_by_tag.by_word(weights, [-1, 0, 1, 1, -1], 2)
    np.testing.assert_allclose(between[:, 0, 1], weights[:, 1, 2] + weights[:, 1, 3])  # the sum over its tokens
    np.testing.assert_allclose(between[:, 1, 0], (weights[:, 2, 1] + weights[:, 3, 1]) / 2)  # the mean over its tokens
    np.testing.assert_allclose(between[:, 0, 2], weights[:, 1, 0] + weights[:, 1, 4])
    np.testing.assert_allclose(between.sum(-1), 1)


def test_uniform_attention_sees_what_the_network_can_see():
    np.testing.assert_allclose(attention_by_tag.uniform(random_weights()), 0.2)
    causal = attention_by_tag.uniform(random_weights(causal=True))
    np.testing.assert_allclose(causal[2], [1 / 3, 1 / 3, 1 / 3, 0, 0])


def test_the_counts_of_two_sentences():
    weights = [random_weights(seed=seed) for seed in (1, 2)]
    counts = attention_by_tag.count(map(trace_of, weights), [WORDS] * 2, [TAGS, ["VERB", "VERB"]])
    assert counts.tags == ["NOUN", "VERB"] and counts.heads == [("layer_1", 1), ("layer_1", 2), ("", 0)]
    assert counts.words.tolist() == [[1, 1], [0, 2]]
    between = [attention_by_tag.by_word(each, [-1, 0, 1, 1, -1], 2)[0] for each in weights]
    # From nouns to verbs in the first sentence, from verbs to verbs in the second one.
    np.testing.assert_allclose(counts.to_tags[0, 0, 0, 1], between[0][0, 1])
    np.testing.assert_allclose(counts.to_tags[1, 0, 1, 1], between[1][:, :2].sum())
    np.testing.assert_allclose(counts.to_tags.sum((2, 3)), 2, err_msg="all that two words give")
    by_kind = dict(zip(attention_by_tag.KINDS, counts.to_kinds[0, 0]))
    np.testing.assert_allclose(by_kind["itself"], between[0][0, 0] + between[0][1, 1])
    np.testing.assert_allclose(by_kind["the word before"], between[0][1, 0])
    np.testing.assert_allclose(by_kind["the word after"], between[0][0, 1])
    np.testing.assert_allclose(by_kind["special tokens"], between[0][:, 2].sum())
    np.testing.assert_allclose(by_kind["nouns"], between[0][:, 0].sum())
    assert by_kind["others of its part of speech"] == by_kind["punctuation"] == 0
    other = dict(zip(attention_by_tag.KINDS, counts.to_kinds[1, 0]))
    np.testing.assert_allclose(other["others of its part of speech"], between[1][0, 1] + between[1][1, 0])


def many(causal=False, number=40):
    traces = (trace_of(random_weights(seed=seed, causal=causal)) for seed in range(number))
    return attention_by_tag.count(traces, [WORDS] * number, [TAGS] * number)


def test_the_rows_have_intervals_and_uniform_attention():
    tags, kinds = attention_by_tag.tag_rows(many()), attention_by_tag.kind_rows(many())
    for rows in (tags, kinds):
        assert ((rows["low"] <= rows["mean"]) & (rows["mean"] <= rows["high"])).all()
        assert (rows["high"] - rows["low"]).max() < 0.2
    np.testing.assert_allclose(tags.groupby(["head", "query"])["mean"].sum(), 1)
    to_verb = tags[(tags["query"] == "NOUN") & (tags["key"] == "VERB")]
    np.testing.assert_allclose(to_verb["uniform"], 0.4)
    assert (to_verb["words"] == 40).all() and to_verb["mean"].between(0.3, 0.5).all()
    assert picture(attention_by_tag.figure("small/1", tags, kinds)).width > 500


def test_what_no_head_can_see_is_left_out():
    assert "the word after" in set(attention_by_tag.kind_rows(many())["kind"])
    assert "the word after" not in set(attention_by_tag.kind_rows(many(causal=True))["kind"])


def test_the_line_of_a_head():
    weights = np.full((2, 5, 5), 0.2)
    weights[0] = np.eye(5, k=-1) * 0.9 + 0.02  # looks at the token before
    weights[0, 0] = 0.2
    counts = attention_by_tag.count((trace_of(weights) for _ in range(30)), [WORDS] * 30, [TAGS] * 30)
    lines = attention_by_tag.sentences_text("small/1", counts, attention_by_tag.kind_rows(counts))
    assert lines[0] == "small/1: 30 sentences with 60 words"
    assert "layer_1, head 1: the word before" in lines[1]
    assert lines[2] == "small/1: layer_1, head 2: nothing above uniform attention"


def test_mistakes_of_the_data():
    with pytest.raises(UserError, match="no part of speech has 20 words"):
        attention_by_tag.tag_rows(many(number=3))
    with pytest.raises(UserError, match="that the model's tokens spell"):
        attention_by_tag.count([trace_of(random_weights())], [["x"]], [["NOUN"]])
    with pytest.raises(UserError, match="has no self-attention over a text"):
        attention_by_tag.count([make_trace()], [["a", "b"]], [["NOUN", "VERB"]])


@pytest.mark.long
def test_the_command(exports, tmp_path, capsys):
    treebank = tmp_path / "sample.conllu"
    treebank.write_text(CONLLU * 20)
    flags = ("--models", "attentive", "--saved-models", exports)
    arguments = ("attention", "to be", "--treebank", treebank, "--sentences", 30)
    printed = assert_page(capsys, tmp_path / "page.html", *arguments, *flags)
    assert "attentive/1: 30 sentences with 75 words" in printed and "attentive/1: layer_2, head 2: " in printed
    assert 'id="attention-by-tag"' in (tmp_path / "page.html").read_text()
    assert_refused(capsys, "--treebank absent: no such file", "attention", "x", "--treebank", "absent", *flags)
    assert_refused(capsys, "--sentences 0: it must be at least 1", "attention", "x", "--sentences", 0, *flags)
