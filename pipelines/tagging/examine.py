"""What `doctor` says about tagged sentences. Imports no TensorFlow."""

import collections
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from pipelines.data import columns, labels, near_names, tag_schemes, tagged_sentences, tagged_splits, text_flaws
from pipelines.data.splits import comparable
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.data.text_flaws import Flaws
from pipelines.support.errors import UserError
from pipelines.support.findings import Examined, Finding, examples, fact_lines, is_worth, percent
from pipelines.support.numbers import counted, listed
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.data import load

_LONG = 5  # tokens of a sentence that is hardly in two places by chance
_MIN_REPEATED, _MIN_CONTRADICTING, _MIN_LEAKED = 0.05, 0.005, 0.005  # of the sentences of at least _LONG tokens
_MAX_TOKENS = 500  # of a sentence; longer ones have no ends
_MIN_SHARE = 0.99  # of the most frequent tag
_MIN_LETTERS = 3  # of misspelled tags, such as PRE for PER
_MOSTLY = 0.9  # of the tags that mark spans, if some others do not
_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)*")
_SPAN = re.compile(r"[BIESLUMW]-.+", re.DOTALL)
# Tags of UD and of the Penn Treebank: a rare one is no misspelling of another.
_TREEBANK_TAGS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X CC CD DT EX FW IN JJ JJR JJS LS MD "
    "NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB AFX ADD GW HYPH NFP "
    "XX NP NPS PP NML ADJP ADVP CONJP LST PRT SBAR UCP VP"
)
_KNOWN = frozenset(_TREEBANK_TAGS.split())


