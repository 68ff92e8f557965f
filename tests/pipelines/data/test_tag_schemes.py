import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.data.tag_schemes import BIOES, IOB1, IOB2, Detector, detect, is_spans, may_mark_spans, to_iob2

LABELS = st.sampled_from(["PER", "ORG", "creative-work"])
# Spans of a sentence in order: (tokens outside before it, its length, its label).
SENTENCES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), LABELS), max_size=4), min_size=1, max_size=6
)


def written(spans, scheme):
    """Tags of one sentence: an own writer of each scheme."""
    tags, label_before = ["O"], None
    for outside, length, label in spans:
        tags += ["O"] * outside
        if scheme == IOB2:
            span = ["B"] + ["I"] * (length - 1)
        elif scheme == IOB1:
            span = ["B" if not outside and label == label_before else "I"] + ["I"] * (length - 1)
        else:
            inside, last, single = scheme
            span = [single] if length == 1 else ["B", *[inside] * (length - 2), last]
        tags += [f"{letter}-{label}" for letter in span]
        label_before = label
    return tags


@pytest.mark.parametrize("scheme", [IOB2, IOB1, "IES", "ILU", "MES", "MEW"])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sentences=SENTENCES)
def test_every_scheme_is_converted_to_the_same_spans(scheme, sentences):
    expected = [written(spans, IOB2) for spans in sentences]
    converted, num_changed = to_iob2([written(spans, scheme) for spans in sentences])
    assert converted == expected
    assert to_iob2(expected) == (expected, 0)
    if scheme != IOB1:
        assert num_changed == 0


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sentences=SENTENCES.filter(any))
def test_correct_tags_of_iob2_are_never_taken_for_another_scheme(sentences):
    tags = [written(spans, IOB2) for spans in sentences]
    assert detect(tags) == IOB2
    assert is_spans(tag for sentence in tags for tag in sentence)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sentences=SENTENCES.filter(any))
def test_tags_of_iob1_are_detected_unless_they_fit_iob2_as_well(sentences):
    tags = [written(spans, IOB1) for spans in sentences]
    assert detect(tags) == (IOB2 if tags == [written(spans, IOB2) for spans in sentences] else IOB1)


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["B-PER", "I-PER", "O"], IOB2),
        (["I-PER", "I-PER", "O"], IOB1),
        (["I-PER", "B-PER", "O"], IOB1),
        (["I-PER", "I-ORG", "O"], IOB1),
        (["O", "B-PER", "I-ORG", "B-ORG"], IOB2),  # one mistake, and two tags that IOB1 does not have
        (["B-PER", "E-PER", "O"], BIOES),
        (["S-PER", "O"], BIOES),
        (["U-PER", "O"], BIOES),
        (["B-PER", "M-PER", "E-PER", "O"], BIOES),
        (["B-NP", "I-NP", "B-VP"], IOB2),
        (["O", "O"], None),
        ([], None),
    ],
)
def test_the_scheme_of_tags_that_mark_spans_is_detected(tags, scheme):
    assert detect([tags]) == scheme


@pytest.mark.parametrize(
    "tags",
    [
        ["NOUN", "VERB", "B-PER", "O"],  # some tags only
        ["B", "I", "O", "S", "E"],  # no labels
        ["I-", "S-", "C-", "Df", "Nb"],  # parts of speech of PROIEL
        ["I-", "O"],
        ["I-x", "B-y"],  # no O, and a label that is never started
        ["S-x", "L-y", "M-z"],
        ["E-PER", "O"],  # no span is ever started
        ["B-PER", "L-PER", "E-PER", "O"],  # of two schemes
        ["N-PER", "O"],
        ["-LRB-", "O"],
    ],
)
def test_tags_that_only_look_like_those_of_a_scheme_mark_no_spans(tags):
    assert detect([tags]) is None


@pytest.mark.parametrize(
    ("tags", "expected", "num_changed"),
    [
        (["I-PER", "I-PER", "O", "I-PER"], ["B-PER", "I-PER", "O", "B-PER"], 2),
        (["B-PER", "I-ORG", "I-ORG"], ["B-PER", "B-ORG", "I-ORG"], 1),
        (["B-PER", "E-PER", "I-PER"], ["B-PER", "I-PER", "B-PER"], 1),
        (["S-PER", "E-PER", "S-PER"], ["B-PER", "B-PER", "B-PER"], 1),
        (["B-PER", "B-PER", "L-PER", "O"], ["B-PER", "B-PER", "I-PER", "O"], 0),
    ],
)
def test_a_tag_that_continues_no_span_starts_one_and_is_counted(tags, expected, num_changed):
    assert to_iob2([tags]) == ([expected], num_changed)


def test_a_span_does_not_continue_into_the_next_sentence():
    assert to_iob2([["B-PER"], ["I-PER"]]) == ([["B-PER"], ["B-PER"]], 1)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"O", "B-PER", "I-PER"}, True),
        ({"B-PER"}, True),
        ({"I-a-b", "O"}, True),
        ({"O"}, False),
        (set(), False),
        ({"O", "B-PER", "NOUN"}, False),
        ({"O", "B-"}, False),
        ({"O", "S-PER"}, False),
    ],
)
def test_only_tags_of_iob2_are_spans(tags, expected):
    assert is_spans(tags) is is_spans(sorted(tags)) is expected


def test_sentences_may_be_given_one_after_the_other():
    sentences = [["O"], ["I-X", "I-X"], ["I-Y"], ["B-X", "I-X"]]
    detector = Detector()
    assert detector.scheme() is None
    for each in sentences:
        detector.add([each])
    assert detector.scheme() == detect(sentences) == IOB1
    detector.add([["NOUN"]])
    assert detector.scheme() is None


def test_tags_of_any_scheme_may_mark_spans():
    assert may_mark_spans(["O", "B-X", "E-Y", "U-Z"]) and not may_mark_spans(["O", "NOUN"]) and not may_mark_spans([""])
