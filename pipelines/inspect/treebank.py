"""Subject-verb agreement in real sentences: pairs of a noun and its verb from a Universal Dependencies treebank.

Format: https://universaldependencies.org/format.html; relations: https://universaldependencies.org/u/dep/.
"""

import collections
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pipelines.data import texts
from pipelines.inspect.sentences import AgreementSentence
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

_NOUNS = ("NOUN", "PROPN")
_NUM_COLUMNS = 10
# The exact pairs (singular, plural); those of all other verbs are found in the treebank.
_AUXILIARIES = {"was": "were", "is": "are", "has": "have", "does": "do"}
_PAST = ("was", "were")


@dataclasses.dataclass
class Word:
    """A word of a sentence.

    Attributes:
        index: number in the sentence, from 1.
        head: index of the word that it depends on; 0 for the root.
        shown: what the sentence shows in its place: the form, the whole of a range such as don't for its first word, ""
            for the others.
        space: whether a space follows.
    """

    index: int
    form: str
    lemma: str
    upos: str
    features: dict[str, str]
    head: int
    relation: str
    shown: str
    space: bool


def pairs_from_conllu(path: Data | Path, spaced: bool = False) -> list[AgreementSentence]:
    """Returns the agreement pairs of a treebank of English.

    A pair is a NOUN or PROPN with the relation nsubj (also nsubj:pass and nsubj:outer), and the finite verb that agrees
    with it: of the word that it depends on, its copula and its auxiliaries, the first one. The verb comes after the
    noun, is indicative, and is was, were, or in the present tense. Left out are verbs whose annotated number is not
    that of the noun, as after coordinated subjects ("the cat and the dog are"), and contracted ones ('s, 're).

    The other form of the verb is exact for be, have and do. For other verbs it is the most frequent form of the same
    lemma in the files. So verbs without one are left out, as are modal verbs, which have one form.

    Args:
        path: a CoNLL-U file (also .xz, .gz or .bz2), or a tuple of several: their verbs are one lexicon.
        spaced: tokens with spaces between them, as WikiText and models of words have; otherwise as in the sentences.

    Returns:
        `AgreementSentence`s, in the order of the files. `distance` is the number of words between subject and verb,
        punctuation included. Attractors are the nouns and names between them whose number is annotated and is not that
        of the subject. `subject` is an index for `spaced` sentences alone.

    The train and dev files of UD English EWT have 3,195 and 382 pairs; read together 3,601, because more verbs then
    have a known other form. 245 and 18 of them have attractors.

    Raises:
        UserError: a file cannot be read or is not CoNLL-U, or there are no pairs.
    """
    data = str(path) if isinstance(path, Path) else path
    sentences = list(sentences_of(data))
    lexicon = _lexicon(sentences)
    pairs = [pair for words in sentences for pair in _pairs(words, lexicon, spaced)]
    if not pairs:
        raise UserError(f"{paths.shown(data)} has no noun before its verb: give an English CoNLL-U file with features")
    return pairs


def _pairs(words: list[Word], lexicon: dict[tuple[str, str], str], spaced: bool) -> Iterator[AgreementSentence]:
    dependents = collections.defaultdict(list)
    for word in words:
        dependents[word.head].append(word)
    for noun in words:
        if noun.upos not in _NOUNS or noun.relation.split(":")[0] != "nsubj" or not noun.head:
            continue
        helpers = [word for word in dependents[noun.head] if word.relation.split(":")[0] in ("aux", "cop")]
        verb = min([*helpers, words[noun.head - 1]], key=lambda word: word.index)
        number = noun.features.get("Number")
        if verb.index < noun.index or not _agrees(verb, number):
            continue
        right = verb.form.lower()
        wrong = _other(verb, right, number, lexicon)
        if wrong is None:
            continue
        between = words[noun.index : verb.index - 1]
        attractors = sum(word.upos in _NOUNS and word.features.get("Number", number) != number for word in between)
        yield AgreementSentence(_prefix(words, verb, spaced), right, wrong, len(between), attractors)


