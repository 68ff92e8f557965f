"""Agreement, memory and gradients of small word language models, trained on sentences of a grammar.

    python benchmarks/inside.py --folder FOLDER [--models simple gru lstm transformer] [--seeds 1 2 3]
    python benchmarks/inside.py --folder FOLDER --only agreement | memory | gradients

It trains each model once for each seed with `main.py train language-model`, on 40,000 sentences of
pipelines/inspect/sentences.py, one sentence per document. Runs that are in the folder already are not trained again.
Then it prints tables in Markdown. A number is the mean over the seeds, and in parentheses the lowest and the highest.

agreement: the share of test sentences for which the right one of was and were is the likelier one, by the tokens
    between subject and verb, and by the attractors among them. None of the sentences begins a training sentence. Chance
    is .5, and so is "the number of the last noun" where there is a noun between them. A recurrent network reads
    three other sentences before each one, as in training; "zero state": none. The transformer reads none; its window
    has 40 tokens.
memory: in steps, from linear probes on the state after each token (of an LSTM h and c; of a transformer, which carries
    no state, the features from which the next token is predicted). A probe predicts which token was read k steps ago or
    whether the subject is plural k words after it. With a_k the accuracy and f_k that of the most frequent answer, the
    memory is the largest k up to which a_k - f_k is at least half of a_1 - f_1. At most 24 steps are
    asked for. Beside it are accuracies, with f_k in parentheses, and the same for random weights.
gradients: in how many steps 90 % of the gradient of a loss is lost on its way back, from the medians over 200 places
    (pipelines/inspect/gradients.py); "never" if it takes more than 20 windows. text: the loss of a random token, 64
    tokens back, through several sentences; verb: that of a verb, back to its subject 24 tokens before it. Untrained
    LSTMs have the forget biases 0, 1, 3 and 5.

Twelve trainings and the tables took 17 minutes on one core beside other work.
"""

import argparse
import math
import sys
from pathlib import Path

from training import ROOT, kept, trained

sys.path.insert(0, str(ROOT))

RECURRENT = ["--hidden-size", 96, "--embedding-size", 32, "--batch-size", 64, "--epochs", 4]
BLOCKS = ["--hidden-size", 96, "--num-layers", 2, "--batch-size", 32, "--epochs", 3]
FLAGS = {
    "simple": [*RECURRENT, "--learning-rate", 0.002],
    "gru": [*RECURRENT, "--learning-rate", 0.005],
    "lstm": [*RECURRENT, "--learning-rate", 0.005],
    "transformer": [*BLOCKS, "--learning-rate", 0.002],
}
DISTANCES = (*range(25), 32, 40, 48)
BINS = (0, 1, 2, 3, 5, 8, 12, 16, 20, 25, 33, 41)
MAX_ATTRACTORS = 4  # more are counted with these
NUM_PROBED = 400  # sentences
TOKENS_AGO = (1, 2, 4, 8, 16)
WORDS_AFTER = (1, 4, 8, 16, 24)
WINDOW, PLACES = 64, 200
SUBJECT = 24  # largest distance of the training text
FORGET_BIASES = (0, 1, 3, 5)


