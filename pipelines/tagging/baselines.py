"""Baselines of a tagger: counts of the training set, and a linear model, without a network.

They show whether a model is worth its training. They take seconds. Their settings are fixed: nothing is tuned to the
data.
"""

import collections

from pipelines.tagging import hidden_markov
from pipelines.tagging.hidden_markov import Sentences


def most_frequent_tag(train_tokens: Sentences, train_tags: Sentences, tokens: Sentences) -> list[list[str]]:
    """Gives each word the tag that it has most often in training.

    Words that are not in training get the most frequent tag of the words that occur there once: those are most like
    them. Of equally frequent tags, the first one in the training set counts.

    Args:
        train_tokens, train_tags: the training sentences, at least one.
        tokens: sentences to tag.
    """
    tags_of = collections.defaultdict(collections.Counter)
    for words, tags in zip(train_tokens, train_tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            tags_of[word][tag] += 1
    tag_of = {word: counts.most_common(1)[0][0] for word, counts in tags_of.items()}
    of_rare = collections.Counter(tag_of[word] for word, counts in tags_of.items() if counts.total() == 1)
    of_all = of_rare or collections.Counter(tag for tags in train_tags for tag in tags)
    of_unknown = of_all.most_common(1)[0][0]
    return [[tag_of.get(word, of_unknown) for word in words] for words in tokens]


def hidden_markov_model(train_tokens: Sentences, train_tags: Sentences, tokens: Sentences) -> list[list[str]]:
    """Tags sentences with a hidden Markov model of second order; see `hidden_markov`.

    Args:
        train_tokens, train_tags: the training sentences, at least one.
        tokens: sentences to tag.
    """
    decoder = hidden_markov.Decoder(hidden_markov.fit(train_tokens, train_tags))
    return [decoder.tag(words) for words in tokens]


def linear_model(train_tokens: Sentences, train_tags: Sentences, tokens: Sentences) -> list[list[str]]:
    """Tags sentences with the model of `--model linear`, a conditional random field over features of each token.

    Args:
        train_tokens, train_tags: the training sentences, at least one.
        tokens: sentences to tag.
    """
    from pipelines.tagging import linear  # imports TensorFlow

    return linear.fit_and_tag(train_tokens, train_tags, tokens)
