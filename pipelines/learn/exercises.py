"""Exercises of the teaching material with their solutions, computed by Keras's layers."""

import keras
import numpy as np

from pipelines.learn.steps import Lesson, Step, Values


def exercise_1() -> Lesson:
    """Returns the forward pass of a recurrent network with two units over three inputs."""
    w, u = np.array([[0.5, 0.3], [0.2, 0.4]]), np.array([[0.1, 0.2], [0.3, 0.1]])
    inputs = np.array([[1, 0], [0, 1], [1, 1]])
    layer = keras.layers.SimpleRNN(2, activation="tanh", return_sequences=True)
    layer.build((1, 3, 2))
    layer.set_weights([w.T, u.T, np.zeros(2)])  # Keras multiplies rows: x W^T
    states = keras.ops.convert_to_numpy(layer(inputs[None].astype("float32")))[0]

    steps = [
        Step(
            "The weights, the inputs and the first state",
            "h = tanh(W x + U h' + b)     h' is the state of the step before",
            (
                *(Values("W", w, digits=1), Values("U", u, digits=1), Values("b", np.zeros(2), digits=1)),
                *(Values(f"x{time + 1}", x) for time, x in enumerate(inputs)),
                Values("h0", np.zeros(2), digits=1),
            ),
        )
    ]
    before = np.zeros(2)
    for time, (x, state) in enumerate(zip(inputs, states, strict=True), 1):
        products = [keras.ops.convert_to_numpy(keras.ops.matmul(matrix, v)) for matrix, v in ((w, x), (u, before))]
        steps.append(
            Step(
                f"The state h{time}",
                f"h{time} = tanh(W x{time} + U h{time - 1} + b)",
                (
                    Values(f"W x{time}", products[0], digits=4),
                    Values(f"U h{time - 1}", products[1], digits=4),
                    Values("sum", products[0] + products[1], digits=4),
                    Values(f"h{time}", state, digits=4),
                ),
                "keras.layers.SimpleRNN",
            )
        )
        before = state
    steps.append(
        Step(
            "Answer",
            values=(Values("h", states, rows=("h1", "h2", "h3"), digits=4),),
            text="The same W, U and b serve each step. x1 reaches h3 only through U, twice.",
        )
    )
    return Lesson(
        "exercise 1: the states of a small recurrent network",
        "Which states does a recurrent network with two units pass through when it reads three vectors?",
        tuple(steps),
    )


def exercise_5() -> Lesson:
    """Returns the update of an LSTM's cell from given gates."""
    forget, write = np.array([0.9, 0.3]), np.array([0.2, 0.8])
    candidate, before = np.array([0.0, 1.0]), np.array([1.0, 0.5])
    output = np.array([0.5, 0.5])  # not given: c does not depend on it
    # The exercise gives the gates themselves. A cell with zero weights whose biases are their logits has these gates.
    cell = keras.layers.LSTMCell(2, unit_forget_bias=False)
    cell.build((1, 1))
    logits = [np.log(gate / (1 - gate)) for gate in (write, forget, output)]
    before_tanh = np.arctanh(np.minimum(candidate, 1 - 1e-16))  # finite, and its tanh in float32 is the candidate
    bias = np.concatenate([logits[0], logits[1], before_tanh, logits[2]])  # Keras's order: i, f, g, o
    cell.set_weights([np.zeros((1, 8)), np.zeros((2, 8)), bias])
    _, (_, state) = cell(np.zeros((1, 1)), [np.zeros((1, 2)), before[None]])
    state = keras.ops.convert_to_numpy(state)[0]

    return Lesson(
        "exercise 5: the update of an LSTM's cell",
        "What does an LSTM's cell hold after a step, if its gates and its former content are known?",
        (
            Step(
                "What is known",
                "c = f * c' + i * g     products of each unit with itself, c' is the cell of the step before",
                (
                    Values("c'", before, digits=2),
                    *(Values("f", forget, digits=2), Values("i", write, digits=2), Values("g", candidate, digits=2)),
                ),
                text="f is the forget gate (1 keeps), i the input gate (1 writes), g the new content.",
            ),
            Step(
                "What is kept, what is written, and their sum",
                "c = f * c' + i * g",
                (
                    Values("f * c'", forget * before, digits=2),
                    *(Values("i * g", write * candidate, digits=2), Values("c", state, digits=2)),
                ),
                "keras.layers.LSTMCell",
            ),
            Step(
                "Answer",
                values=(Values("c", state, digits=2),),
                text="The first unit keeps 90 % of what it held and adds nothing: its new content is 0, whatever the "
                "input gate is. The second keeps 30 % and writes 0.8, most of its new content. Nothing is multiplied "
                "by a matrix on the way from c' to c: the factor is f, so a gate near 1 lets content and gradient pass "
                "many steps.",
            ),
        ),
    )


