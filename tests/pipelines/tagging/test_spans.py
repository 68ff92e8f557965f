import numpy as np
import pytest
from seqeval.scheme import IOB2, Entities

from pipelines.tagging.spans import Span, spans_of


def test_spans_start_with_b_and_continue_with_i():
    tags = ["O", "B-PER", "I-PER", "B-PER", "O", "B-LOC"]
    assert spans_of(tags) == [Span(1, 3, "PER"), Span(3, 4, "PER"), Span(5, 6, "LOC")]


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        (["I-PER", "I-PER", "O"], []),
        (["B-PER", "I-LOC", "I-LOC"], [Span(0, 1, "PER")]),
        (["B-PER", "I-LOC", "I-PER"], [Span(0, 1, "PER")]),
        (["B-PER", "O", "I-PER"], [Span(0, 1, "PER")]),
        ([], []),
    ],
)
def test_an_i_that_continues_no_span_of_its_label_starts_none(tags, spans):
    assert spans_of(tags) == spans


def test_labels_may_contain_hyphens():
    assert spans_of(["B-work-of-art", "I-work-of-art", "I-work"]) == [Span(0, 2, "work-of-art")]


def test_the_spans_are_those_of_seqeval_in_strict_mode():
    generator = np.random.default_rng(0)
    tags = np.array(["O", "B-x", "I-x", "B-y", "I-y", "B-z", "I-z"])
    sentences = [generator.choice(tags, generator.integers(1, 13)).tolist() for _ in range(1000)]
    expected = [[entity.to_tuple()[1:] for entity in found] for found in Entities(sentences, IOB2).entities]
    assert [[(label, start, end) for start, end, label in spans_of(tags)] for tags in sentences] == expected
    assert any(tag == "I-x" and tags[i - 1 : i] != ["B-x"] for tags in sentences for i, tag in enumerate(tags))
