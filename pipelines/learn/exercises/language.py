"""Exercises 9, 10 and 11: long dependencies, perplexity, and what both directions see."""

import random

import keras
import numpy as np

from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values

# A beginning, the word that must follow, one that must not, the word it depends on, and the kind of the dependency.
_CONSTRUCTIONS = (
    ("the girls that the teacher praised saw", "themselves", "herself", "girls", "a reflexive"),
    ("the boy that the nurses liked hurt", "himself", "themselves", "boy", "a reflexive"),
    ("either you call the old friend of your mother now", "or", "and", "either", "either ... or"),
    ("neither the king nor his daughters", "knew", "knows", "nor", "neither ... nor"),
    ("which letters did the man at the door say he had", "read", "reads", "had", "a perfect"),
    ("not only the dog but", "also", "yet", "only", "not only ... but also"),
)
_BLANKS = (  # a sentence with a blank, the word that decides, what fits
    ("i am ___ because i have not had any meal today", "meal", "hungry"),
    ("the ___ flows to the sea past three towns", "flows", "river"),
    ("he put the letter into the ___ and wrote the address on it", "letter", "envelope"),
    ("they ___ the piano last night in the old hall", "piano", "played"),
)


def exercise_9(generator: random.Random | None = None) -> Lesson:
    """Returns three constructions whose last word depends on a word far before it.

    Args:
        generator: chooses others than the first ones.
    """
    chosen = generator.sample(_CONSTRUCTIONS, 3) if generator else _CONSTRUCTIONS[::2]
    rows = tuple(each[0] for each in chosen)
    distances = [len(words.split()) - words.split().index(on) for words, _, _, on, _ in chosen]
    return Lesson(
        "exercise 9: other dependencies over a distance",
        "Subject and verb are not the only words that depend on each other over a distance. Which word continues each "
        "beginning?",
        (
            Step("The beginnings", picture=rows),
            Step(
                "What each depends on",
                values=(
                    Values(
                        "words back", np.array(distances)[:, None], tuple(f"{on} ({kind})" for *_, on, kind in chosen)
                    ),
                ),
                text="A language model that remembers gives the right word a higher probability than the wrong one: "
                '`inspect agreement "BEGINNING" --candidates himself themselves --models NAME`.',
            ),
        ),
        tuple(
            Question(
                f'"{words} ___": {" or ".join(sorted((right, wrong)))}?', (right,), f'It depends on "{on}": {kind}.'
            )
            for words, right, wrong, on, kind in chosen
        ),
    )


def exercise_10(generator: random.Random | None = None) -> Lesson:
    """Returns what the perplexities 150 and 80 say of two language models; for the argument see `exercise_9`."""
    perplexities = np.array([150, 80])
    if generator:
        perplexities = np.array([generator.choice((120, 140, 180)), generator.choice((50, 60, 90))])
    first, second = map(int, perplexities)
    entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # A model that finds N words equally likely: its logits are equal, and any word may follow.
    losses = np.array([float(entropy(np.zeros(1), np.zeros((1, n)))) for n in perplexities])
    difference = losses[0] - losses[1]
    ratio, words = np.exp(difference), 20
    models = ("n-gram", "LSTM")
    return Lesson(
        f"exercise 10: perplexity {first} against {second}",
        f"An n-gram model has the perplexity {first} on a text, an LSTM {second} on the same text: how much better is "
        "the LSTM?",
        (
            Step(
                "What perplexity counts",
                "loss = -log(1 / N) = log N     perplexity = exp(loss) = N",
                (
                    Values("N", perplexities, columns=models),
                    Values("loss", losses, columns=models),
                    Values("exp(loss)", np.exp(losses), columns=models, digits=1),
                ),
                "keras.losses.SparseCategoricalCrossentropy",
                text="The losses are those of a model that finds N words equally likely. So perplexity is the number "
                "of equally likely words among which a choice would be as hard.",
            ),
            Step(
                "The difference for a word",
                f"log {first} - log {second} = log({first} / {second})",
                (
                    Values("nats", np.array(difference)),
                    Values("bits", np.array(difference / np.log(2))),
                    Values(f"{first} / {second}", np.array(ratio)),
                ),
                text=f"In the geometric mean over the text, the LSTM gives the word that comes {ratio:.3f} times the "
                "probability that the n-gram model gives it.",
            ),
            Step(
                f"The difference for a sentence of {words} words",
                f"({first} / {second})^{words}",
                (Values("ratio", np.array(ratio**words), digits=0),),
                text="Probabilities of words are multiplied, so the ratio grows with the length.",
            ),
            Step(
                "Answer",
                text=f"The LSTM is as unsure as if it chose among {second} words, the n-gram model as if among "
                f"{first}. Per word that is {difference:.2f} nats or {difference / np.log(2):.2f} bits less; a "
                f"sentence of {words} words is {ratio**words:,.0f} times as probable. Two perplexities can be compared "
                "only on the same text with the same vocabulary.",
            ),
        ),
        (
            Question(
                "How many nats per word is the LSTM's loss lower?",
                float(difference),
                "The difference of step 2.",
                0.0051,
            ),
            Question("How many bits is that?", float(difference / np.log(2)), "Nats divided by log 2: step 2.", 0.0051),
            Question(
                f"How many times as probable is a sentence of {words} words under the LSTM?",
                float(ratio**words),
                "The ratio of step 3.",
            ),
        ),
    )


def exercise_11(generator: random.Random | None = None) -> Lesson:
    """Returns what a network sees that reads in both directions; for the argument see `exercise_9`."""
    sentence, word, fits = generator.choice(_BLANKS) if generator else _BLANKS[0]
    words = sentence.split()
    blank = words.index("___")
    before, after = blank, len(words) - blank - 1
    is_before = words.index(word) < blank
    return Lesson(
        "exercise 11: what both directions add",
        f'"{sentence}": which word fits, and which networks can know?',
        (
            Step("The sentence", picture=(sentence,), text=f'"{word}" decides: {fits} fits.'),
            Step(
                "The words that each network has read at the blank",
                values=(
                    Values(
                        "words",
                        np.array([before, after, before + after]),
                        columns=("forward", "backward", "both directions"),
                    ),
                ),
                text=f'"{word}" stands {"before" if is_before else "after"} the blank. A model that writes a text '
                "has only what stands before; one that labels or fills in a text may read both: `train tagging "
                "--no-bidirectional` shows what that costs.",
            ),
        ),
        (
            Question("How many words has a network read that reads forward?", before, "The words before the blank."),
            Question("How many words has a bidirectional network read?", before + after, "All words but the blank."),
            Question(
                f'Which direction alone reads "{word}" before the blank: `forward` or `backward`?',
                ("forward",) if is_before else ("backward",),
                f'"{word}" stands {"before" if is_before else "after"} it: step 2.',
            ),
        ),
    )
