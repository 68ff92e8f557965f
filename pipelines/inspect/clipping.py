"""`inspect clipping`: the norm of the gradient over the training of runs, beside the threshold of its clipping.

Where the global norm of the gradient is above the threshold, the optimizer scales the gradient down to it before the
step (Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks"):

    norm = sqrt(sum over all weights of g^2),    g <- g min(1, threshold / norm)

The norm is the one that Keras's optimizers compare with the threshold: for embeddings, it adds the squares of the
gradients of each occurrence of a token in the batch, not the square of their sum.
"""

import altair as alt
import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from pipelines.inspect.axes import above_zero
from pipelines.inspect.figure import Figure
from pipelines.inspect.runs import TrainedRun
from pipelines.networks.recurrent import reset_states
from pipelines.support.errors import UserError

_SHOWN_THRESHOLD = 10  # a threshold above this multiple of the highest norm clips nothing: its line is left out
_WIDTH, _HEIGHT, _COLUMNS = 300, 260, 3


def gradient_norms(run: TrainedRun, num_batches: int) -> pd.DataFrame:
    """Returns run, epoch, batch and `norm`, the global norm of the gradient before it is clipped.

    Each batch is put through the run's own training step, with dropout where the run has it and in float32, but no
    weight changes. The batches are the same for all epochs. Recurrent networks read each from the zero state, whereas
    the training carries the state from batch to batch.

    Args:
        run: whose kept weights are loaded one after the other.
        num_batches: at most; evenly spread over the first epoch.

    Raises:
        UserError: the run kept no weights, or its weights are computed without gradients.
    """
    task, config, encoded = run.task, run.config, run.encoded
    model = task.build(config, run.splits, run.tokenizer, encoded, training=True)
    if not model.trainable_variables:
        raise UserError(f"{run.title} was not trained by gradients: give a run of another --model")
    steps = task.steps_per_epoch(config, encoded)
    task.compile_model(config, model, steps * max(1, getattr(config, "epochs", 1)))
    class_weight = task.fit_options(config, encoded, model).class_weight
    norm_of = _norm_function(model)
    places = np.unique(np.linspace(0, steps - 1, min(num_batches, steps)).round().astype(int))
    batches = [next(iter(task.batches(config, encoded, 0, int(skip)).take(1))) for skip in places]
    rows = []
    for epoch in run.epochs():
        run.load_epoch(epoch)
        for value, variable in zip(run.model.weights, model.weights, strict=True):
            variable.assign(value)
        _repeat_dropout(model, config.seed)
        for number, batch in enumerate(batches):
            reset_states(model)
            norm = float(norm_of(_weighted(batch, class_weight)))
            rows.append({"run": run.title, "epoch": epoch, "batch": number, "norm": norm})
    return pd.DataFrame(rows)


def _norm_function(model: keras.Model):
    """Returns the function batch -> norm, which runs `train_step` with an optimizer that only measures."""
    measured = []

    def measure(grads, trainable_variables=None):
        measured[:] = [tf.linalg.global_norm([each for each in grads if each is not None])]

    model.optimizer.apply = measure

    @tf.function(reduce_retracing=True)
    def norm_of(batch):
        model.train_step(batch)
        return measured[0]

    return norm_of


def _weighted(batch, class_weight: dict[int, float] | None):
    """Returns the batch with the weight of each row's class, as `fit` does it."""
    if class_weight is None or len(batch) != 2:
        return batch
    weights = tf.constant([class_weight[each] for each in sorted(class_weight)], tf.float32)
    return *batch, tf.gather(weights, batch[1])


def _repeat_dropout(model: keras.Model, seed: int) -> None:
    """Makes the following batches have the same dropout masks whenever it is called."""
    for layer in model._flatten_layers(include_self=False):
        generator = getattr(layer, "seed_generator", None)
        if generator is not None:
            generator.state.assign([seed, 0])


