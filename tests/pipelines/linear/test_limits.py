from layers import NGramLogits
from pipelines.linear import limits


def test_many_classes_have_shorter_ngrams_and_one_weighting():
    few, many = (limits.ngram_lengths(count, True) for count in (limits.MAX_FEW_CLASSES, limits.MAX_FEW_CLASSES + 1))
    assert few["max_n"] > many["max_n"] and few["max_characters"] == many["max_characters"] > 0
    assert limits.num_weightings(limits.MAX_FEW_CLASSES) > limits.num_weightings(limits.MAX_FEW_CLASSES + 1) == 1


def test_the_lengths_are_arguments_of_the_layer():
    for lengths in (limits.ngram_lengths(2, False), limits.ngram_lengths(50, True, marks=(3, 30))):
        layer = NGramLogits(2, 10, **lengths)
        assert layer.get_config()["max_characters"] == lengths["max_characters"]


def test_few_texts_have_few_ngrams():
    assert limits.num_ngrams(10, 10**6) < limits.num_ngrams(20, 10**6) < limits.num_ngrams(10**6, 10**6) == 10**6
