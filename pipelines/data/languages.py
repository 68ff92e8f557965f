"""Names and codes of languages, as the headers of tables have them."""

import re

# Code of ISO 639-1 -> other codes and names.
_NAMES = {
    "af": "afr afrikaans", "ar": "ara arabic", "az": "aze azerbaijani", "be": "bel belarusian", "bg": "bul bulgarian",
    "bn": "ben bengali", "bs": "bos bosnian", "ca": "cat catalan", "cs": "ces cze czech", "cy": "cym wel welsh",
    "da": "dan danish", "de": "deu ger german deutsch", "el": "ell gre greek", "en": "eng english",
    "eo": "epo esperanto", "es": "spa spanish espa\u00f1ol", "et": "est estonian", "eu": "eus baq basque",
    "fa": "fas per persian farsi", "fi": "fin finnish", "fr": "fra fre french fran\u00e7ais", "ga": "gle irish",
    "gl": "glg galician", "gu": "guj gujarati", "he": "heb hebrew", "hi": "hin hindi", "hr": "hrv croatian",
    "hu": "hun hungarian", "hy": "hye arm armenian", "id": "ind indonesian", "is": "isl ice icelandic",
    "it": "ita italian italiano", "ja": "jpn japanese", "ka": "kat geo georgian", "kk": "kaz kazakh",
    "ko": "kor korean", "la": "lat latin", "lt": "lit lithuanian", "lv": "lav latvian", "mk": "mkd macedonian",
    "ml": "mal malayalam", "mn": "mon mongolian", "mr": "mar marathi", "ms": "msa may malay", "mt": "mlt maltese",
    "nb": "nob bokm\u00e5l", "ne": "nep nepali", "nl": "nld dut dutch", "nn": "nno nynorsk", "no": "nor norwegian",
    "pa": "pan punjabi", "pl": "pol polish", "pt": "por portuguese portugu\u00eas", "ro": "ron rum romanian",
    "ru": "rus russian", "sk": "slk slo slovak", "sl": "slv slovene slovenian", "sq": "sqi alb albanian",
    "sr": "srp serbian", "sv": "swe swedish", "sw": "swa swahili", "ta": "tam tamil", "te": "tel telugu",
    "th": "tha thai", "tl": "tgl tagalog", "tr": "tur turkish", "uk": "ukr ukrainian", "ur": "urd urdu",
    "uz": "uzb uzbek", "vi": "vie vietnamese", "yo": "yor yoruba", "zh": "zho chi chinese mandarin",
    "zu": "zul zulu",
}  # fmt: skip
_CODES = {name: code for code, names in _NAMES.items() for name in (code, *names.split())}
_OTHER_WORDS = frozenset(("text", "sentence", "sentences", "language", "lang"))


def code(name: str) -> str | None:
    """Returns the code of a language that a name of a column is, such as de for `German`, `deu` and `de_text`.

    None if it names no language. `id` is the identity of a row and not Indonesian.
    """
    words = [word for word in re.split(r"[\W_]+", name.strip().lower()) if word and word not in _OTHER_WORDS]
    if len(words) != 1 or words[0] == "id":
        return None
    return _CODES.get(words[0])
