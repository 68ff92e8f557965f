"""What a recurrent language model loses if all its gates of one kind stay open or closed.

    python benchmarks/interventions.py --models shakespeare --data ../shared/data/tinyshakespeare/input.txt

Reads the last lines of the data, which a training keeps for validation, in pieces; prints the loss of each clamp.
"""

import argparse
import sys
from pathlib import Path

from training import ROOT

sys.path.insert(0, str(ROOT))

CLAMPS = [f"{gate}:all:all={value}" for gate in ("forget", "input", "output", "update", "reset") for value in (1, 0)]


def pieces(path: Path, count: int, size: int) -> list[str]:
    """Returns the last pieces of a text, each of `size` characters."""
    text = path.read_text(encoding="utf-8")[-count * size :]
    return [text[first : first + size] for first in range(0, len(text), size)]


def main() -> None:
    """Prints a row for each model and clamp."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--saved-models", type=Path, default=Path("saved_models"))
    parser.add_argument("--models", nargs="+", required=True, help="recurrent language models")
    parser.add_argument("--data", type=Path, required=True, help="a text")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--characters", type=int, default=200)
    given = parser.parse_args()
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np

    from pipelines.inspect import interventions, models

    texts = pieces(given.data, given.texts, given.characters)
    for model in models.find(given.saved_models, tuple(given.models)):
        (plain,) = model.intervene(texts[0], [[]])
        known = [clamp for clamp in CLAMPS if interventions.layers_of(plain, f"{clamp.split(':')[0]}_gate")]
        rows = [[], *([*interventions.parse([clamp], plain)] for clamp in known)]
        traces = [model.intervene(text, rows) for text in texts]
        losses = np.array([[-trace.outputs["log_probabilities"][1:].mean() for trace in each] for each in traces])
        # losses: [texts, clamps], nats per token
        for name, of_clamp in zip(["nothing is set", *known], losses.T, strict=True):
            print(f"{model.title}  {name:<20}{of_clamp.mean():.3f} (sd over texts {of_clamp.std(ddof=1):.3f})")


if __name__ == "__main__":
    main()
