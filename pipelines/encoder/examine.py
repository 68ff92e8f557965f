"""What `doctor` says about texts without labels. Imports no TensorFlow."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.data import text_findings
from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.data import is_text_file, load, read_chunks
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.findings import Examined, Finding, examples, fact_lines, is_worth
from pipelines.support.numbers import counted, listed

_SHOWN = 200  # characters of a long text that are kept


def examine(config: EncoderConfig) -> Examined:
    """Reads the texts and describes them.

    Raises:
        UserError: the data cannot be read at all.
    """
    dropped: dict[str, int] = {}
    long: list[tuple[str, str]] = []
    in_lines = is_text_file(config)
    texts = text_findings.lines_of(config.data, config.encoding) if in_lines else _texts(config, dropped, long)
    # The tokenizer removes markup.
    read = text_findings.find(
        texts, text_findings.LINE if in_lines else "text", config.encoding, in_lines, markup=False
    )
    facts = {
        "texts": read.texts,
        "characters": read.characters,
        "letters": round(read.letters, 3),
        "left_out": dropped,
    }
    values = {
        "texts": f"{counted(read.texts, 'line' if in_lines else 'text')} with {read.characters:,} characters",
        "letters": f"{100 * read.letters:.0f} % of the characters",
        "left out": listed([f"{reason} {count:,}" for reason, count in dropped.items()]) or "none",
    }
    try:
        splits = load(config)
        facts["training"] = {"train": splits.rows["train"], "validation": splits.rows["valid"]}
        values["training"] = f"would learn from {splits.rows['train']:,} {splits.unit} and validate on "
        values["training"] += f"{splits.rows['valid']:,}"
    except UserError as error:
        facts["refusal"] = str(error)
        values["training"] = f"would be refused: {error}"
    left_out = [
        Finding("left-out", f"{counted(count, 'text')} left out: {reason}")
        for reason, count in dropped.items()
        if is_worth(count, read.texts + count)
    ]
    if is_worth(len(long), read.texts):
        text = f"{counted(len(long), 'text')} of more than {config.max_bytes:,} bytes: the rest is cut"
        left_out.append(Finding("cut", text, "--max-bytes, of `train`", examples(long)))
    return Examined(facts, fact_lines(values), [*left_out, *read.findings])


def _texts(config: EncoderConfig, dropped: dict[str, int], long: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields (place, text).

    Args:
        dropped: reason -> number of texts that were left out; is added to.
        long: gets the start of each text that is longer than --max-bytes.
    """
    number = 0
    for chunk in read_chunks(config):
        for reason, count in chunk.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
        for text in chunk.texts:
            number += 1
            where = f"{Path(paths.shown(config.data)).name}, text {number}"
            if len(text.encode("utf-8", "replace")) > config.max_bytes:
                long.append((where, text[:_SHOWN]))
            yield where, text
