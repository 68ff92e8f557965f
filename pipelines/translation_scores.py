"""What translations are worth, by sacrebleu (Post 2018): raw text, cased, tokenised by its default."""

from collections.abc import Sequence

import numpy as np

_LENGTHS = (1, 8, 11, 14, 18, 25, 40)  # words of the source: where a new bucket begins


def bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU, 0 to 100."""
    import sacrebleu

    return sacrebleu.corpus_bleu(list(translations), [list(references)]).score


def measures(sources: Sequence[str], translations: Sequence[str], references: Sequence[str]) -> dict:
    """BLEU, chrF and TER with their signatures, and BLEU by the length of the source."""
    from sacrebleu.metrics import BLEU, CHRF, TER

    hypotheses, references = list(translations), [list(references)]
    found = {"rows": len(hypotheses)}
    for metric in (BLEU(), CHRF(), TER()):
        name = type(metric).__name__.lower()
        found |= {name: metric.corpus_score(hypotheses, references).score, f"{name}_signature": str(metric.get_signature())}
    return found | {"bleu_by_length": _by_length(sources, hypotheses, references[0])}


def _by_length(sources, translations, references) -> list[dict]:
    words = np.array([len(source.split()) for source in sources])
    buckets = []
    for first, after in zip(_LENGTHS, (*_LENGTHS[1:], None), strict=True):
        rows = np.flatnonzero((words >= first) & (words < (after or np.inf)))
        if len(rows):
            score = bleu([translations[i] for i in rows], [references[i] for i in rows])
            buckets.append({"words": f"{first} to {after - 1}" if after else f"{first} or more", "rows": len(rows), "bleu": score})
    return buckets
