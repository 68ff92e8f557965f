"""The backward pass of a small recurrent network in numbers: by hand, and by TensorFlow."""

from typing import NamedTuple

import keras
import numpy as np

from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values

W = np.array([[0.5, 0.3], [0.2, 0.4]])
U = np.array([[0.1, 0.2], [0.3, 0.1]])
INPUTS = np.array([[1, 0], [0, 1], [1, 1]])
TARGET = np.array([1.0, 0.0])
_CLIP_NORM = 0.1
_POINTS = np.array([-4, -2, -1, 0, 1, 2, 4.0])
_LENGTHS = (1, 5, 10, 20)
_DIGITS = 4


class Backward(NamedTuple):
    """Every number of the backward pass of h_t = tanh(W x_t + U h_(t-1)), L = 1/2 |h_T - target|^2.

    The first axis is the step t.
    """

    states: np.ndarray
    """h_t, [T, n]."""
    loss: float
    of_states: np.ndarray
    """dL/dh_t, [T, n]."""
    of_sums: np.ndarray
    """a_t = dL/d(W x_t + U h_(t-1)), [T, n]."""
    jacobians: np.ndarray
    """dh_t/dh_(t-1) = diag(1 - h_t^2) U, [T, n, n]."""
    of_w: np.ndarray
    """What step t adds to dL/dW: a_t x_t^T, [T, n, m]."""
    of_u: np.ndarray
    """What step t adds to dL/dU: a_t h_(t-1)^T, [T, n, n]."""


def backward(w=W, u=U, inputs=INPUTS, target=TARGET) -> Backward:
    """Computes the gradient by backpropagation through time.

    Args:
        w: [n, m].
        u: [n, n].
        inputs: [T, m].
        target: of the last state, [n].
    """
    states, before = [], [np.zeros(len(u))]
    for x in inputs:
        states.append(np.tanh(w @ x + u @ before[-1]))
        before.append(states[-1])
    of_state, of_states, of_sums = states[-1] - target, [], []
    for state in reversed(states):
        of_states.insert(0, of_state)
        of_sums.insert(0, of_state * (1 - state**2))
        of_state = u.T @ of_sums[0]
    return Backward(
        np.array(states),
        float(np.sum((states[-1] - target) ** 2) / 2),
        np.array(of_states),
        np.array(of_sums),
        np.array([(1 - state**2)[:, None] * u for state in states]),
        np.array([np.outer(a, x) for a, x in zip(of_sums, inputs, strict=True)]),
        np.array([np.outer(a, h) for a, h in zip(of_sums, before[:-1], strict=True)]),
    )


def real_time(w=W, u=U, inputs=INPUTS, target=TARGET) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gradient of U by real-time recurrent learning, and the derivatives that it carries along.

    P_t[k, i, j] = dh_t[k] / dU[i, j] = (1 - h_t[k]^2) (sum over l of U[k, l] P_(t-1)[l, i, j] + [k = i] h_(t-1)[j])

    Source: Williams and Zipser 1989, "A Learning Algorithm for Continually Running Fully Recurrent Neural Networks".

    Returns:
        dL/dU [n, n], and P_T [n, n, n].
    """
    size = len(u)
    state, carried = np.zeros(size), np.zeros((size, size, size))
    for x in inputs:
        before = state
        state = np.tanh(w @ x + u @ before)
        direct = np.einsum("ki,j->kij", np.eye(size), before)
        carried = (1 - state**2)[:, None, None] * (np.einsum("kl,lij->kij", u, carried) + direct)
    return np.einsum("k,kij->ij", state - target, carried), carried


def by_tensorflow(w=W, u=U, inputs=INPUTS, target=TARGET) -> tuple[np.ndarray, np.ndarray]:
    """Returns dL/dW and dL/dU of `keras.layers.SimpleRNN`, by TensorFlow's automatic differentiation."""
    import tensorflow as tf

    layer = keras.layers.SimpleRNN(len(u), activation="tanh", use_bias=False, dtype="float64")
    layer.build((1, *inputs.shape))
    layer.set_weights([w.T, u.T])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((layer(inputs[None].astype("float64"))[0] - target) ** 2) / 2
    gradients = tape.gradient(loss, [weight.value for weight in layer.trainable_weights])
    of_w, of_u = (gradient.numpy().T for gradient in gradients)
    return of_w, of_u