class Trained:
    """The exports of one model, loaded once."""

    def __init__(self, arguments, model: str):
        from pipelines.export.exported import Exported
        from pipelines.export.network import load_network

        self.model, self.seeds = model, arguments.seeds
        self.exports, self.networks = [], []
        for seed in arguments.seeds:
            export = Exported(name(model, seed), 1, arguments.folder / "saved" / name(model, seed) / "1")
            loaded = export.load()
            self.exports.append(loaded)
            self.networks.append(load_network(export, loaded))
        self.config = self.networks[0][0]

    def untrained(self, seed: int, forget_bias: float | None = None):
        from pipelines.inspect.weights import untrained_network

        vocabulary_size = self.networks[0][1].get_layer("tokens").input_dim
        return untrained_network(self.config, vocabulary_size, seed, forget_bias)

    def before(self):
        """Three sentences with <end> and <start>, int32 [tokens]: training reads no sentence from the zero state.

        Of a transformer none: it has no state, and its window would have no room for a long sentence after them.
        """
        import numpy as np

        if self.model == "transformer":
            return np.zeros(0, np.int32)
        from pipelines.inspect import sentences
        from pipelines.inspect.agreement import documents_before

        return documents_before(self.exports[0].signatures, sentences.training_text(3, seed=4).splitlines())

    def encode(self, texts: list[str]):
        """The ids without <start> and <end>, int32 [texts, time]; 0 in the padding."""
        import tensorflow as tf

        return self.exports[0].signatures["encode"](text=tf.constant(texts))["ids"].numpy()


def train(arguments) -> None:
    from pipelines.inspect.sentences import training_text

    data = arguments.folder / "train.txt"
    data.parent.mkdir(parents=True, exist_ok=True)
    if not data.exists():
        data.write_text(training_text(arguments.sentences, seed=1))
    print(f"| model | parameters | training, seed {arguments.seeds[0]} | validation perplexity |")
    print("|---|---:|---:|---:|", flush=True)
    for model in arguments.models:
        results = []
        for seed in arguments.seeds:
            command = ["language-model", "--data", data, "--documents", "line", "--tokenizer", "word", "--model", model]
            command += ["--preset", "quick", "--window", 40, *FLAGS[model], "--seed", seed, "--name", name(model, seed)]
            command += ["--runs", arguments.folder / "runs", "--saved-models", arguments.folder / "saved"]
            path = arguments.folder / f"{name(model, seed)}.json"
            results.append(kept(path, lambda command=command: trained(*command)))
        perplexities = [result["scores"]["validation"]["perplexity"] for result in results]
        seconds = results[0]["training_seconds"]
        print(f"| {model} | {results[0]['parameters']:,} | {seconds:.0f} s | {spread(perplexities, 3)} |", flush=True)


def agreement(models: list[Trained], arguments) -> None:
    import pandas as pd

    from pipelines.inspect import sentences
    from pipelines.inspect.agreement import accuracy, score_function
    from pipelines.inspect.agreement import agreement as test

    tests = sentences.test_sentences(arguments.tests, seed=1, distances=DISTANCES)
    measured, rows = {}, {}
    for trained_model in models:
        starts = {"": trained_model.before(), ", zero state": None}
        for title, before in starts.items():
            if title and trained_model.model == "transformer":
                continue
            scores = [score_function(export.signatures, before) for export in trained_model.exports]
            measured[trained_model.model + title] = [test(score, tests) for score in scores]
    plurals = set(sentences.NOUNS.values())
    nouns = plurals | set(sentences.NOUNS)
    last = [next(word for word in reversed(s.prefix.split()) if word in nouns) for s in tests]
    guess = [("were" if noun in plurals else "was") == s.right for noun, s in zip(last, tests)]
    measured["the last noun"] = [next(iter(measured.values()))[0].assign(correct=guess, tied=False)]
    for by, bins in (("distance", BINS), ("attractors", None)):
        for model, results in measured.items():
            results = [r.assign(attractors=r["attractors"].clip(upper=MAX_ATTRACTORS)) for r in results]
            if by == "attractors":  # the transformer does not see the subjects that are further away
                results = [r[r["distance"] <= SUBJECT] for r in results]
            rows[model] = [accuracy(result, by, bins) for result in results]
        first = next(iter(rows.values()))[0]
        labels = [
            f"{label}+" if by == "attractors" and label == str(MAX_ATTRACTORS) else label for label in first["label"]
        ]
        counts = [f"{label} ({count})" for label, count in zip(labels, first["sentences"])]
        print(f"\n| {by} (sentences) | {' | '.join(counts)} |\n|---|{'---:|' * len(counts)}", flush=True)
        for model, tables in rows.items():
            values = pd.concat([table["accuracy"] for table in tables], axis=1).to_numpy()
            print(f"| {model} | {' | '.join(spread(row) for row in values)} |", flush=True)