def _agrees(verb: Word, number: str | None) -> bool:
    features = verb.features
    return (
        verb.upos in ("VERB", "AUX")
        and features.get("VerbForm") == "Fin"
        and features.get("Mood", "Ind") == "Ind"
        and (features.get("Tense") == "Pres" or verb.form.lower() in _PAST)
        and number in ("Sing", "Plur")
        and features.get("Number") == number
        and verb.form.isalpha()  # not 's
        and verb.shown != ""  # the second word of a range has no text of its own
    )


def _other(verb: Word, form: str, number: str, lexicon: dict[tuple[str, str], str]) -> str | None:
    """Returns the form of the other number; None if it is not known."""
    plural_of, singular_of = _AUXILIARIES, {plural: singular for singular, plural in _AUXILIARIES.items()}
    if number == "Sing" and form in plural_of:
        return plural_of[form]
    if number == "Plur" and form in singular_of:
        return singular_of[form]
    other = lexicon.get((verb.lemma.lower(), "Plur" if number == "Sing" else "Sing"))
    return None if other == form or verb.lemma.lower() in ("be", "have", "do") else other


def _lexicon(sentences: list[list[Word]]) -> dict[tuple[str, str], str]:
    """Returns (lemma, "Sing" or "Plur") -> most frequent form in the present tense, third person.

    The infinitive counts as a plural form: they are equal for all verbs but be.
    """
    counts = collections.defaultdict(collections.Counter)
    for words in sentences:
        for word in words:
            features, lemma, form = word.features, word.lemma.lower(), word.form.lower()
            if word.upos not in ("VERB", "AUX") or not form.isalpha():
                continue
            if features.get("VerbForm") == "Inf":
                counts[lemma, "Plur"][form] += 1
            elif features.get("VerbForm") == "Fin" and features.get("Tense") == "Pres":
                third = features.get("Person", "3") == "3"
                if features.get("Number") == "Sing" and third and form.endswith("s"):
                    counts[lemma, "Sing"][form] += 1
                elif features.get("Number") == "Plur" and not form.endswith("s"):
                    counts[lemma, "Plur"][form] += 1
    return {key: forms.most_common(1)[0][0] for key, forms in counts.items()}


def _prefix(words: list[Word], verb: Word, spaced: bool) -> str:
    before = words[: verb.index - 1]
    if spaced:
        return " ".join(word.form for word in before)
    return "".join(word.shown + " " * word.space for word in before).rstrip()


def sentences_of(data: Data) -> Iterator[list[Word]]:
    """Yields the words of each sentence, with their indexes as in the file. Empty nodes are left out."""
    for each in paths.each(data):
        words: list[Word] = []
        in_range, range_text = (0, 0, True), ""
        for number, line in enumerate(texts.lines(each, has_option=False), 1):
            line = line.rstrip("\r")
            if line.startswith("#"):
                continue
            if not line.strip():
                if words:
                    yield words
                words, in_range = [], (0, 0, True)
                continue
            cells = line.split("\t")
            if len(cells) != _NUM_COLUMNS:
                raise UserError(f"{each}, line {number}: not ten columns with tabs between them: give a CoNLL-U file")
            space = "SpaceAfter=No" not in cells[9].split("|")
            if "-" in cells[0]:
                first, last = cells[0].split("-")
                in_range, range_text = (int(first), int(last), space), cells[1]
            elif "." not in cells[0]:
                words.append(_word(each, number, cells, space, in_range, range_text, len(words) + 1))
        if words:
            yield words


def _word(path, number: int, cells: list[str], space: bool, in_range: tuple, range_text: str, expected: int) -> Word:
    if cells[0] != str(expected) or not (cells[6].isdecimal() or cells[6] == "_"):
        raise UserError(f"{path}, line {number}: expected word {expected} with a number as its head: repair the file")
    first, last, space_after_range = in_range
    shown = cells[1]
    if first <= expected <= last:
        shown = range_text if expected == first else ""
        space = space_after_range and expected == last
    features = dict(pair.split("=", 1) for pair in cells[5].split("|") if "=" in pair)
    head = int(cells[6]) if cells[6] != "_" else 0
    return Word(expected, cells[1], cells[2], cells[3], features, head, cells[7], shown, space)
