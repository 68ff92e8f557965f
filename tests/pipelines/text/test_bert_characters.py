import unicodedata

import numpy as np
import pytest

from pipelines.text import bert_characters
from pipelines.text.bert_characters import ALONE, LETTER, PAGE, REMOVED, SPACE


def number(table, character):
    return int(table.rows[table.pages[ord(character) // PAGE], ord(character) % PAGE])


def replaced(table, text):
    codes = []
    for character in text:
        i = number(table.numbers, character)
        start = table.starts[i]
        codes += table.codes[start : start + table.lengths[i]].tolist() if i else [ord(character)]
    return "".join(map(chr, codes))


@pytest.mark.parametrize(
    ("flags", "text", "expected"),
    [
        ((True, True), "\u00c9a\u4e2d\u00ad\u00a0\u0130\u03a3", "e\u0301a\u4e2d i\u0307\u03c3"),
        ((False, False), "\u00c9\u4e2dA\t", "\u00c9\u4e2dA "),
        ((True, False), "\u00c9\u4e2d\u0130", "\u00e9\u4e2di\u0307"),
        ((False, True), "\u00c9\ud55c", "E\u0301\u1112\u1161\u11ab"),
        ((True, True), "\uf900\u0378\ue000\ufffd\0", "\u8c48\u0378"),  # unassigned characters stay
    ],
)
def test_what_characters_become(flags, text, expected):
    assert replaced(bert_characters.replacements(*flags), text) == expected


def test_the_classes():
    table = bert_characters.classes(strip_accents=True, split_cjk=True)
    assert [number(table, character) % 4 for character in "a !$\u3001\u4e2d\u0301"] == [
        LETTER,
        SPACE,
        *[ALONE] * 4,
        REMOVED,
    ]
    assert number(table, "\u0301") // 4 == 230 and number(table, "a") // 4 == 0
    assert number(bert_characters.classes(strip_accents=False, split_cjk=False), "\u0301") == LETTER


def test_equal_pages_are_stored_once():
    table = bert_characters.replacements(True, True).numbers
    assert len(table.pages) * PAGE == 0x110000 and len(table.rows) < 200


@pytest.mark.long
def test_every_character_is_that_of_the_reference():
    package = pytest.importorskip("tokenizers")
    tables = {flags: bert_characters.replacements(*flags) for flags in ((True, False), (False, True))}
    normalizers = {
        flags: package.normalizers.BertNormalizer(
            lowercase=flags[0], strip_accents=flags[1], handle_chinese_chars=False
        )
        for flags in tables
    }
    classes = bert_characters.classes(strip_accents=True, split_cjk=True)
    values = classes.rows[classes.pages].reshape(-1)
    for flags, table in tables.items():
        numbers = table.numbers.rows[table.numbers.pages].reshape(-1)
        ends = table.starts + table.lengths
        texts = ["", *("".join(map(chr, table.codes[a:b])) for a, b in zip(table.starts[1:], ends[1:]))]
        kept = ["".join(c for c in text if not flags[1] or values[ord(c)] % 4 != REMOVED) for text in texts]
        for code in range(0x110000):
            if not 0xD800 <= code < 0xE000:
                character = chr(code)
                own = "" if flags[1] and values[code] % 4 == REMOVED else character
                ours = kept[numbers[code]] if numbers[code] else own
                assert normalizers[flags].normalize_str(character) == ours, hex(code)
    split = package.pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    marks = {code for codes in bert_characters.PUNCTUATION for code in codes}
    for code in np.flatnonzero(numbers == 0).tolist():  # characters that are their own replacement
        if not 0xD800 <= code < 0xE000 and code != ord(" "):
            assert len(split(f"a{chr(code)}b")) == (3 if code in marks else 1), hex(code)


def test_only_characters_that_combine_are_ordered():
    assert all(unicodedata.combining(chr(code)) for codes in bert_characters.COMBINING for code in codes)


def test_ideographs_are_normalized_to_ideographs_and_nothing_else_is():
    # The reference splits before it normalizes, the graph after it.
    ideographs = {code for codes in bert_characters.IDEOGRAPHS for code in codes}
    for code in range(0x110000):
        parts = [ord(part) for part in unicodedata.normalize("NFD", chr(code))]
        if parts != [code]:
            assert (len(parts) == 1 and parts[0] in ideographs) == (code in ideographs), hex(code)