def exercise_6() -> Lesson:
    """Returns the numbers of parameters of a simple RNN, a GRU and an LSTM of the same size."""
    n, d = 128, 256
    simple, lstm = keras.layers.SimpleRNN(d), keras.layers.LSTM(d)
    gru, keras_gru = keras.layers.GRU(d, reset_after=False), keras.layers.GRU(d)
    counts = []
    for layer in (simple, gru, lstm, keras_gru):
        layer.build((None, None, n))
        counts.append([*(int(np.prod(weight.shape)) for weight in layer.weights), layer.count_params()])
    total = [row[-1] for row in counts[:3]]
    names = ("SimpleRNN", "GRU", "LSTM")
    layer = "keras.layers.SimpleRNN, GRU, LSTM"
    return Lesson(
        "exercise 6: the parameters of a simple RNN, a GRU and an LSTM",
        f"How many parameters do the three layers have for inputs of size {n} and {d} units?",
        (
            Step(
                "One set of weights: W, U and b",
                f"W: d * n     U: d * d     b: d     together d (n + d + 1), with n = {n} and d = {d}",
                (Values("d (n + d + 1)", np.array(d * (n + d + 1))),),
                text="A simple RNN has one set. A GRU has three: update gate, reset gate, candidate. An LSTM has four: "
                "input, forget and output gate, candidate.",
            ),
            Step(
                "The weights of the layers",
                "SimpleRNN: d (n + d + 1)     GRU: 3 d (n + d + 1)     LSTM: 4 d (n + d + 1)",
                (Values("count", np.array(counts[:3]), rows=names, columns=("W", "U", "b", "all")),),
                layer,
            ),
            Step(
                "Answer",
                values=(
                    Values("parameters", np.array(total), columns=names),
                    Values("% of the LSTM", np.array(total) / total[-1] * 100, columns=names, digits=0),
                ),
                text="A GRU has 25 % fewer parameters than an LSTM, whatever the sizes are. Keras's GRU has by default "
                f"(reset_after=True) a second bias for each unit and set: {counts[-1][-1]:,}.",
            ),
        ),
    )


def exercise_10() -> Lesson:
    """Returns what the perplexities 150 and 80 say of two language models."""
    perplexities = np.array([150, 80])
    entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # A model that finds N words equally likely: its logits are equal, and any word may follow.
    losses = np.array([float(entropy(np.zeros(1), np.zeros((1, n)))) for n in perplexities])
    difference = losses[0] - losses[1]
    ratio, words = np.exp(difference), 20
    models = ("n-gram", "LSTM")
    return Lesson(
        "exercise 10: perplexity 150 against 80",
        "An n-gram model has the perplexity 150 on a text, an LSTM 80 on the same text: how much better is the LSTM?",
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
                "log 150 - log 80 = log(150 / 80)",
                (
                    Values("nats", np.array(difference)),
                    Values("bits", np.array(difference / np.log(2))),
                    Values("150 / 80", np.array(ratio)),
                ),
                text=f"In the geometric mean over the text, the LSTM gives the word that comes {ratio:.3f} times the "
                "probability that the n-gram model gives it.",
            ),
            Step(
                f"The difference for a sentence of {words} words",
                f"(150 / 80)^{words}",
                (Values("ratio", np.array(ratio**words), digits=0),),
                text="Probabilities of words are multiplied, so the ratio grows with the length.",
            ),
            Step(
                "Answer",
                text="The LSTM is as unsure as if it chose among 80 words, the n-gram model as if among 150. Per word "
                f"that is {difference:.2f} nats or {difference / np.log(2):.2f} bits less; a sentence of {words} words "
                f"is {ratio**words:,.0f} times as probable. Two perplexities can be compared only on the same text "
                "with the same vocabulary.",
            ),
        ),
    )


EXERCISES = {1: exercise_1, 5: exercise_5, 6: exercise_6, 10: exercise_10}
