import tensorflow as tf

from pipelines.tagging.tagged import tag_sentences, tag_texts


def reversed_tokens(tokens):
    """A signature whose tag is the token, reversed, and whose score is the number of columns."""
    columns = tf.cast(tf.shape(tokens)[1], tf.float32)
    tags = tf.strings.reduce_join(tf.reverse(tf.strings.bytes_split(tokens), axis=[2]), axis=-1)
    return {"tags": tags, "scores": tf.fill(tf.shape(tokens), columns)}


def test_sentences_keep_their_order_and_lose_their_padding():
    sentences = [["ab"] * (i % 7) + ["cd"] for i in range(150)]
    tagged = tag_sentences(reversed_tokens, sentences)
    assert tagged.tags == [["ba"] * (i % 7) + ["dc"] for i in range(150)]
    assert [len(scores) for scores in tagged.scores] == [len(tokens) for tokens in sentences]
    assert tagged.scores[0][0] < 7  # a short sentence is not in a batch with the longest ones


def test_no_sentences_and_empty_sentences():
    assert tag_sentences(reversed_tokens, []) == ([], [])
    assert tag_sentences(reversed_tokens, [[], ["ab"]]).tags == [[], ["ba"]]


def test_texts_keep_their_order():
    def characters(text):
        split = tf.strings.unicode_split(text, "UTF-8")
        tokens, scores = split.to_tensor(), tf.ones_like(split.to_tensor(), tf.int32)
        by_token = {"start": scores, "end": scores, "sentence": scores, "scores": tf.cast(scores, tf.float32)}
        return {"tokens": tokens, "tags": tokens, **by_token, "num_tokens": tf.cast(split.row_lengths(), tf.int32)}

    texts = ["\u00e4" * (i % 5) + "b" for i in range(100)]
    results = tag_texts(characters, texts)
    assert [result["text"] for result in results] == texts
    assert [result["tokens"] for result in results] == [list(text) for text in texts]
