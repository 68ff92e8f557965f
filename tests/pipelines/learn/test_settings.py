import pytest

from pipelines.learn.settings import (
    WORKED_EXAMPLE,
    changed,
    check_number,
    parse_changes,
    parse_distances,
    parse_networks,
)
from pipelines.support.errors import UserError


def test_changes_name_places_by_number_or_word():
    changes = parse_changes(("W[0,1]=0.5", " V[ so , 1 ] = -1e-1", "E[4,0]=10"))
    assert changes == {("W", 0, 1): 0.5, ("V", 3, 1): -0.1, ("E", 4, 0): 10.0}
    matrices = changed(changes)
    assert matrices["W"] == [[0.375, 0.5], [0.732, 0.599]]
    assert matrices["V"][3] == [0.182, -0.1] and matrices["E"][4] == [10.0, 0.175]
    assert matrices["U"] == WORKED_EXAMPLE["U"]
    assert WORKED_EXAMPLE["W"][0][1] == 0.951, "the material's numbers stay"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["W=1"], "--set W=1: write it as MATRIX[ROW,COLUMN]=NUMBER, such as W[0,1]=0.5"),
        (["W[0]=1"], "write it as"),
        (["w[0,0]=1"], "no matrix 'w': choose E, W, U, V"),
        (["W[2,0]=1"], "no row of W '2': choose a number from 0 to 1"),
        (["W[0,-1]=1"], "write it as"),
        (["W[so,0]=1"], "no row of W 'so'"),
        (["V[0,2]=1"], "no column of V '2'"),
        (["E[5,0]=1"], "no row of E '5': choose a number from 0 to 4"),
        (["E[thank,0]=1"], "no word 'thank'; did you mean thanks?"),
        (["E[fish,0]=1"], "no word 'fish': choose and, for, long, so, thanks"),
        (["W[0,0]="], "'' is no number"),
        (["W[0,0]=1,5"], "'1,5' is no number"),
        (["W[0,0]=nan"], "between -10 and 10"),
        (["W[0,0]=11"], "between -10 and 10"),
        (["E[so,0]=1", "E[3,0]=1"], "was set before"),
        (["W[\N{SUPERSCRIPT TWO},0]=1"], "no row of W"),
    ],
)
def test_what_cannot_be_set_is_named(settings, message):
    with pytest.raises(UserError) as error:
        parse_changes(tuple(settings))
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("number", [float("nan"), float("-inf"), 10.1])
def test_numbers_out_of_range_are_refused(number):
    with pytest.raises(UserError):
        check_number("--query", number)
    check_number("--query", -10.0)


def test_distances_and_networks_are_separated_by_commas():
    assert parse_distances("20, 5,100") == (5, 20, 100)
    assert parse_networks("lstm, simple") == ("lstm", "simple")


@pytest.mark.parametrize("text", ["", "1", "501", "5.5", "-5", "5,05", "\N{SUPERSCRIPT TWO}", "a", "5,5"])
def test_what_is_no_distance_is_refused(text):
    with pytest.raises(UserError, match="^--distances "):
        parse_distances(text)


@pytest.mark.parametrize("text", ["", "LSTM", "lstm,", "lstm,lstm"])
def test_what_is_no_network_is_refused(text):
    with pytest.raises(UserError, match="^--networks "):
        parse_networks(text)
