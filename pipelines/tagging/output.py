"""Writes predicted tags as CoNLL-U or JSON Lines. For tables of tokens see `item_files.py`."""

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import TextIO

from pipelines.tagging.spans import spans_of
from pipelines.text.invisible import visible

_UPOS = {  # https://universaldependencies.org/u/pos
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
}
_COLUMNS = {"upos": 3, "xpos": 4, "feats": 5}
_BREAKS = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def writer(
    file: TextIO, suffix: str, column: str | None, tags: Collection[str], first_number: int = 1
) -> Callable[[list[dict]], None]:
    """Returns a function that writes results, each with "text" and, one value per token, "tokens", "tags" and "scores".

    Results of raw texts also have "start", "end" and "sentence"; without them, a text is one sentence, with spaces
    between its tokens. Results may have "uncertainty", a number.

    Args:
        file: where to write.
        suffix: .conllu or .jsonl (a result per line).
        column: the column of the training data with the tags, for CoNLL-U: see `conllu_column`.
        tags: all tags of the model, for CoNLL-U.
        first_number: of the texts, for CoNLL-U.
    """
    if suffix == ".jsonl":
        return lambda results: file.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in results)
    numbers = itertools.count(first_number)
    name = conllu_column(column, tags)
    return lambda results: file.writelines(
        line for result, number in zip(results, numbers) for line in _conllu(result, number, name)
    )


def conllu_column(column: str | None, tags: Collection[str]) -> str:
    """Returns where CoNLL-U has the tags: upos, xpos, feats or a key of the column MISC.

    Args:
        column: as in training. Where it is a number or None, the tags decide: upos if all are those of UD, else the key
            NER for spans and xpos for others.
        tags: all tags of the model.
    """
    if column and not column.isdecimal():
        return column.lower() if column.lower() in _COLUMNS else column
    if set(tags) <= {*_UPOS, "_"}:
        return "upos"
    return "NER" if any(spans_of([tag]) for tag in tags) else "xpos"


def _uncertainty(result: dict) -> dict[str, float]:
    return {name: result[name] for name in ("uncertainty",) if name in result}


def _conllu(result: dict, number: int, column: str) -> Iterator[str]:
    """The lines of a text: a paragraph, whose sentences have ids such as 7.2 for the second one of the seventh text."""
    tokens, starts = [_on_one_line(token) for token in result["tokens"]], result.get("start")
    spaces = [True] * len(tokens)  # whether a space follows the token
    if starts:
        gaps = zip(result["end"], [*starts[1:], None])
        spaces = [start is None or visible(result["text"][end:start]) != "" for end, start in gaps]
    sentences = itertools.groupby(range(len(tokens)), key=lambda i: result["sentence"][i] if starts else 0)
    for index, (_, positions) in enumerate(sentences, 1):
        positions = list(positions)
        text = "".join(tokens[i] + " " * spaces[i] for i in positions).strip()
        if index == 1:
            yield "# newpar\n"
            yield from (f"# {name} = {value}\n" for name, value in _uncertainty(result).items())
        yield from (f"# sent_id = {number}.{index}\n", f"# text = {text}\n")
        for word, i in enumerate(positions, 1):
            cells = [str(word), tokens[i], *["_"] * 8]
            misc = {} if spaces[i] else {"SpaceAfter": "No"}
            if starts:
                misc["TokenRange"] = f"{starts[i]}:{result['end'][i]}"
            if column in _COLUMNS:
                cells[_COLUMNS[column]] = result["tags"][i]
            else:
                misc[column] = result["tags"][i]
            cells[9] = "|".join(f"{name}={value}" for name, value in sorted(misc.items())) or "_"
            yield "\t".join(cells) + "\n"
        yield "\n"


def _on_one_line(token: str) -> str:
    """The token without tabs and line breaks, which would end its cell."""
    return _BREAKS.sub(" ", token).strip(" ") or "_"
