"""Where tokens are in their raw text."""

_MAX_TOKENS = 12  # of one or several multiword tokens in a row that are not in the text as they are
_MAX_WORDS = 8  # words of the text that they may take
_NUM_COMPARED = 3  # tokens that are compared with the text to find out where it continues


def character_spans(tokens: list[str], text: str) -> list[tuple[int, int] | None]:
    """Finds tokens in a text, in their order.

    Between the tokens the text may have white space. Where it has something else, such as the French du in place of the
    tokens de and le, these tokens have no position; the next token is searched at the starts of the next words.

    Returns:
        Start and end of each token, counted in Unicode characters of the text; None if it is not in the text as it is.
    """
    spans: list[tuple[int, int] | None] = []
    position = 0
    while len(spans) < len(tokens):
        token = tokens[len(spans)]
        start = _skip_spaces(text, position)
        end = _end(token, text, start)
        if end is not None:
            spans.append((start, end))
            position = end
            continue
        # Tokens such as "de" at the start of the Spanish "del" are not in the text, either: its word has other tokens.
        if _is_inside_a_word(text, start):
            first = start
            while _is_inside_a_word(text, first):
                first -= 1
            for index in range(len(spans) - 1, -1, -1):
                if spans[index] is None or spans[index][1] <= first:
                    break
                spans[index] = None
        num_skipped, position = _next_match(tokens, len(spans), text, start)
        spans += [None] * num_skipped
    return spans


def _next_match(tokens: list[str], index: int, text: str, start: int) -> tuple[int, int]:
    """Returns how many tokens from `index` on to skip, at least 1, and the position in the text to continue from."""
    candidates = range(index + 1, min(index + 1 + _MAX_TOKENS, len(tokens)))
    position = start
    for num_words in range(_MAX_WORDS):
        if num_words or not _is_inside_a_word(text, start):  # at first, without skipping a word
            best = max(candidates, key=lambda i: (_num_matches(tokens, i, text, position), -i), default=None)
            if best is not None and _num_matches(tokens, best, text, position):
                return best - index, position
        if position == len(text):
            break
        position = _skip_spaces(text, _end_of_word(text, position))
    return 1, start


def _num_matches(tokens: list[str], index: int, text: str, position: int) -> int:
    """Returns how many tokens from `index` on are at `position`, at most _NUM_COMPARED; 0 if the first is not a word.

    Up to the end of the tokens and of the text, it is _NUM_COMPARED.
    """
    count = 0
    for token in tokens[index : index + _NUM_COMPARED]:
        end = _end(token, text, position)
        if end is None:
            return count if count > 1 or not _is_inside_a_word(text, position) else 0
        count += 1
        position = _skip_spaces(text, end)
    return _NUM_COMPARED if position == len(text) else count


def _end(token: str, text: str, start: int) -> int | None:
    """Returns the end of `token` in the text if it is at `start`, else None. White space may differ."""
    if text.startswith(token, start):
        return start + len(token)
    parts = token.split()
    if len(parts) < 2:
        return None
    for part in parts:
        start = _skip_spaces(text, start)
        if not text.startswith(part, start):
            return None
        start += len(part)
    return start


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _is_inside_a_word(text: str, position: int) -> bool:
    return 0 < position < len(text) and text[position - 1].isalnum() and text[position].isalnum()


def _end_of_word(text: str, position: int) -> int:
    """Returns the end of the letters and digits at `position`, or of the one other character."""
    position += 1
    while _is_inside_a_word(text, position):
        position += 1
    return position
