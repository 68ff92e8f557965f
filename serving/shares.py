"""Divides what is limited among those who use it at the same time, so that nobody takes it all."""

import collections
import threading
from collections.abc import Hashable


class Shares:
    """Units that many holders use at the same time.

    A holder may take more while it holds at most `weight` times what is free. So one holder alone gets the part
    weight / (weight + 1) of all units. If several compete, each gets less, and some units stay free for another one.

    A unit may have several holders: a request belongs to a client and to a model. Threads may call all methods.

    Args:
        number: the number of units.

    Attributes:
        num_taken: the units in use.
    """

    def __init__(self, number: int):
        self.number, self.num_taken = number, 0
        self._held: collections.Counter[Hashable] = collections.Counter()
        self._lock = threading.Lock()

    def is_used_up(self, num_units: int = 1) -> bool:
        """Whether fewer than `num_units` are free."""
        return self.num_taken + num_units > self.number

    def has_its_share(self, holder: Hashable, weight: int, minimum: int = 0, num_own: int = 0) -> bool:
        """Whether a holder has so much that it must leave the rest to others.

        Args:
            holder: who wants more.
            weight: how many times what is free it may hold.
            minimum: below this number it may always take more.
            num_own: units of the holder that count as free, because what asks has taken them itself.
        """
        with self._lock:
            return self._has_its_share(self._held[holder] - num_own, self.num_taken - num_own, weight, minimum)

    def _has_its_share(self, num_held: int, num_taken: int, weight: int, minimum: int = 0) -> bool:
        return num_held >= minimum and num_held > weight * (self.number - num_taken)

    def take(self, num_units: int, *holders: Hashable) -> None:
        """Counts units for all these holders."""
        with self._lock:
            self.num_taken += num_units
            self._held.update(dict.fromkeys(holders, num_units))

    def join(self, num_units: int, holder: Hashable, weight: int) -> bool:
        """Counts units that have been taken already for a further holder. Returns False if that has its share."""
        with self._lock:
            if self._has_its_share(self._held[holder], self.num_taken - num_units, weight):
                return False
            self._held[holder] += num_units
            return True

    def give_back(self, num_units: int, *holders: Hashable) -> None:
        """Frees units. `holders` are all that have been counted."""
        with self._lock:
            self.num_taken -= num_units
            for holder in holders:
                self._held[holder] -= num_units
                if not self._held[holder]:
                    del self._held[holder]  # else the names that clients make up would stay forever
