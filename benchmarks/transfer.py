"""Measures the gain from pretraining, and the cost of fine-tuning a module.

    python benchmarks/transfer.py curve --data PATH/TO/imdb/train.csv.xz --folder PATH [--labels 100 500 2500 0]
    python benchmarks/transfer.py cost --data PATH/TO/imdb/train.csv.xz --folder PATH --encoder PATH/saved/pretrained/1
    python benchmarks/transfer.py vectors --data PATH/TO/imdb/train.csv.xz --folder PATH --vectors PATH/TO/glove.txt
    python benchmarks/transfer.py linear --data PATH/TO/imdb/train.csv.xz --folder PATH [--labels 100 500 2500 0]

`curve` pretrains an encoder on the reviews without their labels, then fine-tunes it with N of the labels (0: all), and
trains the same architecture from scratch with the same labels. It prints a table in Markdown and draws --plot. Accuracy
is on the tenth of the films that the runs hold out. Each finished run is kept in --folder, so that the same command
resumes an interrupted benchmark. `cost` compares a training step through a module with one through the Keras layers
that it was made of (--folder is that of `curve`), in turn. `vectors` fine-tunes word vectors. All need an otherwise
idle machine. `linear` gives the labels of `curve` to ten lines of scikit-learn, TF-IDF with logistic regression, and
measures on the same films; with this result in --folder, `curve` draws it, too.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from training import ROOT, kept, trained

sys.path.insert(0, str(ROOT))
from pipelines.transfer.config import TransferConfig  # noqa: E402

WAYS = ("pretrained", "from scratch")
LINEAR = {
    "words": {"ngram_range": (1, 2), "sublinear_tf": True},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True},
}
_RUN = "pretraining"


def pretrained(arguments, where: list) -> dict:
    command = [
        "encoder",
        "--data",
        arguments.data,
        "--run",
        _RUN,
        "--name",
        "pretrained",
        *where,
        *arguments.pretraining,
    ]
    return kept(arguments.folder / "pretrained.json", lambda: trained(*command))


def layers_of(folder: Path):
    """Returns (config, tokenizer, model) of the pretraining, with new random weights."""
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    from pipelines.encoder import task
    from pipelines.encoder.config import EncoderConfig
    from pipelines.settings.config import from_dict

    run = folder / "runs" / "encoder" / _RUN
    config = from_dict(EncoderConfig, json.loads((run / "config.json").read_text())["config"])
    tokenizer = task.load_tokenizer(run / "tokenizer")
    return config, tokenizer, task.build(config, None, tokenizer, None, training=False)


def untrained(folder: Path, seed: int) -> Path:
    """Exports the architecture of the encoder with its tokenizer and random weights; returns the folder."""
    import keras

    path = folder / f"untrained-{seed}"
    if not path.exists():
        keras.utils.set_random_seed(seed)
        config, tokenizer, model = layers_of(folder)
        import tensorflow as tf

        from pipelines.encoder import task

        servable = task.make_servable(config, None, tokenizer, model)
        tf.saved_model.save(servable, str(path), signatures=servable.signatures())
    return path


def settings(way: str, labels: int) -> list[str]:
    """Returns the flags that differ from the defaults; both ways train for the same number of epochs."""
    flags = ["--layer-decay", 1, "--no-split-batches"]  # two runs at a time, on one core each, take less time
    if way == "pretrained":
        return flags
    epochs = TransferConfig().complete(labels or sys.maxsize, ["embeddings", "layer_1"]).epochs
    return [*flags, "--head-epochs", 0, "--top-epochs", 0, "--all-epochs", epochs, "--learning-rate", 0.002]


def curve(arguments) -> None:
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    where = ["--runs", folder / "runs", "--saved-models", folder / "saved"]
    first = pretrained(arguments, where)
    perplexity = first["scores"]["validation"]["perplexity"]
    print(f"pretraining: {first['training_seconds']:.0f} s, perplexity {perplexity:.1f}\n", flush=True)
    print(f"| labels | {' | '.join(WAYS)} | gain |\n|---:|---:|---:|---:|")
    found: dict[str, dict[int, list[float]]] = {way: {} for way in WAYS}
    for labels in arguments.labels:
        for way in WAYS:
            for seed in arguments.seeds:
                name = f"{way.replace(' ', '-')}-{labels}-{seed}"
                encoder = first["export"] if way == "pretrained" else untrained(folder, seed)
                command = [
                    "transfer",
                    "--encoder",
                    encoder,
                    "--data",
                    arguments.data,
                    "--max-labels",
                    labels,
                    "--seed",
                    seed,
                    "--run",
                    name,
                ]
                command += ["--name", name, "--recipe", "own", *where, *settings(way, labels)]
                result = kept(folder / f"{name}.json", lambda command=command: trained(*command))
                found[way].setdefault(result["rows"]["train"], []).append(result["scores"]["validation"]["accuracy"])
        count = max(found[WAYS[0]])
        shown = [
            f"{statistics.mean(of[count]):.4f} ({', '.join(f'{a:.4f}' for a in of[count])})" for of in found.values()
        ]
        gain = statistics.mean(found[WAYS[0]][count]) - statistics.mean(found[WAYS[1]][count])
        print(f"| {count:,} | {' | '.join(shown)} | {100 * gain:+.1f} points |", flush=True)
    if arguments.plot:
        draw(found | kept_linear(folder), arguments.plot)


def kept_linear(folder: Path) -> dict[str, dict[int, list[float]]]:
    """Returns the result of `linear` on words as a way of `curve`; {} if there is none."""
    path = folder / "linear.json"
    if not path.exists():
        return {}
    return {"TF-IDF": {int(count): found for count, found in json.loads(path.read_text())["words"].items()}}


def vectors(arguments) -> None:
    """Prints the accuracy after each stage with an encoder of word vectors, with all labels."""
    where = ["--runs", arguments.folder / "runs", "--saved-models", arguments.folder / "saved"]
    encoder = trained("encoder", "--vectors", arguments.vectors, "--name", "vectors", *where)
    flags = [
        "--head-epochs",
        "2",
        "--head-learning-rate",
        "0.01",
        "--top-epochs",
        "0",
        "--all-epochs",
        "6",
        "--learning-rate",
        "0.005",
        "--layer-decay",
        "1",
    ]
    result = trained(
        "transfer", "--encoder", encoder["export"], "--data", arguments.data, "--name", "of-vectors", *where, *flags
    )
    frozen = min(result["epochs"][:2], key=lambda row: row["val_loss"])
    print(
        f"{encoder['words']:,} words: frozen {frozen['val_accuracy']:.3f}, "
        f"trained {result['scores']['validation']['accuracy']:.3f}"
    )


def linear(arguments) -> None:
    """Prints and keeps the accuracy of TF-IDF with logistic regression on the same labels and validation texts."""
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from pipelines.transfer import task

    found: dict[str, dict[int, list[float]]] = {name: {} for name in LINEAR}
    print(f"| labels | {' | '.join(f'TF-IDF of {name}' for name in LINEAR)} |\n|---:|---:|---:|")
    for labels in arguments.labels:
        for seed in arguments.seeds:
            splits = task.load(TransferConfig(data=arguments.data, max_labels=labels, seed=seed, polarity=True))
            for name, options in LINEAR.items():
                model = make_pipeline(TfidfVectorizer(**options), LogisticRegression(max_iter=1000))
                model.fit(splits.train.texts, splits.train.labels)
                accuracy = model.score(splits.valid.texts, splits.valid.labels)
                found[name].setdefault(len(splits.train), []).append(accuracy)
            if not labels:  # all labels: the seed chooses none
                break
        count = len(splits.train)
        shown = [
            f"{statistics.mean(of[count]):.4f} ({', '.join(f'{a:.4f}' for a in of[count])})" for of in found.values()
        ]
        print(f"| {count:,} | {' | '.join(shown)} |", flush=True)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "linear.json").write_text(json.dumps(found))


def draw(found: dict, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    for way, by_count in found.items():
        counts = sorted(by_count)
        (line,) = axes.plot(counts, [statistics.mean(by_count[count]) for count in counts], label=way)
        for count in counts:
            axes.plot([count] * len(by_count[count]), by_count[count], ".", color=line.get_color())
    axes.set(xscale="log", xlabel="labelled reviews", ylabel="accuracy on films held out")
    axes.set_xticks(sorted(by_count), [f"{count:,}" for count in sorted(by_count)])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def cost(arguments) -> None:
    config, tokenizer, model = layers_of(arguments.folder)
    import keras
    import tensorflow as tf

    from layers.hub import HubEncoder
    from pipelines.data import tables
    from pipelines.data.table_options import TableOptions
    from pipelines.encoder.networks import encoder_network, reading_layers
    from pipelines.text.tokenizers import keep_ends

    chunks = tables.read_texts([Path(arguments.data)], TableOptions())
    texts = tf.constant([text for chunk, _, _ in chunks for text in chunk][: 64 * 32 : 64])
    ids = keep_ends(tokenizer.encode(texts), config.max_tokens).to_tensor()
    plain = encoder_network(*reading_layers(config, model))
    module = HubEncoder(arguments.encoder, trainable=True, output_key="pooled_output")

    def step_of(features, variables):
        head = keras.layers.Dense(2)
        head(features())

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.log_softmax(head(features()))[:, 0])
            return loss, [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]

        return step

    steps = {
        "plain": step_of(
            lambda: plain(ids, training=True)["pooled_output"], [v.value for v in plain.trainable_variables]
        ),
        "module": step_of(lambda: module(texts, training=True), [v.value for v in module.trainable_variables]),
    }
    seconds = {name: [] for name in steps}
    for _ in range(arguments.pairs + 1):
        for name, step in steps.items():
            started = time.perf_counter()
            step()[0].numpy()
            seconds[name].append(time.perf_counter() - started)
    ratios = [module / plain for module, plain in zip(seconds["module"][1:], seconds["plain"][1:], strict=True)]
    print(
        f"plain Keras layers {statistics.median(seconds['plain'][1:]):.3f} s per step of 32 reviews; "
        f"the module {statistics.median(ratios):.3f} times as long"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("curve", "cost", "vectors", "linear"):
        command = commands.add_parser(name)
        command.add_argument("--data", required=True, help="the IMDB training reviews as CSV")
        command.add_argument("--folder", type=Path, required=True, help="keeps the results")
    for name in ("curve", "linear"):
        commands.choices[name].add_argument("--labels", type=int, nargs="+", default=[100, 500, 2500, 0])
        commands.choices[name].add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    commands.choices["curve"].add_argument("--plot", type=Path, help="a PNG file to draw the curve to")
    commands.choices["curve"].add_argument(
        "--pretraining", nargs=argparse.REMAINDER, default=[], help="last: flags for `train encoder`"
    )
    commands.choices["cost"].add_argument("--encoder", required=True, help="a folder that `train encoder` exported")
    commands.choices["vectors"].add_argument(
        "--vectors", required=True, help="a file in the format of GloVe or word2vec"
    )
    commands.choices["cost"].add_argument("--pairs", type=int, default=11)
    arguments = parser.parse_args()
    {"curve": curve, "cost": cost, "vectors": vectors, "linear": linear}[arguments.what](arguments)


if __name__ == "__main__":
    main()
