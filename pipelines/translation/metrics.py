"""Scores of translations: BLEU, chrF and TER by sacrebleu (Post 2018; raw cased text), ROUGE, exact matches."""

from collections.abc import Sequence

import numpy as np

from pipelines.support.bootstrap import interval, resampled_sums
from pipelines.translation.rouge import rouge

MIN_ROWS = 10  # a bootstrap over fewer pairs says nothing
_BUCKET_STARTS = (1, 8, 11, 14, 18, 25, 40)  # number of words of the source at which a bucket of lengths starts


def bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """Returns the corpus BLEU, 0 to 100."""
    import sacrebleu

    return sacrebleu.corpus_bleu(list(translations), [list(references)]).score


def measures(sources: Sequence[str], translations: Sequence[str], references: Sequence[str]) -> dict:
    """Returns the scores of translations.

    Returns:
        "rows", the number of pairs; "empty", the number of empty translations of texts; "bleu", "chrf" and "ter", each
        with its sacrebleu signature ("bleu_signature", ...); "bleu_interval", see `bleu_draws`; "rouge1", "rouge2" and
        "rougeL" (rouge.py); "exact_match", the percentage of pairs that are equal; "bleu_by_length", a list of
        {"words", "rows", "bleu"}, BLEU by the number of words of the source.
    """
    hypotheses, references = list(translations), list(references)
    empty = sum(not text.strip() for text, source in zip(hypotheses, sources, strict=True) if source.strip())
    scores = {"rows": len(hypotheses), "empty": empty}
    for name, metric in _metrics().items():
        scores[name] = metric.corpus_score(hypotheses, [references]).score
        scores[f"{name}_signature"] = str(metric.get_signature())
    if len(hypotheses) >= MIN_ROWS:
        scores["bleu_interval"] = interval(bleu_draws(hypotheses, references))
    scores |= rouge(hypotheses, references)
    equal = [text.strip() == reference.strip() for text, reference in zip(hypotheses, references, strict=True)]
    scores["exact_match"] = 100 * sum(equal) / max(len(equal), 1)
    return scores | {"bleu_by_length": _bleu_by_length(sources, hypotheses, references)}


def corpus_scores(translations: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Returns "bleu", "chrf" and "ter"."""
    texts = list(translations), [list(references)]
    return {name: metric.corpus_score(*texts).score for name, metric in _metrics().items()}


def _metrics() -> dict:
    from sacrebleu.metrics import BLEU, CHRF, TER

    return {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}


def bleu_draws(translations: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Returns the corpus BLEU of 1,000 samples of the pairs, float64 [draws]; every call draws the same pairs.

    Its 2.5th and 97.5th percentile are the 95 % interval (Koehn 2004, "Statistical Significance Tests for Machine
    Translation Evaluation").
    """
    return bleu_of(resampled_sums(bleu_counts(translations, references)).astype(int))


def bleu_counts(translations: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Returns what each pair adds to the sums of which BLEU is made: lengths and n-grams, int [n, 10]."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(effective_order=True)
    found = [metric.sentence_score(*pair) for pair in zip(translations, ([text] for text in references), strict=True)]
    return np.array([(each.sys_len, each.ref_len, *each.counts, *each.totals) for each in found])


def bleu_of(sums: np.ndarray) -> np.ndarray:
    """Returns the corpus BLEU of sums of `bleu_counts`, int [draws, 10] -> float [draws]."""
    from sacrebleu.metrics import BLEU

    return np.array(
        [
            BLEU.compute_bleu(row[2:6].tolist(), row[6:].tolist(), *row[:2].tolist(), smooth_method="exp").score
            for row in sums
        ]
    )


def chrf_counts(translations: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Returns what each pair adds to the sums of which chrF is made: n-grams of characters, int [n, 18]."""
    from sacrebleu.metrics import CHRF

    return np.array(CHRF()._extract_corpus_statistics(list(translations), [list(references)]))


def chrf_of(sums: np.ndarray) -> np.ndarray:
    """Returns chrF of sums of `chrf_counts`, int [draws, 18] -> float [draws]."""
    from sacrebleu.metrics import CHRF

    return np.array([CHRF()._compute_f_score(row) for row in sums.tolist()])


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