def memory(models: list[Trained], arguments) -> None:
    import numpy as np

    from pipelines.inspect import sentences
    from pipelines.inspect.memory import earlier_tokens, number_of_subject

    lines = sentences.training_text(NUM_PROBED, seed=2).splitlines()
    tests = sentences.test_sentences(200, seed=2, distances=(8, 12, 16, 20, 24))
    tokens, numbers = [], []
    for trained_model in models:
        ids = trained_model.encode(lines)
        prefixes = trained_model.encode([sentence.prefix for sentence in tests])
        texts, _ = np.nonzero(ids)
        kinds = {"trained": [network for _, network in trained_model.networks]}
        kinds["untrained"] = [trained_model.untrained(seed) for seed in trained_model.seeds]
        for kind, networks in kinds.items():
            before = trained_model.before()
            states = [states_of(network, ids, before)[ids > 0] for network in networks]
            on_prefixes = [states_of(network, prefixes, before) for network in networks]
            title = f"{trained_model.model} | {kind}"
            asked = [lambda k, s=s: earlier_tokens(s, ids[ids > 0], [k], texts) for s in states]
            tokens.append(probed(title, asked, TOKENS_AGO))
            asked = [lambda k, s=s: number_of_subject(s, tests, [k]) for s in on_prefixes]
            numbers.append(probed(title, asked, WORDS_AFTER))
    for name, rows, distances in (("token ago", tokens, TOKENS_AGO), ("number after", numbers, WORDS_AFTER)):
        print(f"\n| model | weights | memory, steps | {' | '.join(f'{name} {k}' for k in distances)} |")
        print(f"|---|---|---:|{'---:|' * len(distances)}")
        print("\n".join(rows), flush=True)


def probed(title: str, measures: list, distances) -> str:
    """A row of the table: the memory in steps, and accuracies with the majority class, as means over the seeds.

    Args:
        measures: of each seed, a function of k that returns a table.
    """
    import pandas as pd

    steps = spread([first_failure(measure) for measure in measures], 0)
    tables = [pd.concat([measure(k) for k in distances]) for measure in measures]
    accuracies = sum(table["accuracy"].to_numpy() for table in tables) / len(tables)
    cells = [f"{a:.2f} ({floor:.2f})" for a, floor in zip(accuracies, tables[0]["floor"])]
    return f"| {title} | {steps} | {' | '.join(cells)} |"


def first_failure(measure, longest: int = 24) -> int:
    """Memory in steps: asks k = 1, 2, ... until a probe fails, as `memory_steps` would for the whole table."""
    import pandas as pd

    from pipelines.inspect.memory import memory_steps

    tables = []
    for k in range(1, longest + 1):
        tables.append(measure(k))
        if memory_steps(pd.concat(tables)) < k:
            break
    return memory_steps(pd.concat(tables))


def states_of(network, ids, before):
    """The states after each of ids int32 [texts, time], <start> and `before` before them; [texts, time, units]."""
    import numpy as np

    from pipelines.networks.traced import FEATURES, traced
    from pipelines.text.special_tokens import START

    before = np.tile([START, *before], (len(ids), 1))
    outputs = traced(network)(np.concatenate([before, ids], axis=1).astype(np.int32), training=False)
    names = [name for name in outputs if name.endswith(("_hidden", "_cell"))] or [FEATURES]
    return np.concatenate([outputs[name].numpy() for name in names], axis=-1)[:, before.shape[1] :]


