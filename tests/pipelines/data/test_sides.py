from pipelines.data.sides import Sides
from tests.pipelines.made_sentences import sentences

SPANISH = "rojo verde azul viejo nuevo casa arbol nube calle ventana musica papel piedra luz agua pan historia jardin"


def test_exchanged_pairs_are_told_from_the_others():
    sources, targets = sentences(200), sentences(200, words=SPANISH)
    exchanged = (3, 77)
    for row in exchanged:
        sources[row], targets[row] = targets[row], sources[row]
    sides = Sides(sources, targets)
    found = [row for row, pair in enumerate(zip(sources, targets, strict=True)) if sides.are_exchanged(*pair)]
    assert found == list(exchanged)


def test_words_that_are_only_in_the_pair_say_nothing():
    sides = Sides([*sentences(50), "x y z"], [*sentences(50, words=SPANISH), "u v w"])
    assert not sides.are_exchanged("x y z", "u v w") and not sides.are_exchanged("", "")


def test_pairs_of_one_language_have_no_sides():
    sources, targets = sentences(200, seed=1), sentences(200, seed=2)
    sides = Sides(sources, targets)
    assert sum(sides.are_exchanged(*pair) for pair in zip(sources, targets, strict=True)) <= 2