@dataclasses.dataclass
class _Sentences:
    """Sentences of a split, with their tags as in the files.

    Attributes:
        rows: the sentences.
        places: of each sentence, such as `a.conll, sentence 3`.
    """

    rows: TaggedSentences
    places: list[str]

    def __iter__(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yields (place, tokens, tags)."""
        return zip(self.places, self.rows.tokens, self.rows.tags, strict=True)


def examine(config: TaggingConfig) -> Examined:
    """Reads the tagged sentences and describes them.

    Raises:
        UserError: the data cannot be read at all.
    """
    files = tagged_sentences.files_of(config.data)
    tagged_splits.require_training(files)
    parts = {split: _read(paths, config) for split, paths in files.items()}
    others = {name: part for name, part in parts.items() if name != "train"}
    if config.valid:
        own = tagged_sentences.files_of(config.valid)
        others["--valid"] = _read(own[tagged_splits.own_validation(own)], config)
    train = parts["train"]
    tags = collections.Counter(tag for each in train.rows.tags for tag in each)
    scheme = tag_schemes.detect([each for part in parts.values() for each in part.rows.tags])
    facts = {
        "rows": {split: len(part.rows) for split, part in parts.items()},
        "tokens": train.rows.num_tokens,
        "left_out": train.rows.dropped,
        "tags": dict(tags.most_common()),
        "scheme": scheme,
        "longest": max(map(len, train.rows.tokens)),
    }
    try:
        splits = load(config)
        facts["training"] = {"train": len(splits.train), "validation": len(splits.valid), "notes": splits.notes}
    except UserError as error:
        facts["refusal"] = str(error)
    found = [*_of_reading(train), *_of_tags(tags, train), *_of_scheme(scheme, tags, train), *_of_tokens(train)]
    found += [*_of_repeated(train), *_of_templates(facts)]
    for name, part in others.items():
        found += _leaks(name, part, train)
    pairs = ((where, " ".join(tokens)) for where, tokens, _ in train)
    found += text_flaws.find(pairs, Flaws("sentence", config.encoding, letters=False))
    return Examined(facts, _lines(facts), found)


def _read(paths: list[Path], config: TaggingConfig) -> _Sentences:
    """Returns the sentences of files; the tags are those of the files, and not yet in IOB2."""
    read, places = [], []
    for path in paths:
        chunks = list(tagged_sentences.read_chunks([path], config.token_options()))
        read += chunks
        places += [f"{path.name}, sentence {number + 1}" for number in range(sum(map(len, chunks)))]
    return _Sentences(tagged_sentences.joined(read), places)


def _lines(facts: dict) -> list[str]:
    sizes = facts["rows"]
    values = {
        "sentences": listed([f"{n:,} {name}" for name, n in sizes.items()]),
        "tokens": f"{facts['tokens']:,}; the longest sentence has {facts['longest']:,}",
        "tags": listed([f"{tag} {count:,}" for tag, count in facts["tags"].items()]),
        "spans": f"marked in {facts['scheme']}" if facts["scheme"] else "none: each tag is one of its token alone",
        "left out": listed([f"{reason} {count:,}" for reason, count in facts["left_out"].items()]) or "none",
    }
    if "refusal" in facts:
        values["training"] = f"would be refused: {facts['refusal']}"
    else:
        training = facts["training"]
        values["training"] = f"would learn from {training['train']:,} sentences and validate on "
        values["training"] += f"{training['validation']:,}"
    return fact_lines(values)


def _of_reading(train: _Sentences) -> list[Finding]:
    """What the readers left out or changed."""
    found = []
    for reason, count in train.rows.dropped.items():
        if reason != columns.NAMES and is_worth(count, len(train.rows)):
            remedy = "--column, where the tags are in another column" if "without a tag" in reason else ""
            remedy = "--token-column, where the tokens are in another column" if "without a" in reason else remedy
            shown = examples(getattr(train.rows.dropped, "examples", {}).get(reason, ()))
            found.append(Finding("left-out", f"left out or changed: {reason}: {count:,}", remedy, shown))
    return found


def _of_tags(tags: collections.Counter, train: _Sentences) -> list[Finding]:
    """Misspelled tags, those of a missing value or a number, and one that nearly all tokens have."""
    found = []
    names: collections.Counter = collections.Counter()
    for tag, count in tags.items():
        if "=" not in tag and tag not in _KNOWN:
            names[_label(tag)] += count
    for tag in _KNOWN & tags.keys():
        names[tag] += tags[tag]
    for rare, frequent in near_names.find(names, _MIN_LETTERS):
        if rare not in _KNOWN:
            text = f"the tag {rare!r} ({counted(names[rare], 'token')}) is nearly {frequent!r} ({names[frequent]:,})"
            shown = _with_tag(train, lambda tag, of=rare: _label(tag) == of)
            found.append(Finding("misspelled-tag", text, examples=shown))
    if missing := labels.like_missing(sorted(names.keys() - _KNOWN)):
        number = sum(names[name] for name in missing)
        text = f"{counted(number, 'token')} with a tag that looks like a missing value: {listed(missing)}"
        shown = _with_tag(train, lambda tag: _label(tag) in missing)
        found.append(Finding("missing-tag", text, examples=shown))
    if all(tag.isdecimal() for tag in tags):
        text = f"the tags are numbers, from {min(tags, key=int)} to {max(tags, key=int)}"
        found.append(Finding("numbered-tags", text, "--tag-names O,B-PER,I-PER: their names in this order"))
    elif numbers := sorted(name for name in names if name.isdecimal()):
        count = sum(names[name] for name in numbers)
        text = f"{counted(count, 'token')} with a number as label, which says nothing to a reader: {listed(numbers)}"
        shown = _with_tag(train, lambda tag: _label(tag) in numbers)
        found.append(Finding("numbered-labels", text, "their names in the file, in place of the numbers", shown))
    tag, count = tags.most_common(1)[0]
    if len(tags) > 1 and count >= _MIN_SHARE * tags.total():
        text = f"{percent(count, tags.total())} of the tokens have the tag {tag!r}: a model may learn nothing else"
        found.append(Finding("one-tag", text, "--column, if the tags are in another column"))
    return found


def _of_scheme(scheme: str | None, tags: collections.Counter, train: _Sentences) -> list[Finding]:
    """Tags that break the scheme of the others."""
    if scheme is None:
        return _of_mixed(tags, train)
    broken, unended = [], []
    for where, tokens, each in train:
        if scheme != tag_schemes.IOB1 and tag_schemes.to_iob2([each])[1]:
            broken.append((where, _shown(tokens, each)))
        if scheme == tag_schemes.BIOES and _num_unended(each):
            unended.append((where, _shown(tokens, each)))
    found = []
    if broken:
        text = f"{counted(len(broken), 'sentence')} with a tag such as I- that continues no span: it is read as B-"
        found.append(Finding("broken-scheme", text, examples=examples(broken)))
    if unended:
        text = f"{counted(len(unended), 'sentence')} with a span that has no end (E-, S-) as those of the scheme have"
        found.append(Finding("broken-scheme", text, examples=examples(unended)))
    return found


def _of_mixed(tags: collections.Counter, train: _Sentences) -> list[Finding]:
    """Tags that mark no spans although most of them look like it."""
    marked = tags.total() - tags["O"]  # tokens
    others = {tag: count for tag, count in tags.items() if tag != "O" and not _SPAN.fullmatch(tag)}
    if not tags["O"] or not marked or sum(others.values()) > (1 - _MOSTLY) * marked:
        return []
    if others:
        text = f"{counted(sum(others.values()), 'token')} with a tag that marks no span, where others do: "
        text += f"{listed(list(others))}. So none is read as a span"
        return [Finding("mixed-schemes", text, examples=_with_tag(train, others.__contains__))]
    letters = sorted({tag[0] for tag in tags if tag != "O"})
    text = f"the tags start with {', '.join(f'{letter}-' for letter in letters)}, which no scheme has together"
    return [Finding("mixed-schemes", f"{text}. So none is read as a span")]


def _of_tokens(train: _Sentences) -> list[Finding]:
    """Sentences without ends, and tokens that are none."""
    found = []
    long = [(where, " ".join(tokens)) for where, tokens, _ in train if len(tokens) > _MAX_TOKENS]
    if long:
        text = f"{counted(len(long), 'sentence')} of more than {_MAX_TOKENS} tokens: are the ends of sentences lost?"
        found.append(Finding("no-sentence-ends", text, "a blank line after each sentence", examples(long)))
    numbers = sum(bool(_NUMBER.fullmatch(token)) for tokens in train.rows.tokens for token in tokens)
    if 2 * numbers > train.rows.num_tokens:
        text = f"{percent(numbers, train.rows.num_tokens)} of the tokens are numbers"
        found.append(Finding("numbers", text, "--token-column, if the tokens are in another column"))
    spaced = [(where, token) for where, tokens, _ in train for token in tokens if " " in token.strip()]
    if is_worth(len(spaced), train.rows.num_tokens, 0.1):
        text = f"{percent(len(spaced), train.rows.num_tokens)} of the tokens have spaces: is each of them a text?"
        found.append(Finding("spaces", text, "--token-column, or `train classification` for texts", examples(spaced)))
    return found


def _of_repeated(train: _Sentences) -> list[Finding]:
    """Sentences that occur more than once, and those that then have other tags."""
    first: dict[tuple[str, ...], list[str]] = {}
    repeated, contradicting, num_long = [], [], 0
    for where, tokens, tags in train:
        if len(tokens) < _LONG:
            continue
        num_long += 1
        known = first.setdefault(tuple(tokens), tags)
        if known is not tags:
            repeated.append((where, " ".join(tokens)))
            if known != tags:
                differing = next(i for i, pair in enumerate(zip(known, tags)) if pair[0] != pair[1])
                shown = f"{tokens[differing]!r} is {known[differing]} and {tags[differing]} in: {' '.join(tokens)}"
                contradicting.append((where, shown))
    found = []
    if is_worth(len(repeated), num_long, _MIN_REPEATED):
        text = f"{_share(repeated, num_long)} are there already"
        found.append(Finding("repeated", text, examples=examples(repeated)))
    if is_worth(len(contradicting), num_long, _MIN_CONTRADICTING):
        text = f"{counted(len(contradicting), 'sentence')} with other tags than the same sentence before"
        found.append(Finding("contradicting", text, examples=examples(contradicting)))
    return found


def _of_templates(facts: dict) -> list[Finding]:
    """Validation sentences that are those of training but for their spans."""
    training = facts.get("training", {"notes": {}})
    if not (count := training["notes"].get(tagged_splits.FROM_TEMPLATES)):
        return []
    text = f"{tagged_splits.FROM_TEMPLATES}: {count:,}, {percent(count, training['validation'])}"
    return [Finding("templates", text, "--valid, with sentences as your users write them")]


def _leaks(name: str, part: _Sentences, train: _Sentences) -> list[Finding]:
    """Sentences of validation or test that are also in training, and tags that training does not have."""
    known = {comparable(text) for text in train.rows.texts}
    texts = zip(part.places, part.rows.tokens, part.rows.texts, strict=True)
    long = [(where, text) for where, tokens, text in texts if len(tokens) >= _LONG]
    leaked = [(where, text) for where, text in long if comparable(text) in known]
    found = []
    if is_worth(len(leaked), len(long), _MIN_LEAKED):
        remedy = "without --valid: training then keeps equal sentences together" if name == "--valid" else ""
        text = f"in {name}, {_share(leaked, len(long))} are also in training"
        found.append(Finding("leak", text, remedy, examples(leaked)))
    unknown = tagged_splits.unknown_tags(part.rows, {tag for tags in train.rows.tags for tag in tags})
    if is_worth(sum(unknown.values()), part.rows.num_tokens):
        text = f"{counted(sum(unknown.values()), 'token')} of {name} with a tag that training does not have: "
        text += listed(list(unknown))
        found.append(Finding("unknown-tags", text, examples=_with_tag(part, unknown.__contains__)))
    return found


def _share(found: list, num_long: int) -> str:
    share = percent(len(found), num_long)
    return f"{counted(len(found), 'sentence')} of at least {_LONG} tokens, {share} of them,"


def _label(tag: str) -> str:
    """Returns the label of a tag that marks a span, else the tag."""
    return tag[2:] if _SPAN.fullmatch(tag) else tag


def _with_tag(sentences: _Sentences, is_meant) -> tuple[str, ...]:
    """Returns examples of tokens whose tags are meant."""
    return examples(
        (where, f"{token} {tag}, in: {' '.join(tokens)}")
        for where, tokens, tags in sentences
        for token, tag in zip(tokens, tags, strict=True)
        if is_meant(tag)
    )


def _shown(tokens: list[str], tags: list[str]) -> str:
    """Returns the tokens that have tags other than O, each with its tag."""
    return " ".join(f"{token}/{tag}" for token, tag in zip(tokens, tags, strict=True) if tag != "O")


def _num_unended(tags: list[str]) -> int:
    """Returns the number of spans in BIOES or BILOU that the next tag does not continue to an end."""
    following = [*tags[1:], "O"]
    return sum(
        tag[0] in "BIM" and tag != "O" and not (after[0] in "IELMW" and after[2:] == tag[2:])
        for tag, after in zip(tags, following, strict=True)
    )