def by_epoch(rows: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Returns run, epoch, batches, lower, median, upper (quartiles), maximum, threshold, and `above`.

    `above` is the share of batches whose gradient is clipped; one that is not finite counts as such, and the quartiles
    and the maximum leave it out.

    Args:
        rows: of `gradient_norms`, of one run.
        threshold: `clip_norm` of the run.
    """
    results = []
    for (run, epoch), group in rows.groupby(["run", "epoch"], sort=False):
        norms = group["norm"].to_numpy()
        finite = norms[np.isfinite(norms)]
        quartiles = np.percentile(finite, [25, 50, 75]) if len(finite) else [np.nan] * 3
        results.append(
            {
                "run": run,
                "epoch": epoch,
                "batches": len(norms),
                **dict(zip(("lower", "median", "upper"), quartiles)),
                "maximum": finite.max() if len(finite) else np.nan,
                "threshold": threshold,
                "above": float((~(norms <= threshold)).mean()),
            }
        )
    return pd.DataFrame(results)


def sentence(rows: pd.DataFrame) -> str:
    """Returns what is seen in the rows of `by_epoch` of one run, in a line for the terminal."""
    first, last = rows.iloc[0], rows.iloc[-1]
    highest = rows.loc[rows["maximum"].fillna(np.inf).idxmax()]
    return (
        f"{first['run']}: median norm {first['median']:.2g} with the weights of epoch {first['epoch']}, "
        f"{last['median']:.2g} with those of epoch {last['epoch']}; highest {highest['maximum']:.3g} (epoch "
        f"{highest['epoch']}); {rows['above'].mean():.0%} of the gradients are above --clip-norm {first['threshold']:g}"
    )


def figures(rows: pd.DataFrame) -> list[Figure]:
    """Returns the figure of the runs.

    Args:
        rows: of `by_epoch`, of one run or more.
    """
    is_shown = rows["threshold"] <= _SHOWN_THRESHOLD * rows["maximum"].max()
    data = rows.assign(line=rows["threshold"].where(is_shown))
    y = alt.Y("lower:Q", scale=alt.Scale(type="log", nice=False), title="norm of the gradient")
    tooltip = [
        alt.Tooltip(f"{name}:Q", format=".3g")
        for name in ("epoch", "lower", "median", "upper", "maximum", "threshold", "above")
    ]
    base = alt.Chart().encode(x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1)), tooltip=tooltip)
    band = above_zero(base, "lower").mark_area(opacity=0.25, color="#4c6ef5").encode(y=y, y2="upper:Q")
    median = above_zero(base, "median").mark_line(point=True, color="#4c6ef5").encode(y="median:Q")
    highest = above_zero(base, "maximum").mark_point(shape="triangle-up", color="#1f2937").encode(y="maximum:Q")
    threshold = base.mark_line(color="#e8590c", strokeDash=[5, 3]).encode(y="line:Q")
    by_run = alt.Facet("run:N", sort=None, title=None)
    norms = (
        alt.layer(band, median, highest, threshold)
        .properties(width=_WIDTH, height=_HEIGHT)
        .facet(by_run, columns=_COLUMNS, data=alt.NamedData("clipping"))
        .properties(title="median and quartiles (blue), highest (triangle), threshold (dashed)")
    )
    shares = (
        alt.Chart(alt.NamedData("clipping"))
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("above:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"), title="batches above"),
            color=alt.Color("run:N", sort=None, title="run"),
            tooltip=["run:N", *tooltip],
        )
        .properties(width=2 * _WIDTH, height=120, title="share of the batches whose gradient is above the threshold")
    )
    return [
        Figure(
            "clipping",
            "Norm of the gradient over the training",
            "The global norm of the gradient of the training loss before it is clipped, over batches of the run's own "
            "training data, with the weights that the run kept. Above the threshold the optimizer scales the gradient "
            "down to it. The scale is logarithmic; a threshold far above all norms is not drawn.",
            alt.vconcat(norms, shares, spacing=24).resolve_scale(color="independent"),
            {"clipping": data},
            table=rows,
        )
    ]
