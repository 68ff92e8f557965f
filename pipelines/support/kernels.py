"""Which kernels TensorFlow computes a model with: those of oneDNN, or its own. Imports no TensorFlow.

On processors with AVX-512, TensorFlow takes those of oneDNN, which are faster for large products. A transformer that
generates token by token computes many small ones, which TensorFlow's own kernels finish in half of the time. The
choice is one of the whole process, before TensorFlow is imported. So an export's card has it as a recommendation,
`environment`, which the commands of this package follow.
"""

import os
import sys
from collections.abc import Iterable, MutableMapping

ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
OWN_KERNELS = {ONEDNN: "0"}  # of a transformer that generates


def choose(cards: Iterable[dict], environment: MutableMapping[str, str] = os.environ) -> bool:
    """Sets the variables of the environment that all cards recommend; returns whether any was set.

    Nothing changes in a process that has imported TensorFlow, or where the user has set the variable.

    Args:
        cards: of the models that this process loads.
    """
    recommended = [card.get("environment") or {} for card in cards]
    wanted = {each.get(ONEDNN) for each in recommended}
    if wanted != {OWN_KERNELS[ONEDNN]} or ONEDNN in environment or "tensorflow" in sys.modules:
        return False
    environment.update(OWN_KERNELS)
    return True
