"""Scores of translations: BLEU, chrF and TER by sacrebleu (Post 2018; raw cased text), ROUGE, exact matches."""

from collections.abc import Sequence

import numpy as np

from pipelines.translation.rouge import rouge

_BUCKET_STARTS = (1, 8, 11, 14, 18, 25, 40)  # number of words of the source at which a bucket of lengths starts


def bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """Returns the corpus BLEU, 0 to 100."""
    import sacrebleu

    return sacrebleu.corpus_bleu(list(translations), [list(references)]).score


def measures(sources: Sequence[str], translations: Sequence[str], references: Sequence[str]) -> dict:
    """Returns the scores of translations.

    Returns:
        "rows", the number of pairs; "bleu", "chrf" and "ter", each with its sacrebleu signature ("bleu_signature",
        ...); "rouge1", "rouge2" and "rougeL" (rouge.py); "exact_match", the percentage of pairs that are equal;
        "bleu_by_length", a list of {"words", "rows", "bleu"}, BLEU by the number of words of the source.
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    hypotheses, references = list(translations), [list(references)]
    scores = {"rows": len(hypotheses)}
    for metric in (BLEU(), CHRF(), TER()):
        name = type(metric).__name__.lower()
        scores[name] = metric.corpus_score(hypotheses, references).score
        scores[f"{name}_signature"] = str(metric.get_signature())
    scores |= rouge(hypotheses, references[0])
    equal = [text.strip() == reference.strip() for text, reference in zip(hypotheses, references[0], strict=True)]
    scores["exact_match"] = 100 * sum(equal) / max(len(equal), 1)
    return scores | {"bleu_by_length": _bleu_by_length(sources, hypotheses, references[0])}


def _bleu_by_length(sources, translations, references) -> list[dict]:
    words = np.array([len(source.split()) for source in sources])
    buckets = []
    for first, end in zip(_BUCKET_STARTS, (*_BUCKET_STARTS[1:], None), strict=True):
        rows = np.flatnonzero((words >= first) & (words < (end or np.inf)))
        if len(rows):
            score = bleu([translations[i] for i in rows], [references[i] for i in rows])
            label = f"{first} to {end - 1}" if end else f"{first} or more"
            buckets.append({"words": label, "rows": len(rows), "bleu": score})
    return buckets
