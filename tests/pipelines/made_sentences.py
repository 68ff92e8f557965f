"""Sentences that differ, for data in which `doctor` finds nothing."""

import random

_WORDS = (
    "red green blue old new small large quiet house river tree cloud street window music paper stone light water bread "
    "story garden teacher winter summer market bridge letter number village table mountain island morning evening coast"
)


def sentences(count: int, seed: int = 0, words: str = _WORDS) -> list[str]:
    """Returns `count` different sentences of 6 to 14 words."""
    generator, known = random.Random(seed), words.split()
    made: dict[str, None] = {}
    while len(made) < count:
        made[" ".join(generator.choices(known, k=generator.randint(6, 14)))] = None
    return list(made)
