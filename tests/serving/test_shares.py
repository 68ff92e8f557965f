import threading

import pytest

from serving.shares import Shares


def fill(shares, weights, **options):
    """Takes a unit for each holder in turn until all have their share. Returns holder -> units."""
    held = dict.fromkeys(weights, 0)
    while True:
        wanting = [
            holder
            for holder, weight in weights.items()
            if not shares.is_used_up() and not shares.has_its_share(holder, weight, **options)
        ]
        if not wanting:
            return held
        for holder in wanting:
            if not shares.is_used_up() and not shares.has_its_share(holder, weights[holder], **options):
                shares.take(1, holder)
                held[holder] += 1


@pytest.mark.parametrize(("weight", "part"), [(1, 129), (2, 171), (3, 193)])
def test_one_holder_alone_gets_its_part(weight, part):
    assert fill(Shares(256), {"a": weight}) == {"a": part}


def test_several_holders_get_the_same_and_leave_some_for_another():
    shares = Shares(256)
    held = fill(shares, {"a": 1, "b": 1, "c": 1})
    assert max(held.values()) - min(held.values()) <= 1 and sum(held.values()) < 200
    assert not shares.is_used_up() and not shares.has_its_share("d", 1)


def test_a_minimum_can_be_taken_while_units_are_free():
    shares = Shares(64)
    assert fill(shares, dict.fromkeys("abcdefgh", 1), minimum=8) == dict.fromkeys("abcdefgh", 8)
    assert shares.is_used_up()


def test_the_own_units_do_not_count():
    shares = Shares(10)
    shares.take(8, "a")
    assert shares.has_its_share("a", 1) and not shares.has_its_share("a", 1, num_own=8)


def test_a_unit_counts_for_all_its_holders_and_nothing_stays_of_them():
    shares = Shares(4)
    shares.take(3, "client", "model")
    assert shares.join(3, "lane", 2) and not shares.join(3, "lane", 0)
    assert shares.num_taken == 3 and not shares.is_used_up() and shares.is_used_up(2)
    assert all(shares.has_its_share(holder, 2) for holder in ("client", "model", "lane"))
    shares.give_back(3, "client", "model", "lane")
    assert shares.num_taken == 0 and not shares._held


def test_threads_lose_no_count():
    shares = Shares(10)

    def take_and_give_back():
        for _ in range(2000):
            shares.take(1, "a")
            shares.give_back(1, "a")

    threads = [threading.Thread(target=take_and_give_back) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shares.num_taken == 0 and not shares._held
