"""The two passes over pairs: they agree with reading all of them at once, and keep a bounded part."""

import numpy as np
import pytest

from pipelines.data import sample_pairs
from pipelines.data.pairs import Pairs
from pipelines.data.splits import seen_in, validation_rows
from pipelines.shards import first_pass
from pipelines.shards.held_out import HeldOut
from pipelines.support.errors import UserError
from pipelines.translation import survey as surveys


def chunks_of(pairs, size=37):
    return lambda: (pairs.take(slice(first, first + size)) for first in range(0, len(pairs), size))


def survey(pairs, fraction=0.05, own=None):
    return surveys.survey(chunks_of(pairs)(), fraction, 1, own)


def passed(pairs, found):
    """Returns (the second pass after it has read all pairs, its training pairs)."""
    rows = surveys.Rows(chunks_of(pairs), found)
    training = [pair for chunk in rows.training() for pair in zip(chunk.source, chunk.target, strict=True)]
    return rows, training


def numbered(count):
    return Pairs.of([(f"source {i}", f"target {i}") for i in range(count)])


@pytest.mark.parametrize("fraction", [0.01, 0.05, 0.5])
def test_both_passes_give_the_splits_of_a_training_in_memory(fraction):
    pairs = Pairs(*sample_pairs.generate(1000))
    pairs.source[900:] = [source.upper() for source in pairs.source[:100]]  # the same words as in validation
    held_out = validation_rows(pairs.source, fraction)
    train, valid = pairs.take(~held_out), pairs.take(held_out)
    repeated = seen_in(train.source, valid.source)
    train = train.take(~repeated)
    found = survey(pairs, fraction)
    rows, training = passed(pairs, found)
    assert training == found.sample == list(zip(train.source, train.target, strict=True))
    assert rows.held_out == surveys.as_rows(valid)
    assert rows.notes == ({surveys.REPEATED: int(repeated.sum())} if repeated.any() else {})
    assert found.rows == 1000 and found.characters == sum(map(len, [*pairs.source, *pairs.target]))


def test_of_many_pairs_those_with_the_lowest_hashes_are_held_out(monkeypatch):
    pairs = numbered(3000)
    everything = survey(pairs, 0.02).held_out.groups
    monkeypatch.setattr(first_pass, "_MAX_CANDIDATES", 100)
    assert survey(pairs, 0.02).held_out.groups.tolist() == everything.tolist() and len(everything) == 60


def test_the_number_of_validation_pairs_is_limited(monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 50)
    rows, training = passed(numbered(5000), survey(numbered(5000)))
    assert len(rows.held_out) == 50 and len(training) == 4950 and rows.notes == {}


def test_of_a_sentence_with_very_many_translations_few_are_kept(monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 20)
    pairs = Pairs.of([("a", f"target {i}") for i in range(500)] + [("b", f"target {i}") for i in range(500)])
    rows, training = passed(pairs, survey(pairs))
    assert len(rows.held_out) == 20 and len({source for source, _ in training}) == 1 and len(training) == 500
    assert rows.notes == {"left out of validation, more than 20 pairs to score on": 480}


def test_the_sample_for_the_tokenizers_is_limited(monkeypatch):
    monkeypatch.setattr(surveys, "_MAX_SAMPLE", 5000)
    found = survey(numbered(3000))
    assert 1000 < sum(len(text) for pair in found.sample for text in pair) <= 5000
    assert not {source for source, _ in found.sample} & {
        row["source"] for row in passed(numbered(3000), found)[0].held_out
    }


def test_ones_own_validation_pairs_hold_out_nothing_else():
    pairs = numbered(200)
    rows, training = passed(pairs, survey(pairs, own=HeldOut.of_texts(["SOURCE  7", "x"])))
    assert rows.held_out == [] and len(training) == 199 and ("source 7", "target 7") not in training
    assert rows.notes == {surveys.REPEATED: 1}


def test_what_was_dropped_while_reading_is_counted():
    chunks = [Pairs.of([(f"a {i}", "b")], {"no tab": i}) for i in range(4)]
    assert surveys.survey(chunks, 0.5, 1, None).dropped == {"no tab": 6}


def test_one_source_sentence_cannot_be_split():
    with pytest.raises(UserError, match="all rows are in one group"):
        survey(Pairs.of([("a", "b"), ("a", "c")]))


def test_the_lowest_pairs_of_a_large_validation_set(monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 10)
    kept, others = surveys.lowest(chunks_of(numbered(300))())
    assert len(kept) == 10 and others == 290 and isinstance(kept.source, np.ndarray)
    assert surveys.too_many("test") == "left out of test, more than 10 pairs to score on"
