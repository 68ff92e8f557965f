"""Words of English text, by the conventions of the Penn Treebank and of Universal Dependencies, as regular expressions.

A clitic is a word of its own (`do n't`, `it 's`, `can not`), and so is a punctuation mark, except in abbreviations
(`Mr.`, `U.S.`), initials, numbers, addresses and emoticons. A compound is divided at its hyphens (`third - party`), but
a prefix stays (`non-stop`). Source: Silveira et al. 2014, "A Gold Standard Dependency Corpus for English", and the
guidelines of the English Web Treebank (Bies et al. 2012).
"""

import tensorflow as tf

_APOSTROPHE = "['\u2019`]"
_LETTER = r"\p{L}\p{M}\p{N}_\x{AD}\x{200C}\x{200D}"  # inside brackets; with the soft hyphen and the joiners
_ADDRESS_END = r"[^<>\"]*[A-Za-z0-9/_#=&~+-]"  # the stop or comma after an address is none of its characters

ABBREVIATION = (
    r"(?:Mrs?|Ms|Drs?|Prof|Rev|Hon|Gen|Col|Maj|Capt|Cmdr|Lt|Sgt|Gov|Sen|Reps?|Pres|Ste?|Mt|Ft|Jr|Sr|Inc|Corp|Co|Ltd"
    r"|Bros|Assn|Dept|Univ|Ave|Blvd|Rd|Hwy|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun"
    r"|[Vv]s|[Ee]tc|al|[Aa]pprox|[Ee]sp|[Ee]st|[Ee]xt|[Ff]igs?|[Vv]ols?|pp|eds?|eg|ie|cf|viz|[Aa]ttn|Ph|lbs?|oz)\."
)
_INITIALS = r"[A-Za-z](?:\.[A-Za-z])+(?:\.|\b)|[A-HJ-Z]\."  # "I." is most often the end of a sentence
_DOMAIN = r"(?i:com|org|net|edu|gov|mil|int|info|biz|co|uk|us|ca|de|fr|au|tv|io|eu)"
_FILE = r"(?i:docx?|xlsx?|pptx?|pdf|txt|csv|jpe?g|gif|png|zip|gz|exe|html?|url|mp3|wav)"
_PREFIX = (
    r"(?i:anti|arch|co|counter|cross|e|ex|inter|intra|mega|micro|mid|mini|multi|neo|non|over|post|pre|pro|pseudo|psycho"
    r"|quasi|re|semi|socio|sub|super|ultra|un|under)-"
)

# The alternatives are tried in this order at the first character after the previous word. No repetition counts far: the
# states of large counts do not fit into the regular expression's cache, and it becomes 100 times slower.
_WORD = "|".join(
    [
        rf"(?i:(?:https?|ftp)://|www\.|mailto:){_ADDRESS_END}",
        r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]",
        rf"(?:[A-Za-z0-9_-]+\.)+{_DOMAIN}\b(?:/{_ADDRESS_END})?",
        rf"[A-Za-z0-9_#-]*\.{_FILE}\b",
        r"[A-Za-z][A-Za-z0-9]+(?:\.[A-Za-z0-9-]+){2,}",  # name of a newsgroup or a module
        rf"[:;=]{_APOSTROPHE}?[-o^]?[()\]\[]+\B|[:;=]-?[DPpOo3]\b|[:;]-?[/\\|]\B|<3\b|\^_+\^|-_+-|>:\(\B",  # emoticons
        r"(?:\d{1,5}-){2,5}\d{1,8}\b|(?:\d{3}/)?\d{3}-\d{4}\b|\d{5}-\d{4}\b",  # telephone numbers, dates, ZIP codes
        r"\d{1,4}/\d{1,2}/\d{2,4}\b|(?:1[0-2]|0?[1-9])/(?:0[1-9]|[12]\d|3[01])\b",  # dates, but not 1/2
        rf"{ABBREVIATION}|{_INITIALS}",
        rf"\+?\p{{N}}+(?:[.,:]\p{{N}}+)*(?:[AaPp]\.[Mm]\.?|[{_LETTER}]*)(?:{_APOSTROPHE}s\b)?|{_APOSTROPHE}\d\ds?\b|\.\d+\b",
        r"[@#][A-Za-z]\w+",  # @user, #tag
        r"[A-Z]{1,3}&[A-Z]{1,3}\b|[a-z]&[a-z]\b|[A-Z]{1,3}\$",  # AT&T, US$
        rf"(?:{_PREFIX}[\p{{L}}\p{{N}}])?[{_LETTER}]+(?:{_APOSTROPHE}[\p{{L}}\p{{M}}]+)*",
        rf"{_APOSTROPHE}(?:s|m|d|ll|re|ve|em|n|til|cause|bout)\b",
        r"\.{2,}|\.?[!?]+|[-=*~+#|<>]{2,}|\x{2026}[.\x{2026}]*|''|``|\x{2019}\x{2019}|\x{2018}[\x{2018}\x{2019}]|,,",
        r"[\x{1F1E6}-\x{1F1FF}]{2}",  # a flag
        r".[\p{M}\x{1F3FB}-\x{1F3FF}]*(?:\x{200D}.[\p{M}\x{1F3FB}-\x{1F3FF}]*)*",
    ]
)

