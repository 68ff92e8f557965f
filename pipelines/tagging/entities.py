"""The entities of tagged texts, such as names: what `spans_of` finds in each sentence, with its text and its score."""

import itertools
from collections.abc import Iterable, Sequence

from pipelines.data.tag_schemes import is_spans
from pipelines.tagging.spans import spans_of


def with_entities(results: Sequence[dict], tags: Iterable[str] | None = None) -> list[dict]:
    """Returns tagged texts with their "entities"; see `entities_of`. If the tags mark no spans, they stay as they are.

    Args:
        results: see `format_results`. Without "start", "end" and "sentence", a text is one sentence, with spaces
            between its tokens.
        tags: all tags of the model. None: they are not known, as of a model on a server, and those of the texts decide.
    """
    known = {tag for result in results for tag in result["tags"]} if tags is None else set(tags)
    if not is_spans(known) and not known <= {"O"}:
        return list(results)
    return [result | {"entities": entities_of(result)} for result in results]


def entities_of(result: dict) -> list[dict]:
    """Returns the entities of a tagged text in their order.

    They are those of the signature `entities` (entity_ops.py), which a test compares.

    Returns:
        A dict for each: "text", "label", "start" and "end" (the text's characters [start, end) are the entity), and
        "score": the lowest probability of a tag of its tokens, which ranks correct entities best (docs/tagging.md).
    """
    text, found = result["text"], []
    starts, ends = _positions(result)
    sentences = result.get("sentence", [0] * len(starts))
    for _, group in itertools.groupby(range(len(starts)), key=sentences.__getitem__):
        tokens = list(group)
        for span in spans_of([result["tags"][i] for i in tokens]):
            first, last = tokens[span.start], tokens[span.end - 1]
            start, end, score = starts[first], ends[last], min(result["scores"][first : last + 1])
            found.append({"text": text[start:end], "label": span.label, "start": start, "end": end, "score": score})
    return found


def _positions(result: dict) -> tuple[Sequence[int], Sequence[int]]:
    """Returns start and end of each token in its text."""
    if "start" in result:
        return result["start"], result["end"]
    starts, ends, end = [], [], 0
    for token in result["tokens"]:
        starts.append(result["text"].index(token, end))
        ends.append(end := starts[-1] + len(token))
    return starts, ends
