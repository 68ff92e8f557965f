import pytest
import tensorflow as tf

from pipelines.text.normalization import EntityDecoder, Normalizer, valid_utf8


def strings(tensor):
    return [value.decode() for value in tensor.numpy()]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("One<br />two<BR>three</p>", "one two three "),
        ("I &lt;3 <i>this</i>", "i <3  this "),
        ("Tom &amp; Jerry&#39;s &quot;film&quot;", 'tom & jerry\'s "film"'),
        ("&#x27;x&#X27; &#8217; &eacute; &nbsp;", "'x' \u2019 \u00e9  "),
        ("&nosuch; &#; & AT&T; a < b > c", "&nosuch; &#; & at&t; a < b > c"),
        ("\ufb01lm \uff26\uff55\uff4c\uff4c \u2460 e\u0301", "film full 1 \u00e9"),  # NFKC
        ("\u00c9T\u00c9 \u0130", "\u00e9t\u00e9 i\u0307"),
        ("", ""),
    ],
)
def test_normalizer(raw, expected):
    assert strings(Normalizer(1000)(tf.constant([raw]))) == [expected]


def test_entities_are_decoded_without_other_changes():
    texts = ["A &amp; B &notanentity; &#65;&#x42;", "no entity", ""]
    assert strings(EntityDecoder()(tf.constant(texts))) == ["A & B &notanentity; AB", "no entity", ""]


def test_invalid_utf8_is_removed():
    assert strings(valid_utf8(tf.constant([b"caf\xe9 \xff ok"]), 100)) == ["caf  ok"]
    assert strings(Normalizer(100)(tf.constant([b"caf\xe9 \xff ok"]))) == ["caf  ok"]


def test_the_byte_limit_leaves_no_half_character():
    assert strings(valid_utf8(tf.constant(["abc\u00e9"]), 4)) == ["abc"]
    assert strings(Normalizer(4)(tf.constant(["abc\u00e9"]))) == ["abc"]