def gradients(models: list[Trained], arguments) -> None:
    import numpy as np

    from pipelines.inspect import sentences
    from pipelines.inspect.gradients import places
    from pipelines.text.special_tokens import END, START

    lines = sentences.training_text(1000, seed=3).splitlines()
    tests = sentences.test_sentences(PLACES, seed=3, distances=[SUBJECT])
    print("\n| model | weights | state | text: steps | verb: steps | verb: median at the subject / nearest |")
    print("|---|---|---|---:|---:|---:|", flush=True)
    for trained_model in models:
        if trained_model.model == "transformer":
            continue
        ids = trained_model.encode(lines)
        text = np.concatenate([[START, *row[row > 0], END] for row in ids])
        on_text = places(text, WINDOW, PLACES)
        # From the subject to the verb: 25 tokens that are read, and the verb.
        verbs = [" ".join([*s.prefix.split(" ")[s.subject :], s.right]) for s in tests]
        at_verbs = trained_model.encode(verbs)
        before = [START, *trained_model.before(), *trained_model.encode(["the"])[0]]
        at_verbs = np.concatenate([np.tile(before, (len(at_verbs), 1)), at_verbs], axis=1).astype(np.int32)
        kinds = {"trained": [network for _, network in trained_model.networks]}
        kinds["untrained"] = [trained_model.untrained(seed) for seed in trained_model.seeds]
        if trained_model.model == "lstm":
            del kinds["untrained"]  # Keras's forget bias is 1
            for bias in FORGET_BIASES:
                kinds[f"untrained, forget bias {bias}"] = [
                    trained_model.untrained(s, bias) for s in trained_model.seeds
                ]
        for kind, networks in kinds.items():
            measured = [losses(trained_model.config, network, on_text, at_verbs) for network in networks]
            for state in measured[0]:
                text_steps, verb_steps, kept_share = zip(*(each[state] for each in measured))
                print(
                    f"| {trained_model.model} | {kind} | {state} | {spread(text_steps, 1)} | {spread(verb_steps, 1)} | "
                    f"{np.median(kept_share):.1e} |",
                    flush=True,
                )


def losses(config, network, on_text, at_verbs) -> dict[str, tuple[float, float, float]]:
    """State -> (steps per loss of 90 % in a text, the same from verbs, share of the gradient at the subject)."""
    from pipelines.inspect.gradients import by_distance, gradient_norms, steps_per_loss

    tables = [by_distance(gradient_norms(config, network, windows)) for windows in (on_text, at_verbs)]
    found = {}
    for state in tables[0]["state"].unique():
        text, verb = (table[table["state"] == state]["median"].to_numpy() for table in tables)
        verb = verb[: SUBJECT + 1]
        found[state.removeprefix("layer_1_")] = (steps_per_loss(text), steps_per_loss(verb), verb[-1] / verb[0])
    return found


def name(model: str, seed: int) -> str:
    return f"{model}-{seed}"


def spread(values, digits: int = 2) -> str:
    """The mean, and the lowest and highest value."""
    numbers = [float(value) for value in values]

    def shown(value: float) -> str:
        return "never" if math.isinf(value) else f"{value:.{digits}f}"

    middle = sum(numbers) / len(numbers)
    return shown(middle) if len(numbers) == 1 else f"{shown(middle)} ({shown(min(numbers))} to {shown(max(numbers))})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="folder for the text, runs and exports")
    parser.add_argument("--models", nargs="+", default=list(FLAGS), choices=list(FLAGS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--sentences", type=int, default=40_000, help="sentences of the training text")
    parser.add_argument("--tests", type=int, default=100, help="test sentences of each distance")
    parts = {"agreement": agreement, "memory": memory, "gradients": gradients}
    parser.add_argument("--only", choices=list(parts), help="print the table of one part")
    arguments = parser.parse_args()
    train(arguments)

    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    models = [Trained(arguments, model) for model in arguments.models]
    for part in [parts[arguments.only]] if arguments.only else parts.values():
        part(models, arguments)


if __name__ == "__main__":
    main()
