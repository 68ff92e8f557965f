"""Subword regularization: the texts of every epoch are split into other subword tokens.

Source: Kudo 2018, "Subword Regularization" (arXiv:1804.10959).
"""

import itertools

import numpy as np
import tensorflow as tf

from pipelines.text.tokenizers import SubwordTokenizer, in_batches


class SubwordSampler:
    """Samples a segmentation of each word among the N with the highest probability.

    A segmentation s is sampled with a probability proportional to p(s)^alpha, where p is the SentencePiece model's. No
    token spans two words. (SentencePiece can sample, too, but its seed does not give the same samples in another
    process.)

    Args:
        tokenizer: the tokenizer whose tokens are sampled.
        texts: n texts as UTF-8 bytes or str.
        alpha: above 0. Lower values make the segmentations more uniform.
    """

    _MAX_SEGMENTATIONS = 16  # N, per word

    def __init__(self, tokenizer: SubwordTokenizer, texts: np.ndarray, alpha: float):
        import sentencepiece

        words = [text.decode().split() for batch in in_batches(texts) for text in tokenizer.normalize(batch).numpy()]
        all_words = [word for row in words for word in row]
        word_ids = dict(zip(dict.fromkeys(all_words), itertools.count()))
        self._word_ids = np.array([word_ids[word] for word in all_words], np.int64)
        self._rows = np.repeat(np.arange(len(words)), [len(row) for row in words])
        self._num_texts = len(words)

        model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
        log_p = [model.get_score(token) for token in range(tokenizer.vocabulary_size)]
        segmentations = []
        probabilities = np.zeros((len(word_ids), self._MAX_SEGMENTATIONS))
        for word_id, word in enumerate(word_ids):
            best = model.nbest_encode(word, nbest_size=self._MAX_SEGMENTATIONS)
            scores = np.array([sum(log_p[token] for token in segmentation) for segmentation in best])
            weights = np.exp(alpha * (scores - scores.max()))
            probabilities[word_id, : len(best)] = weights / weights.sum()
            segmentations += best + [[]] * (self._MAX_SEGMENTATIONS - len(best))
        self._segmentations = tf.ragged.constant(segmentations, tf.int32, row_splits_dtype=tf.int64)
        self._cumulative = probabilities.cumsum(axis=1)

    def __call__(self, seed) -> tf.RaggedTensor:
        """Samples the tokens of all texts.

        Args:
            seed: any seed that NumPy accepts. The same seed gives the same tokens.

        Returns:
            Ids, ragged int32 [n, (tokens)], without special ids.
        """
        uniform = np.random.default_rng(seed).random(len(self._word_ids))
        choice = (self._cumulative[self._word_ids] < uniform[:, None]).sum(axis=1)
        choice = np.minimum(choice, self._MAX_SEGMENTATIONS - 1)
        by_word = tf.gather(self._segmentations, self._word_ids * self._MAX_SEGMENTATIONS + choice)
        lengths = np.bincount(self._rows, weights=by_word.row_lengths(), minlength=self._num_texts)
        return tf.RaggedTensor.from_row_lengths(by_word.flat_values, lengths.astype(np.int64))
