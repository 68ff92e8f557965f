"""Boundaries of sentences between the words of raw texts, by rules, as graph operations."""

import tensorflow as tf

from pipelines.text import english_words

_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D
_LINE_ENDS = (_LINE_FEED, 0x85, 0x2028, 0x2029)

_CLOSING = r"[\"'\x{2019}\x{201D}\x{BB})\]}\x{300D}\x{300F}\x{FF09}]"
_WIDE_STOP = r"[\x{3002}\x{FF01}\x{FF1F}\x{FF61}]"  # no space follows these
_STOP = r"(?:[.!?\x{2026}\x{61F}\x{6D4}\x{964}\x{965}]|" + _WIDE_STOP + ")"
_ABBREVIATION = rf"{english_words.ABBREVIATION}|(?:\p{{L}}\.)+"
_EMOTICON = r"[:;=]['\x{2019}]?[-o^]?[()DP]+"
_PUNCTUATION = r".,;:!?%)\]}\x{2026}"  # of these, none starts a sentence


class SentenceRule:
    """Numbers the sentences.

    A sentence ends

    - after a stop and the closing quotes and brackets that follow it without a space, if the next token can start a
      sentence: if it starts with no lower-case letter and is no punctuation mark;
    - after a stop at the end of a line;
    - at an empty line.

    It does not end after an abbreviation or an initial, nor after the number of an item of a list. English words are
    divided with care: a stop is a token only where it is no part of an abbreviation. There, a stop ends a sentence even
    if a lower-case word follows, or a capitalized word without a space.

    Args:
        kind: the `WordSplitter.kind` of the tokens.
    """

    def __init__(self, kind: str):
        self._kind = kind

    def __call__(
        self, codes: tf.Tensor, tokens: tf.Tensor, row: tf.Tensor, first: tf.Tensor, end: tf.Tensor
    ) -> tf.Tensor:
        """Returns the number of each token's sentence in its text, int32 [tokens].

        Args:
            codes: int32 [characters]; the characters of all texts of a batch.
            tokens: string [tokens]; the tokens of all texts.
            row: int64 [tokens]; the number of each token's text, ascending.
            first: int64 [tokens]; the index of the token's first character.
            end: int64 [tokens]; the index after its last character.
        """
        is_first = _shift(row, -1) != row
        is_spaced = is_first | (_shift(end, -1) != first)
        line_ends = tf.gather(tf.cumsum(_line_ends(codes), exclusive=True), first)
        line_ends -= _shift(line_ends, 0)  # between the previous token and this one

        is_end = self._is_end(tokens, is_spaced)
        starts_line = is_first | (line_ends > 0)
        is_end &= ~self._is_list_number(tokens, is_spaced, starts_line | _shift(is_end, False))
        # Closing quotes and brackets end a sentence if the token before them does.
        is_closing = _matches(tokens, rf"{_CLOSING}+") & ~is_spaced
        not_closing = tf.where(~is_closing)[:, 0]
        owner = tf.gather(not_closing, tf.cumsum(tf.cast(~is_closing, tf.int32)) - 1)
        after_end = _shift(tf.gather(is_end, owner), False)
        after_wide = _shift(tf.gather(_matches(tokens, rf".*{_WIDE_STOP}{_CLOSING}*"), owner), False)

        can_start = ~_matches(tokens, rf"[\p{{Ll}}{_PUNCTUATION}].*") & (is_spaced | after_wide)
        if self._kind == "english":
            after_stop = _shift(is_end & _matches(tokens, r"\.|\.?[!?]+"), False)
            can_start |= after_stop & is_spaced & ~_matches(tokens, rf"[{_PUNCTUATION}].*")
            can_start |= after_stop & _matches(tokens, r"\p{Lu}\p{Ll}*")
        starts = after_end & ~is_closing & (can_start | (line_ends > 0))
        number = tf.cumsum(tf.cast(starts | (line_ends > 1) | is_first, tf.int32))
        return number - tf.gather(tf.boolean_mask(number, is_first), tf.cumsum(tf.cast(is_first, tf.int32)) - 1)

    def _is_end(self, tokens: tf.Tensor, is_spaced: tf.Tensor) -> tf.Tensor:
        """Returns whether a token is a stop, or ends with one and is no abbreviation."""
        if self._kind == "english":
            return _matches(tokens, rf"{_STOP}+|{_EMOTICON}")
        if self._kind == "unicode":  # the stop of an abbreviation is a token of its own
            attached = tf.strings.join([_shift(tokens, ""), tokens])
            return _matches(tokens, _STOP) & ~_matches(tf.where(is_spaced, tokens, attached), _ABBREVIATION)
        return _matches(tokens, rf".*{_STOP}{_CLOSING}*") & ~_matches(tokens, _ABBREVIATION)

    def _is_list_number(self, tokens: tf.Tensor, is_spaced: tf.Tensor, can_start: tf.Tensor) -> tf.Tensor:
        """Returns whether a token is the stop after the number of an item of a list."""
        can_start |= _shift(_matches(tokens, ".*:"), False)
        if self._kind == "whitespace":
            return can_start & _matches(tokens, r"\d{1,2}\.")
        return _shift(can_start & _matches(tokens, r"\d{1,2}"), False) & ~is_spaced & (tokens == ".")


def _shift(values: tf.Tensor, start) -> tf.Tensor:
    """Returns for each token the value of the token before it; for the first one, `start`."""
    return tf.concat([tf.fill([1], tf.constant(start, values.dtype)), values], axis=0)[:-1]


def _matches(tokens: tf.Tensor, pattern: str) -> tf.Tensor:
    return tf.strings.regex_full_match(tokens, pattern)


def _line_ends(codes: tf.Tensor) -> tf.Tensor:
    """Returns 1 for each character that ends a line; a carriage return and its line feed end one line together."""
    following = tf.concat([codes[1:], [0]], axis=0)
    is_end = (codes == _CARRIAGE_RETURN) & (following != _LINE_FEED)
    for code in _LINE_ENDS:
        is_end |= codes == code
    return tf.cast(is_end, tf.int32)
