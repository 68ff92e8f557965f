"""The figures of the books: what each says, the command that measures it here, and what comes out."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pipelines.support.installation import shell_command

if TYPE_CHECKING:
    from pipelines.learn.steps import Lesson


class BookFigure(NamedTuple):
    """A figure of a book, or several of the same kind."""

    number: str
    """In chapter 5, or the book that has it."""
    says: str
    here: str
    """What one sees here, and where the book differs."""
    commands: tuple[str, ...]
    """What measures it, after `python main.py`."""


FIGURES = {
    "bank": BookFigure(
        "5.1",
        'One static vector of "bank", two in context',
        "Neighbours by the embedding, and by the vector of each occurrence.",
        (
            "inspect embeddings --treebank FILE.conllu --words bank",
            'predict encoder --near "river bank" "savings bank"',
        ),
    ),
    "compression": BookFigure(
        "5.2, 5.4",
        "A text is compressed into one vector",
        "The vector after each token, and what a linear probe still reads from it. The first state is zero or, with "
        "`train ... --learned-state`, learned.",
        ("inspect states TEXT", "inspect memory"),
    ),
    "trophy": BookFigure(
        "5.3",
        "The running example of the trophy",
        'Its own sentence tests no memory: "was" stands next to "it" (docs/learning.md).',
        ('inspect agreement "The trophy that the athletes won"',),
    ),
    "cell-simple": BookFigure(
        "5.5", "A simple recurrent cell", "Each number of one step.", ("learn figures cell-simple", "inspect size")
    ),
    "cell-lstm": BookFigure(
        "5.10",
        "An LSTM cell",
        "Each number of one step; with a trained model, a click on a cell of the page.",
        ("learn figures cell-lstm", "inspect gates TEXT"),
    ),
    "cell-gru": BookFigure(
        "5.17",
        "A GRU cell",
        "Each number of one step. In Keras the update gate keeps, in the book it writes.",
        ("learn figures cell-gru", "inspect gates TEXT"),
    ),
    "unrolled": BookFigure(
        "5.2, 5.6",
        "A network unrolled over a sentence",
        "Any sentence, with its numbers; the weights are the same at each step.",
        ('learn figures unrolled --text "so long and"', "learn so-long-and"),
    ),
    "path": BookFigure(
        "5.7",
        "The path of the hidden state",
        "The path in the plane of the states of --data.",
        ("inspect states TEXT",),
    ),
    "decay": BookFigure(
        "5.8",
        "What a state forgets over the words",
        "The number of the subject is kept over 24 words by every architecture; single words are lost within eight.",
        ("inspect memory --grammar",),
    ),
    "gradients": BookFigure(
        "5.9, 5.15",
        "A gradient vanishes within 5 to 7 steps of a simple network, and not in an LSTM",
        "True of trained networks. 5.15 leaves out the forget bias; of untrained ones it depends on the first weights.",
        ("inspect gradients --untrained --forget-bias 0 1 3 5",),
    ),
    "gate-surface": BookFigure(
        "5.11",
        "The surface of a gate over its two inputs",
        "A gate of one unit. One of a trained model has hundreds of inputs: its values on a text, and a surface over "
        "the plane of its states.",
        ("learn figures gate-surface", "inspect states TEXT --surface TOKEN"),
    ),
    "highway": BookFigure(
        "5.12",
        "The cell of an LSTM as a highway of the gradient",
        "The columns of h and c: in a trained LSTM, c keeps the gradient a little longer than h.",
        ("inspect gradients",),
    ),
    "gates": BookFigure(
        "5.13, 5.16",
        'Gates over a sentence and by kind of word; a gate "resets" by a high forget gate',
        "With intervals. A high forget gate keeps; it does not reset.",
        ("inspect gates TEXT --treebank FILE.conllu",),
    ),
    "cell-path": BookFigure(
        "5.14",
        "The path of the cell is smoother than that of the hidden state",
        "The mean step of each as a number: smoother in a model of characters, hardly in one of words.",
        ("inspect states TEXT",),
    ),
    "parameters": BookFigure(
        "5.18",
        "Parameters of the three cells",
        "98,560, 295,680 and 394,240: the numbers of the figure contradict its formulas.",
        ("learn exercise 6", "inspect size"),
    ),
    "agreement": BookFigure(
        "5.19",
        "P(was) word by word",
        "P(was) and P(were) after each word, a curve for each model.",
        ('inspect agreement "The flights the airline was canceling" --models simple gru lstm',),
    ),
    "bptt": BookFigure(
        "5.20, 5.22",
        "The gradient flows back through the unrolled network, and truncation cuts its way",
        "Each gradient as a number. Beyond the cut there is none; the state is carried all the same.",
        ("learn figures bptt --truncate 2", "learn backward"),
    ),
    "gradient-map": BookFigure(
        "5.21", "Gradients over time and layer", "A map of both, of a model of several layers.", ("inspect gradients",)
    ),
    "curves": BookFigure(
        "5.23",
        "Learning curves",
        "In each report. A perplexity of 450 is far from guessing, which has that of the vocabulary's size.",
        ("train char-lm", "compare RUN RUN"),
    ),
    "counts": BookFigure(
        "5.24",
        "From counts to states",
        "The loss by the length of the context of n-grams, windows and a recurrent network (docs/language-models.md).",
        ("train char-lm --model feedforward",),
    ),
    "surface": BookFigure(
        "5.25",
        "P(w) over two components of the state",
        "The probability over the plane, computed by the output layer.",
        ("inspect states TEXT --surface TOKEN",),
    ),
    "distance": BookFigure(
        "5.26",
        "Accuracy of agreement by distance: the simple network falls to chance",
        "It does not on a grammar that it has learned; on real sentences all architectures do where nouns deceive.",
        ("inspect agreement --grammar", "inspect agreement --treebank FILE.conllu"),
    ),
    "layers": BookFigure(
        "5.27",
        "What each layer of a stack learns",
        "Probes of each layer: the part of speech is there after one, relations between words grow over several.",
        ("inspect layers --treebank FILE.conllu", "inspect memory --grammar"),
    ),
    "summary": BookFigure("5.28", "The cells of the chapter", "Side by side, counted.", ("learn figures summary",)),
    "encoder-decoder": BookFigure(
        "encoder and decoder",
        "A context at the first step, at each step, and attention",
        "The three decoders with their numbers. Trained, attention shows which words belong together.",
        ("learn figures encoder-decoder", "learn lesson 8"),
    ),
    "transformer-shapes": BookFigure(
        "Transformer",
        "5 N skip connections and 2 N feed-forward networks",
        "Counted in the network that `train nmt --model transformer` builds, with the shape after each part.",
        ("learn figures transformer-shapes",),
    ),
}
"""Name -> figure, in the order of the books."""


def figure(name: str, text: str, truncate: int | None) -> "Lesson":
    """Returns the drawing of a figure as steps; of one that another command draws, that command.

    Args:
        name: key of `FIGURES`.
        text: of "unrolled".
        truncate: of "bptt".
    """
    from pipelines.learn.figures import cells, encoder_decoder, shapes, summary, surface, unrolled

    drawings: dict[str, Callable[[], Lesson]] = {
        **{cell: lambda cell=cell: cells.lesson(cell) for cell in cells.CELLS},
        "unrolled": lambda: unrolled.unrolled(text),
        "bptt": lambda: unrolled.bptt(truncate),
        "gate-surface": surface.gate_surface,
        "encoder-decoder": encoder_decoder.encoder_decoder,
        "transformer-shapes": shapes.transformer_shapes,
        "summary": summary.summary,
    }
    return with_book(name, drawings.get(name))


def with_book(name: str, draw: "Callable[[], Lesson] | None") -> "Lesson":
    """Returns the steps of a drawing, and a last one with what the book says and what was measured."""
    from pipelines.learn.steps import Lesson, Step

    found = FIGURES[name]
    more = [f"{shell_command()} {each}" for each in found.commands]
    text = f"The book ({found.number}): {found.says}. Here: {found.here}"
    book = Step("The book and here", text=text, picture=tuple(more))
    if draw is None:
        return Lesson(f"figures {name}: {found.says}", f"Figure {found.number}; another command measures it.", (book,))
    lesson = draw()
    return dataclasses.replace(lesson, steps=(*lesson.steps, book))
