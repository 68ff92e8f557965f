import pytest

from pipelines.support.scores import Score, score_of


@pytest.mark.parametrize(
    ("score", "number", "percent", "points", "for_terminal"),
    [
        (
            Score(0.89614, (0.8834, 0.90711)),
            "0.896 (0.883 to 0.907)",
            "89.6 % (88.3 to 90.7)",
            "+89.6 (+88.3 to +90.7)",
            "0.8961   (95 % interval 0.8834 to 0.9071)",
        ),
        (Score(-0.012), "-0.012", "-1.2 %", "-1.2", "-0.0120"),
        (Score(None, (0.1, 0.2)), "-", "-", "-", "-"),
        (Score(1.0, [0.0, 1.0]), "1.000 (0.000 to 1.000)", "100.0 % (0.0 to 100.0)", "+100.0 (+0.0 to +100.0)",
         "1.0000   (95 % interval 0.0000 to 1.0000)"),
    ],
)  # fmt: skip
def test_a_score_has_one_format_for_each_medium(score, number, percent, points, for_terminal):
    assert (score.number(), score.percent(), score.points(), score.for_terminal()) == (
        number,
        percent,
        points,
        for_terminal,
    )


def test_the_interval_of_a_measure_stands_beside_it():
    scores = {"f1": 0.5, "f1_interval": (0.4, 0.6), "loss": 1.5}
    assert score_of(scores, "f1") == Score(0.5, (0.4, 0.6))
    assert score_of(scores, "loss") == Score(1.5) and score_of(scores, "absent") == Score(None)