def backward_lesson() -> Lesson:
    """Returns the steps of the backward pass."""
    found = backward()
    last = len(INPUTS)
    of_w, of_u = found.of_w.sum(0), found.of_u.sum(0)
    exact_w, exact_u = by_tensorflow()
    norm = float(np.sqrt((of_w**2).sum() + (of_u**2).sum()))
    forward, carried = real_time()
    product = found.jacobians[2] @ found.jacobians[1]
    values = lambda name, numbers, **options: Values(name, numbers, **{"digits": _DIGITS, **options})  # noqa: E731
    sigmoid = 1 / (1 + np.exp(-_POINTS))
    points = tuple(f"x={x:g}" for x in _POINTS)
    singular = np.linalg.svd(U, compute_uv=False)
    steps = (
        Step(
            "The forward pass: three inputs, three states, one loss",
            "h_t = tanh(W x_t + U h_(t-1))     L = 1/2 |h3 - target|^2",
            (
                *(values("W", W, digits=1), values("U", U, digits=1), values("x", INPUTS, rows=("x1", "x2", "x3"))),
                values("h", found.states, rows=("h1", "h2", "h3")),
                *(values("target", TARGET, digits=0), values("L", found.loss)),
            ),
            text="The gradient of L says for each number by how much L changes if that number grows a little: dL/dU "
            "has "
            "a number for each of U. * multiplies number by number. U^T is U with rows and columns exchanged.",
        ),
        Step(
            "At the last step: how the loss depends on h3, and on the sum inside tanh",
            "dL/dh3 = h3 - target     a3 = dL/dh3 * (1 - h3^2)     because tanh'(z) = 1 - tanh(z)^2",
            (
                values("dL/dh3", found.of_states[2]),
                *(values("1 - h3^2", 1 - found.states[2] ** 2), values("a3", found.of_sums[2])),
            ),
        ),
        *(
            Step(
                f"One step back: h{t + 1} acts on L only through h{t + 2}",
                f"dL/dh{t + 1} = U^T a{t + 2}     a{t + 1} = dL/dh{t + 1} * (1 - h{t + 1}^2)",
                (values(f"dL/dh{t + 1}", found.of_states[t]), values(f"a{t + 1}", found.of_sums[t])),
            )
            for t in (1, 0)
        ),
        Step(
            "The same U serves each step, so its gradient is a sum over the steps",
            "dL/dW = sum of a_t x_t^T     dL/dU = sum of a_t h_(t-1)^T",
            (
                *(values(f"step {t + 1}", found.of_u[t]) for t in range(last)),
                *(values("dL/dU", of_u), values("dL/dW", of_w)),
            ),
            text="Step 1 adds nothing to dL/dU: there is no state before it.",
        ),
        Step(
            "TensorFlow's gradients of the same network",
            values=(values("dL/dU", exact_u), values("dL/dW", exact_w)),
            layer="keras.layers.SimpleRNN, tf.GradientTape",
            text=f"The largest difference is {max(np.abs(exact_u - of_u).max(), np.abs(exact_w - of_w).max()):.0e}.",
        ),
        Step(
            "The way from h3 to h1 is a product of Jacobians",
            "dh_t/dh_(t-1) = J_t = diag(1 - h_t^2) U     dL/dh1 = (J3 J2)^T dL/dh3",
            (
                *(values("J2", found.jacobians[1]), values("J3", found.jacobians[2]), values("J3 J2", product)),
                values("(J3 J2)^T dL/dh3", product.T @ found.of_states[2]),
            ),
            text="J_t, a Jacobian, says how each number of h_t changes with each of h_(t-1); diag(v) is a matrix with "
            "v on "
            "its diagonal. Each further step multiplies by one more J. Its factors are derivatives of tanh, at most 1, "
            "and U.",
        ),
        Step(
            "What the singular values of U say",
            "|J_t| <= largest singular value of U     largest < 1: the gradient vanishes",
            (
                values("singular values of U", singular),
                values(
                    "largest^k", singular[0] ** np.array(_LENGTHS), columns=tuple(f"k={k}" for k in _LENGTHS), digits=6
                ),
            ),
            text="|J| is by how much J can lengthen a vector, and the largest singular value of U is that of U. After "
            "k steps "
            "the gradient is at most largest^k times as long. Below 1 the bound proves that the gradient vanishes. "
            "Above 1 nothing follows: the derivatives of "
            "tanh are below 1, so the gradient may vanish all the same; it can grow only if U stretches more than tanh "
            "shrinks.",
        ),
        Step(
            "The derivatives of the two functions",
            "sigmoid'(x) = s (1 - s), at most 1/4     tanh'(x) = 1 - tanh(x)^2, at most 1",
            (
                values("sigmoid'", sigmoid * (1 - sigmoid), columns=points),
                values("tanh'", 1 - np.tanh(_POINTS) ** 2, columns=points),
            ),
            text="Both are largest at 0 and vanish where the unit is saturated.",
        ),
        Step(
            "Truncated: the gradient of the last K steps",
            "dL/dU = sum over t > T - K of a_t h_(t-1)^T",
            tuple(values(f"K={k}", found.of_u[last - k :].sum(0)) for k in range(1, last + 1)),
            text="What happened more than K steps ago changes the states, but no weight learns from it. K=2 and K=3 "
            "are "
            "equal here, because step 1 adds nothing.",
        ),
        Step(
            "Clipped: the whole gradient is scaled down to a norm, here 0.1",
            "g min(1, c / |g|)     |g|: norm over dL/dW and dL/dU together",
            (values("|g|", norm), values("dL/dU", of_u * min(1, _CLIP_NORM / norm))),
            text="The direction stays, only the length changes.",
        ),
        Step(
            "Real-time recurrent learning: the same gradient without going back",
            "P_t[k,i,j] = dh_t[k]/dU[i,j] = (1 - h_t[k]^2) (sum_l U[k,l] P_(t-1)[l,i,j] + [k=i] h_(t-1)[j])",
            (values("P3 of unit 0", carried[0]), values("P3 of unit 1", carried[1]), values("dL/dU", forward)),
            text="dL/dU is the sum over the units k of dL/dh3[k] P3[k]. With n units it carries n^3 numbers along, and "
            "stores no past states; backpropagation through T steps stores T n numbers.",
        ),
        _forget_gate(),
    )
    return Lesson(
        "backward: the gradient of a recurrent network, step by step",
        "How does a loss at the last step tell the weights what to do at the first one, and why does so little arrive?",
        steps,
        _questions(found, singular),
        ("pipelines/learn/backward.py:backward", "pipelines/learn/backward.py:real_time"),
    )


