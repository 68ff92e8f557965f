import pytest
import tensorflow as tf

from pipelines.text.english_words import mark_words


def words(text):
    marked = mark_words(tf.constant(text.split()))
    return " ".join(part.decode() for part in tf.strings.split(marked).flat_values.numpy())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't, can't, won't, DIDN'T", "I do n't , ca n't , wo n't , DID N'T"),
        ("it's we're I'm he'd you'll they've", "it 's we 're I 'm he 'd you 'll they 've"),
        ("isn\u2019t that\u2019s Bush\u2019s", "is n\u2019t that \u2019s Bush \u2019s"),
        ("cannot gonna wanna gotta Cannot", "can not gon na wan na got ta Can not"),
        ("dont didnt im ive thats youre", "do nt did nt i m i ve that s you re"),
        ("the boys' dog's bone, O'Brien o'clock", "the boys ' dog 's bone , O'Brien o'clock"),
        ("'quoted' \"words\" ''here'' ``there''", "' quoted ' \" words \" '' here '' `` there ''"),
        (
            "Mr. Smith, U.S. (Jan. 5) e.g. this, J. S. Bach vs. I.",
            "Mr. Smith , U.S. ( Jan. 5 ) e.g. this , J. S. Bach vs. I .",
        ),
        ("a.k.a. p.m., etc., etc.", "a.k.a. p.m. , etc. , etc ."),
        ("The end. What?! No!!! Well... so--no", "The end . What ?! No !!! Well ... so -- no"),
        ("third-party well-known co-worker e-mail non-stop", "third - party well - known co-worker e-mail non-stop"),
        (
            "see http://a.org/b?c=1, (www.x.com). a@b.com; y.co.uk/z!",
            "see http://a.org/b?c=1 , ( www.x.com ) . a@b.com ; y.co.uk/z !",
        ),
        ("read me.doc. in comp.sources.unix", "read me.doc . in comp.sources.unix"),
        (":) fine :-( ;-) :D ok:) <3", ":) fine :-( ;-) :D ok :) <3"),
        (
            "1,000.50 $5 50% 3.5-4.5 5:30pm 10k 1990s 5th '72 #1",
            "1,000.50 $ 5 50 % 3.5 - 4.5 5:30 pm 10 k 1990s 5th '72 # 1",
        ),
        ("US$4 9/11 01/02/2003 1/2 and/or 713-853-3989", "US$ 4 9/11 01/02/2003 1 / 2 and / or 713-853-3989"),
        ("AT&T R&D a<b <<c>>", "AT&T R&D a < b << c >>"),
        ("(it [is] {so})", "( it [ is ] { so } )"),
        (
            "na\u00efve nai\u0308ve \U0001f44d\U0001f3fd\U0001f44d",
            "na\u00efve nai\u0308ve \U0001f44d\U0001f3fd \U0001f44d",
        ),
        ("soil.The end", "soil . The end"),
        ("mid-1990s 2p.m. 77042-2016 713/853-3989", "mid-1990s 2 p.m. 77042-2016 713/853-3989"),
        ("basic\u00adally get 'em rock 'n roll", "basic\u00adally get 'em rock 'n roll"),
        ("@user #tag #1 -_- mailto:a@b.org", "@user #tag # 1 -_- mailto:a@b.org"),
        ("youll theyll i'll B2B outta", "you ll they ll i 'll B2B out ta"),
    ],
)
def test_words_of_english(text, expected):
    assert words(text) == expected


def test_no_chunks():
    assert mark_words(tf.constant([], tf.string)).shape == (0,)
