"""Figures 5.2, 5.6, 5.20 and 5.22: a recurrent network unrolled over time, forwards, and back with its gradient."""

import dataclasses

import numpy as np

from pipelines.learn.backward import INPUTS, backward
from pipelines.learn.figures.svg import WIDTH, Part, arrow, box, cut, drawing, drawn, numbers
from pipelines.learn.settings import WORDS, changed
from pipelines.learn.steps import Lesson, Step, Values
from pipelines.learn.worked_example import Forward, forward

_SEED = 1
_PITCH = 240  # from one state to the next
_SHOWN = 4  # states in a drawing that is built up: so many fit into a page
_LETTERS = 11  # of a word in a box
_TURNS = 2  # how often the inputs of pipelines/learn/backward.py are read
_BACK_PITCH = 190


def matrices(words: tuple[str, ...]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Returns the matrices E, W, U and V of the worked example and its words, with rows for the words that it lacks.

    Their rows are drawn from U(0, 1), as large as those of the worked example; a word's row depends on the word alone.
    """
    known = changed({})
    new = tuple(dict.fromkeys(word for word in words if word not in WORDS))
    rows = [np.random.default_rng([_SEED, *word.encode()]).uniform(size=(2, 2)).round(3) for word in new]
    added = {name: [[*row[i]] for row in rows] for i, name in enumerate("EV")}
    return {name: np.array(known[name] + added.get(name, [])) for name in known}, WORDS + new


def unrolled(given: str) -> Lesson:
    """Returns the steps of the network of the worked example over a sentence.

    Args:
        given: two words or more.
    """
    read = tuple(given.split())
    weights, words = matrices(read)
    rows = tuple(map(words.index, read))
    found = forward(weights, rows, rows[1:])
    best = found.probabilities.argmax(-1)
    steps = tuple(
        Step(
            f'Time {t}: "{word}" is read',
            f"h{t} = ReLU(U {_state(t - 1)} + W e{t})     y{t} = softmax(V h{t})",
            (
                Values(f"e{t}", found.inputs[t]),
                Values(f"U {_state(t - 1)}", found.recurrent[t]),
                Values(f"W e{t}", found.products[t]),
                Values(f"h{t}", found.states[t]),
                Values(f"y{t}[{words[best[t]]}]", found.probabilities[t, best[t]]),
            ),
            "keras.layers.Embedding, keras.layers.SimpleRNN, keras.layers.Dense",
            text=f"Above: the likeliest next word, of {len(words)}. The state h{t} is all that the network knows of "
            f"the {'word' if t == 0 else f'{t + 1} words'} so far, in two numbers, and W, U and V are the same at "
            "each time.",
        )
        for t, word in enumerate(read)
    )
    labels = [f"next: {_short(words[each])}" for each in best]
    steps = [
        dataclasses.replace(step, drawing=_draw(found, read, labels, max(0, t + 1 - _SHOWN), t))
        for t, step in enumerate(steps)
    ]
    if len(read) > _SHOWN:
        steps.append(Step("The whole network", drawing=_draw(found, read, labels, 0, None)))
    unknown = [word for word in read if word not in WORDS]
    return Lesson(
        f'figures unrolled: a recurrent network reads "{given}"',
        "How does one small network read a sentence of any length? It is drawn once for each word, with the numbers "
        "that it has there. The weights are those of `learn so-long-and`"
        + (f"; the rows of {', '.join(dict.fromkeys(unknown))} are random." if unknown else "."),
        tuple(steps),
        sources=("pipelines/learn/worked_example.py:forward",),
    )


def _draw(found: Forward, read: tuple[str, ...], labels: list[str], first: int, now: int | None) -> str:
    """Returns the drawing of the network from the time `first` on: all of it, or `_SHOWN` times, `now` among them."""
    shown = range(first, len(read) if now is None else min(len(read), first + _SHOWN))
    before = (np.zeros(2), *found.states)[first]
    parts = box(0, (70, 140), _state(first - 1), before, "state")
    for t in shown:
        x = 70 + _PITCH * (t - first + 1)
        parts += [
            *box(t, (x, 310), _short(read[t]), found.inputs[t], "input"),
            *box(t, (x, 140), _state(t), found.states[t], "state"),
            *box(t, (x, 40), labels[t], found.probabilities[t].max(), "gate"),
            *arrow(t, (x - _PITCH + WIDTH / 2, 140), (x - WIDTH / 2, 140)),
            *arrow(t, (x, 287), (x, 163)),
            *arrow(t, (x, 117), (x, 63)),
            *numbers(t, (x - _PITCH / 2, 130), found.recurrent[t], label=f"U {_state(t - 1)}"),
            *numbers(t, (x + 58, 235), found.products[t], label=f"W e{t}"),
        ]
    title = f"A recurrent network unrolled over {len(read)} words"
    return drawing(title, " ".join(read), (70 + _PITCH * len(shown) + 130, 345), parts, now)


def _short(word: str) -> str:
    """Returns a word that fits into a box."""
    return word if len(word) <= _LETTERS else f"{word[: _LETTERS - 1]}\u2026"


def _state(t: int) -> str:
    return f"h{t}" if t >= 0 else "h(-1)"


NUM_STEPS = _TURNS * len(INPUTS)


def bptt(truncate: int | None = None) -> Lesson:
    """Returns the steps of a gradient on its way back, computed by `pipelines.learn.backward.backward`.

    Args:
        truncate: the gradient of so many last steps alone is computed; all if not given.
    """
    inputs = np.tile(INPUTS, (_TURNS, 1))
    found = backward(inputs=inputs)
    norms = np.linalg.norm(found.of_states, axis=-1)
    of_u = found.of_u[NUM_STEPS - (truncate or NUM_STEPS) :]
    shares = np.linalg.norm(of_u, axis=(1, 2))
    times = range(NUM_STEPS, NUM_STEPS - len(of_u), -1)
    forwards = Step(
        "Forwards: the states and the loss",
        "h_t = tanh(W x_t + U h_(t-1))     L = 1/2 |h_T - target|^2",
        (
            *(Values(f"h{t}", found.states[t - 1]) for t in range(1, NUM_STEPS + 1)),
            Values("L", found.loss),
        ),
        text="The network of `learn backward`, with twice its inputs.",
    )
    back = [
        Step(
            f"Back to h{t}" if t < NUM_STEPS else f"The loss and h{t}",
            f"dL/dh{t} = U^T (dL/dh{t + 1} * (1 - h{t + 1}^2))" if t < NUM_STEPS else f"dL/dh{t} = h{t} - target",
            (Values(f"|dL/dh{t}|", norms[t - 1]),),
            text="" if t == NUM_STEPS else f"{norms[t - 1] / norms[t]:.2f} of the norm before is left.",
        )
        for t in times
    ]
    total = Step(
        "Each step adds its share to the gradient of U",
        "dL/dU = sum of (dL/dh_t * (1 - h_t^2)) h_(t-1)^T",
        (
            *(Values(f"share of step {t}", share) for t, share in zip(reversed(times), shares, strict=True)),
            Values("|dL/dU|", float(np.linalg.norm(of_u.sum(0)))),
        ),
        text=_what_is_left(found.of_u, of_u),
    )
    parts = _draw_back(found, norms, shares, len(of_u))
    return Lesson(
        "figures bptt: the gradient flows back through an unrolled network",
        f"How much of the gradient of a loss at step {NUM_STEPS} reaches the steps before it?",
        drawn(
            [forwards, *back, total], "Backpropagation through time", (60 + _BACK_PITCH * NUM_STEPS - 30, 350), parts
        ),
        sources=("pipelines/learn/backward.py:backward",),
    )


def _what_is_left(whole, of_u) -> str:
    if len(of_u) == len(whole):
        return "The norms of the shares. --truncate 2 cuts the way after two steps."
    missing = np.linalg.norm(whole.sum(0) - of_u.sum(0)) / np.linalg.norm(whole.sum(0))
    return (
        f"Cut after {len(of_u)} of {len(whole)} steps: what the earlier steps would add is {100 * missing:.1f} % of "
        "the whole gradient, in norm. The states are carried over the cut all the same."
    )


def _draw_back(found, norms, shares, steps_back: int) -> list[Part]:
    """Returns the parts: step 0 is the way forwards, then one for each arrow back, then the shares of U."""
    last, low = NUM_STEPS, 265
    end = steps_back + 1
    parts = [
        *box(0, (_x(last), 40), "L loss", found.loss),
        *arrow(0, (_x(last) + 20, 127), (_x(last) + 20, 63)),
        *arrow(1, (_x(last) - 20, 63), (_x(last) - 20, 127), kind="back"),
        *numbers(1, (_x(last) - 56, 102), norms[last - 1], label=f"|dL/dh{last}|"),
        *numbers(end, (_x(1), 48), np.linalg.norm(found.of_u[-steps_back:].sum(0)), label="|dL/dU|, of the sum"),
    ]
    for t in range(1, last + 1):
        x, step = _x(t), last - t + 1
        kept = step <= steps_back
        parts += [
            *box(0, (x, 150), f"h{t}", found.states[t - 1], "state"),
            *box(0, (x, low + 55), f"x{t}: {_input(t)}", None, "input"),
            *arrow(0, (x - 24, low + 32), (x - 24, 173)),
        ]
        if kept:
            parts += [
                *arrow(end, (x + 24, 173), (x + 24, 235), kind="back"),
                *numbers(end, (x + 24, 268), shares[t - last + steps_back - 1], label=f"share {t}"),
            ]
        if t == last:
            continue
        near, far = x + WIDTH / 2, _x(t + 1) - WIDTH / 2
        parts += arrow(0, (near, 141), (far, 141))
        if kept:
            parts += [
                *arrow(step, (far, 160), (near, 160), kind="back"),
                *numbers(step, ((near + far) / 2, 205), norms[t - 1], label=f"|dL/dh{t}|"),
            ]
        else:
            dashed = 'stroke-dasharray="3 4"'
            parts += arrow(1, (far, 160), (near, 160), kind="back", style=dashed)
            parts += cut(1, ((near + far) / 2, 160)) if step == steps_back + 1 else []
    return parts


def _input(t: int) -> str:
    """Returns the input of step t, from 1."""
    return " ".join(f"{number:g}" for number in INPUTS[(t - 1) % len(INPUTS)])


def _x(t: int) -> float:
    return 80 + _BACK_PITCH * (t - 1)