def _forget_gate() -> Step:
    """Returns how an LSTM's cell passes the gradient on, measured by automatic differentiation."""
    import tensorflow as tf

    gates = np.array([0.5, 0.9, 0.99])
    measured = []
    for gate in gates:
        cell = keras.layers.LSTMCell(1, unit_forget_bias=False, dtype="float64")
        cell.build((1, 1))
        cell.set_weights([np.zeros((1, 4)), np.zeros((1, 4)), np.array([0, np.log(gate / (1 - gate)), 0, 0])])
        before = tf.constant([[0.3]], tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(before)
            _, (_, after) = cell(tf.zeros((1, 1), tf.float64), [tf.zeros((1, 1), tf.float64), before])
        measured.append(float(tape.gradient(after, before)[0, 0]))
    columns = tuple(f"f={gate:g}" for gate in gates)
    return Step(
        "An LSTM's cell: the factor of a step is the forget gate",
        "c_t = f_t * c_(t-1) + i_t * g_t     dc_t/dc_(t-1) = f_t, and what passes through h and the gates",
        (
            Values("dc_t/dc_(t-1)", np.array(measured), columns=columns, digits=_DIGITS),
            Values("after 20 steps", np.array(measured) ** 20, columns=columns, digits=_DIGITS),
        ),
        "keras.layers.LSTMCell, tf.GradientTape",
        text="Lesson 4 explains the LSTM: f is a gate from 0 to 1 that multiplies what the cell c holds. The recurrent "
        "weights of this cell are 0, so only the direct way is measured.",
    )


def _questions(found: Backward, singular: np.ndarray) -> tuple[Question, ...]:
    return (
        Question(
            "A gradient is multiplied by the derivative of a sigmoid at each of 4 steps. By which factor is it "
            "multiplied at most, altogether?",
            0.25**4,
            "The derivative of a sigmoid is at most 1/4, and four of them are multiplied: step 9.",
        ),
        Question(
            "What is the first number of dL/dh2?",
            float(found.of_states[1][0]),
            "It is the first row of U^T times a3: step 3.",
            0.0006,
        ),
        Question(
            "The largest singular value of another U is 0.5. What is the bound for the gradient after 10 steps, as a "
            "factor?",
            0.5**10,
            "Each step multiplies by at most the largest singular value: step 8.",
        ),
    )