_UNIT = (
    r"a\.m\.?|p\.m\.?|am|pm|kg|mg|[kmgbtx]|mm|cm|km|ft|lbs?|bn|[kmg]b|hrs?|mins?|min|secs?|days|hours|minutes|mph|"
    r"percent|watt|hz"
)
# (pattern, replacement): patterns that divide a word further. In the text, a space follows each word.
_DIVISIONS = (
    (rf"(?i)(\p{{L}})(n{_APOSTROPHE}t) ", r"\1 \2 "),
    (rf"(?i)(\p{{L}})({_APOSTROPHE}(?:s|m|d|ll|re|ve)) ", r"\1 \2 "),
    (r"(?i)\b(can)(not) ", r"\1 \2 "),
    (r"(?i)\b(gon|wan|got|out)(na|ta) ", r"\1 \2 "),
    (r"(?i)\b(do|did|does|could|would|should|wo|ca|is|was|are|were|has|have|had|ai)(nt) ", r"\1 \2 "),
    (r"(?i)\b(that|what|there|he)(s) ", r"\1 \2 "),
    (r"(?i)\b(i)(m|ve) ", r"\1 \2 "),
    (r"(?i)\b(you|they)(re|ve|ll) ", r"\1 \2 "),
    (rf"(?i)\b(\d[\d.,:]*)({_UNIT}) ", r"\1 \2 "),
    (r"(?i)\b(etc)(\.) $", r"\1 \2 "),  # most often it ends a sentence, and then its stop is a word
)
# These letters alone are one word, as most of what is between two spaces is. Then the expressions above are not needed.
_PLAIN = r"[A-Za-z]+"
_NOT_PLAIN = (
    r"(?i)cannot|gonna|wanna|gotta|outta|(?:do|did|does|could|would|should|wo|ca|is|was|are|were|has|have|had|ai)nt"
    r"|(?:that|what|there|he)s|im|ive|(?:you|they)(?:re|ve|ll)"
)


def mark_words(chunks: tf.Tensor) -> tf.Tensor:
    """Puts a space after each English word.

    Args:
        chunks: string [chunks], valid UTF-8: what stands between white space. The work for a chunk grows with the
            square of its length in the worst case, so chunks must be short.

    Returns:
        String [chunks].
    """
    is_plain = tf.strings.regex_full_match(chunks, _PLAIN) & ~tf.strings.regex_full_match(chunks, _NOT_PLAIN)
    rows = tf.where(~is_plain)
    marked = tf.strings.regex_replace(tf.gather_nd(chunks, rows), _WORD, r"\0 ")
    for pattern, replacement in _DIVISIONS:
        marked = tf.strings.regex_replace(marked, pattern, replacement)
    return tf.tensor_scatter_nd_update(chunks, rows, marked)
