"""Whether the sentences of the books work on the models of the lessons, for several seeds.

    python benchmarks/course.py --folder FOLDER [--seeds 1 2 3]

Each seed makes other training texts and other weights. A text has neither a sentence of the table nor one that differs
from it in one word (tests/pipelines/learn/test_texts.py). Models that are in the folder already are not trained again.
It prints two tables in Markdown: sentence, command and what came out for each seed (of two verbs: the share of the
right one in their probabilities); and the seconds of each training.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from training import ROOT

sys.path.insert(0, str(ROOT))

RIVER = (
    "he sat on the river bank and looked at the water and the boats",
    "my sister walked along the grassy bank and looked at the reeds and the fish",
)
SAVINGS = "she works at the savings bank and talked about money and loans"
FITS = "the trophy did not fit into the suitcase because it was too {} so people looked for another"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    os.environ["UNROLL_CACHE"] = str(arguments.folder / "cache")
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    from pipelines.learn.course import MODELS, Course

    results, times = [], []
    for seed in arguments.seeds:
        course = Course(arguments.folder / "runs", arguments.folder / "saved_models", seed)
        times.append([])
        for model in MODELS:
            start = time.perf_counter()
            course.trained(model)
            times[-1].append(time.perf_counter() - start)
        results.append(sentences(course))
    print(f"| sentence | command | {' | '.join(f'seed {seed}' for seed in arguments.seeds)} |")
    print(f"|---|---|{'---|' * len(results)}")
    for rows in zip(*results, strict=True):
        print(f"| {rows[0][0]} | {rows[0][1]} | {' | '.join(row[2] for row in rows)} |")
    print(f"\n| model | {' | '.join(f'seed {seed}' for seed in arguments.seeds)} |")
    print(f"|---|{'---:|' * len(results)}")
    for model, seconds in zip(MODELS, zip(*times, strict=True), strict=True):
        print(f"| {model} | {' | '.join(f'{each:.0f} s' for each in seconds)} |")


def sentences(course) -> list[tuple[str, str, str]]:
    """Returns sentence, command and result of each sentence."""
    rows = []
    for subject, prefix, right, wrong in (
        ("flights", "the flights the airline was canceling", "were", "was"),
        ("trophy", "the trophy that the athletes won", "was", "were"),
        ("keys", "the keys beside the table near the picture", "were", "was"),
    ):
        for lesson in ("lesson-3", "lesson-4", "lesson-5"):
            said = f"{share(course.model(lesson), prefix, right, wrong):.2f}"
            rows.append((f"{prefix} **{right}** ({subject})", f"inspect agreement --grammar --models {lesson}", said))
    fish = "so long and thanks for all the"
    rows.append(
        (f"{fish} **fish**", "predict language-model --next 5 --name lesson-2", next_word(course, "lesson-2", fish))
    )
    for word, thing in (("large", "trophy"), ("small", "suitcase")):
        said = next_word(course, "lesson-9", FITS.format(word))
        rows.append((f"{FITS.format(word)} **{thing}**", "predict language-model --next 3 --name lesson-9", said))
    book = "Jim bought 300 shares of Acme Corp. in 2006 ."
    tags = course.model("lesson-6").trace([book])[0].outputs["tags"]
    said = " ".join(tag.decode() for tag in tags)
    rows.append((book, "predict tagging --name lesson-6", said))
    said = translation(course.model("lesson-8"), "The green witch arrived.")
    rows.append(("The green witch arrived.", "predict translation --name lesson-8", said))
    for text, word in (
        ("i am [MASK] because i have not had any meal today", "hungry"),
        ("i am [MASK] because i ate a lot of bread today", "full"),
    ):
        outputs = course.model("lesson-10").ask("fill", text=[text])
        said = f"{outputs['tokens'][0][0].decode()} {outputs['probabilities'][0][0]:.2f}"
        rows.append((text.replace("[MASK]", f"**{word}**"), "predict encoder --name lesson-10", said))
    same, other = cosines(course)
    rows.append(("river bank, grassy bank; river bank, savings bank", "predict encoder --near --name lesson-10",
                 f"{same:.2f}; {other:.2f}"))  # fmt: skip
    return rows


def share(model, prefix: str, right: str, wrong: str) -> float:
    """Returns P(right) / (P(right) + P(wrong)) after a text; three other sentences are read before, as in training."""
    from pipelines.inspect.agreement import documents_before, score_function, word_by_word
    from pipelines.inspect.sentences import training_text

    before = documents_before(model.signatures, training_text(3, seed=4).splitlines())
    last = word_by_word(score_function(model.signatures, before), prefix, (right, wrong), model.tokenizer).iloc[-1]
    return last[right] / (last[right] + last[wrong])


def next_word(course, name: str, text: str) -> str:
    """Returns the most likely next word and its probability."""
    outputs = course.model(name).trace([text])[0].outputs
    return f"{outputs['next_tokens'][-1][0].decode()} {outputs['next_probabilities'][-1][0]:.2f}"


def translation(model, text: str) -> str:
    return model.ask("serving_default", text=[text])["translation"][0].decode()


def cosines(course) -> tuple[float, float]:
    """Returns the cosine of "bank" in the two sentences of rivers, and of the first of them and that of savings."""
    from pipelines.encoder.predict import compare_words

    model = course.model("lesson-10")
    context = compare_words(model.exported, [*RIVER, SAVINGS], "bank", model.loaded)["context"]
    return context[0][1], context[0][2]


if __name__ == "__main__":
    main()
