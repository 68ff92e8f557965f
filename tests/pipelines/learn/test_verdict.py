"""The verdict on a claim, against examples computed by hand."""

import math

import pytest

from pipelines.learn.claims import Claim, Prediction
from pipelines.learn.verdict import (
    FAILS,
    HOLDS,
    UNKNOWN,
    claimed,
    difference,
    differences,
    judge,
    judged_claim,
    measured,
    number_of,
    together,
)

INF = math.inf
# Of 1, 2, 3: mean 2, standard deviation 1, and t = 4.302653 with 2 degrees of freedom: 2 -+ 4.302653 / sqrt(3) =
# 2 -+ 2.484138.
T_2 = 4.302653


def training(loss, state="finished", **more):
    return {"state": state, "scores": {"loss": loss}, "parameters": 100, "epoch_seconds": [3.0, 2.0]} | more


def point(*losses, **more):
    return {"settings": {"n": len(losses)}, "seeds": {str(i): training(x, **more) for i, x in enumerate(losses, 1)}}


@pytest.mark.parametrize(
    ("found", "low", "high", "verdict"),
    [
        ([1, 2, 3], -0.49, INF, HOLDS),  # -.484 to 4.484
        ([1, 2, 3], -INF, 4.49, HOLDS),
        ([1, 2, 3], -0.48, INF, UNKNOWN),
        ([1, 2, 3], -INF, 4.48, UNKNOWN),
        ([1, 2, 3], 4.49, INF, FAILS),
        ([1, 2, 3], -INF, -0.49, FAILS),
        ([1, 2, 3], 0, 3, UNKNOWN),
        ([1, 2, 3], -1, 5, HOLDS),
        ([0, 0, 0], -INF, 0, FAILS),  # equal is not below
        ([0, 0, 0], 0, INF, FAILS),
        ([0, 0, 0], -0.1, 0.1, HOLDS),
        ([-0.25, -0.25], -0.27, -0.23, HOLDS),
        ([5], 0, INF, UNKNOWN),
        ([], 0, INF, UNKNOWN),
    ],
)
def test_the_verdict_compares_the_interval_with_the_claimed_range(found, low, high, verdict):
    assert judge(found, low, high).verdict == verdict


def test_the_interval_is_that_of_students_t():
    judged = judge([1, 2, 3], 0, INF)
    assert judged.mean == 2
    assert judged.interval == pytest.approx((2 - T_2 / math.sqrt(3), 2 + T_2 / math.sqrt(3)), abs=1e-5)
    assert measured(judged) == "+2, interval -0.484 to +4.48 of 3 seeds"
    assert judge([5], 0, INF).interval is None and "no interval" in measured(judge([5], 0, INF))
    assert measured(judge([], 0, INF)) == "not measured"
    assert measured(judge([-270790, -270790], -INF, 0)) == "-270,790, interval -270,790 to -270,790 of 2 seeds"


def test_differences_pair_the_seeds_and_leave_out_what_was_not_measured():
    points = [point(1.0, 2.0, math.nan, 4.0), point(1.5, 2.25, 3.0, None)]
    assert differences(Prediction("loss", 1, 0), points) == [0.5, 0.25]
    assert differences(Prediction("loss", 1, 0, relative=True), points) == [0.5, 0.125]
    assert differences(Prediction("bleu", 1, 0), points) == []
    assert differences(Prediction("loss", 1, 0), [point(1.0), point(2.0, state="failed")]) == []


def test_the_numbers_of_a_training():
    found = training(1.5, layers={"recurrent_1": 7})
    assert [number_of(found, each) for each in ("loss", "parameters", "seconds per epoch")] == [1.5, 100, 2.0]
    assert number_of(found, "parameters of recurrent_1") == 7
    assert number_of(found, "parameters of other") is None and number_of(found, "bleu") is None
    assert number_of(training(1.5, epoch_seconds=[]), "seconds per epoch") is None


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([HOLDS, HOLDS], HOLDS), ([HOLDS, UNKNOWN], UNKNOWN), ([UNKNOWN, FAILS, HOLDS], FAILS), ([HOLDS], HOLDS)],
)
def test_a_claim_holds_if_all_its_predictions_do(verdicts, expected):
    assert together(verdicts) == expected


def test_a_claim_of_two_predictions():
    points = [point(1.0, 1.1, 1.2), point(2.0, 2.1, 2.2)]
    claim = Claim(question="?", where="", says="", predictions=(Prediction("loss", 0, 1, high=0),))
    assert judged_claim(claim, points)[0] == HOLDS
    both = Claim(
        question="?",
        where="",
        says="",
        predictions=(*claim.predictions, Prediction("parameters", 0, 1, high=0)),
    )
    verdict, judged = judged_claim(both, points)
    assert verdict == FAILS and [each.verdict for each in judged] == [HOLDS, FAILS]


@pytest.mark.parametrize(
    ("prediction", "text", "claim"),
    [
        (Prediction("loss", 0, 1, high=0), "loss, n 1 minus n 2", "below 0"),
        (Prediction("loss", 1, 0, low=-1), "loss, n 2 minus n 1", "above -1"),
        (Prediction("parameters", 0, 1, -0.3, -0.2, True), "parameters, n 1 / n 2 - 1", "-0.3 to -0.2"),
    ],
)
def test_a_prediction_for_people(prediction, text, claim):
    assert difference(prediction, [point(1.0), point(1.0, 2.0)]) == text
    assert claimed(prediction) == claim
