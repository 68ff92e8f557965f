"""Which score ranks correct entities above wrong ones? Several, made of the probabilities of the tags of their tokens.

    python main.py train tagging --data FILE --model linear --valid-fraction 0.2 --no-baseline --name names
    python benchmarks/entity_scores.py --data FILE --valid-fraction 0.2 --model saved_models/names/1

The sentences are the validation sentences of the training.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.export.exported import Exported
from pipelines.tagging import data
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.spans import spans_of

SCORES = {"lowest": np.min, "mean": np.mean, "product": np.prod, "first": lambda values: values[0]}


def main(path: str, valid_fraction: float, folder: Path) -> None:
    """Prints, for each score, the area under the ROC curve: correct entities against wrong ones."""
    loaded = Exported(folder.parent.name, int(folder.name), folder).load()
    from pipelines.tagging.tagged import tag_sentences  # after `load`, which hides TensorFlow's messages

    sentences = data.load(TaggingConfig(data=path, model="linear", valid_fraction=valid_fraction).resolve()).valid
    tagged = tag_sentences(loaded.signatures["tokens"], sentences.tokens)
    correct, probabilities = [], []
    for tags, expected, scores in zip(tagged.tags, sentences.tags, tagged.scores, strict=True):
        true = set(spans_of(expected))
        for span in spans_of(tags):
            correct.append(span in true)
            probabilities.append(scores[span.start : span.end])
    areas = {name: roc_auc_score(correct, list(map(score, probabilities))) for name, score in SCORES.items()}
    listed = ", ".join(f"{name} {area:.3f}" for name, area in areas.items())
    print(f"{np.mean(correct):.3f} of {len(correct):,} entities are correct; area under the curve: {listed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--valid-fraction", type=float, default=0.1)
    parser.add_argument("--model", type=Path, required=True)
    given = parser.parse_args()
    main(given.data, given.valid_fraction, given.model)
