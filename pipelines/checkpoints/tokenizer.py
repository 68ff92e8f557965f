"""Reads the tokenizer of a Hugging Face checkpoint: WordPiece of BERT and its relatives, or XLM-R's unigram model."""

import base64
import binascii
import json
from pathlib import Path

from pipelines.support.errors import UserError
from pipelines.text import unigram
from pipelines.text.special_tokens import WORD_START
from pipelines.text.unigram import UnigramTokenizer, model_of_pieces
from pipelines.text.wordpiece import CONTINUES, MAX_CHARACTERS, WordPieceTokenizer

CONFIG, TOKENIZER, VOCABULARY, MODEL = (
    "tokenizer_config.json",
    "tokenizer.json",
    "vocab.txt",
    "sentencepiece.bpe.model",
)
_ROLES = {
    "pad": ("pad_token", "[PAD]"),
    "unknown": ("unk_token", "[UNK]"),
    "start": ("cls_token", "[CLS]"),
    "end": ("sep_token", "[SEP]"),
    "blank": ("mask_token", "[MASK]"),
}
# Of these, a vocabulary alone says all: others, such as BertJapaneseTokenizer, split words in another way.
_WORDPIECE_CLASSES = ("Bert", "DistilBert", "Electra", "MobileBert", "MPNet", "LayoutLM", "Retribert", "PreTrained")
_REMEDY = "choose a checkpoint of BERT, DistilBERT, ELECTRA or XLM-R"


def load(folder: Path, max_bytes: int) -> WordPieceTokenizer | UnigramTokenizer:
    """Returns the tokenizer of the checkpoint in `folder`.

    Where tokenizer.json says the same as another file, it counts.

    Args:
        max_bytes: number of bytes that are read of each text.

    Raises:
        UserError: a file is missing or damaged, or describes a tokenizer that cannot be rebuilt exactly.
    """
    folder = Path(folder)
    config = _read_json(folder / CONFIG) if (folder / CONFIG).exists() else {}
    path = folder / TOKENIZER
    if not path.exists():
        return _without_description(folder, config, max_bytes)
    description = _read_json(path)
    kind = _kind(description.get("model"))
    try:
        if kind == "WordPiece":
            return _wordpiece(path, description, config, max_bytes)
        if kind == "Unigram":
            return _unigram(path, description, max_bytes)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, binascii.Error) as error:
        raise UserError(f"{path} is damaged: download it again") from error
    if kind == "BPE":
        raise UserError(f"{path} is a byte-level BPE, as GPT-2 and RoBERTa have: {_REMEDY}")
    raise UserError(f"{path} is a tokenizer of the kind {kind}: {_REMEDY}")


def _without_description(folder: Path, config: dict, max_bytes: int) -> WordPieceTokenizer | UnigramTokenizer:
    class_ = str(config.get("tokenizer_class") or "").removesuffix("Fast").removesuffix("Tokenizer")
    if (folder / MODEL).exists():
        if class_ not in ("", "XLMRoberta"):
            raise UserError(f"{folder / CONFIG} names the class {config['tokenizer_class']}: {_REMEDY}")
        return _with_name(folder / MODEL, lambda: UnigramTokenizer((folder / MODEL).read_bytes(), max_bytes))
    path = folder / VOCABULARY
    if path.exists():
        if class_ not in ("", *_WORDPIECE_CLASSES) or config.get("do_basic_tokenize") is False:
            raise UserError(
                f"{folder / CONFIG} describes a tokenizer that does not split words as BERT does: {_REMEDY}"
            )
        return _with_name(path, lambda: _from_vocabulary(path, config, max_bytes))
    if (folder / "merges.txt").exists() or (folder / "vocab.json").exists():
        raise UserError(f"{folder} has a byte-level BPE (vocab.json, merges.txt): {_REMEDY}")
    raise UserError(f"{folder} has none of {TOKENIZER}, {VOCABULARY} and {MODEL}: download the checkpoint's tokenizer")


def _from_vocabulary(path: Path, config: dict, max_bytes: int) -> WordPieceTokenizer:
    try:
        tokens = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is damaged: download it again") from error
    if tokens[-1] == "":
        tokens.pop()
    return WordPieceTokenizer(
        tokens,
        max_bytes,
        lowercase=config.get("do_lower_case", True),
        strip_accents=config.get("strip_accents"),
        split_cjk=config.get("tokenize_chinese_chars", True),
        **_names(path.parent, config),
    )


def _wordpiece(path: Path, description: dict, config: dict, max_bytes: int) -> WordPieceTokenizer:
    model, normalizer = description["model"], description.get("normalizer") or {}
    splitter = description.get("pre_tokenizer") or {}
    if normalizer.get("type") != "BertNormalizer" or not normalizer.get("clean_text", True):
        raise UserError(f"{path} does not normalize texts as BERT does: {_REMEDY}")
    if splitter.get("type") != "BertPreTokenizer":
        raise UserError(f"{path} does not split words as BERT does: {_REMEDY}")
    prefix, limit = model.get("continuing_subword_prefix", CONTINUES), model.get("max_input_chars_per_word", 100)
    if (prefix, limit) != (CONTINUES, MAX_CHARACTERS):
        raise UserError(f"{path} has another prefix than {CONTINUES} or limit than {MAX_CHARACTERS}: {_REMEDY}")
    ids = dict(model["vocab"])
    for token in description.get("added_tokens") or []:
        # Special ones have marks in their names, which no word has; others would be found in the middle of words.
        if ids.setdefault(token["content"], token["id"]) != token["id"] or (
            token["content"] not in model["vocab"] and not token["special"]
        ):
            raise UserError(f"{path} has added the token {token['content']}, which is no WordPiece: {_REMEDY}")
    tokens = sorted(ids, key=ids.__getitem__)
    if [ids[token] for token in tokens] != list(range(len(tokens))):
        raise UserError(f"{path} has a vocabulary whose ids have gaps: download it again")
    names = _names(path.parent, config) | {"unknown": model.get("unk_token", "[UNK]")}
    return _with_name(
        path,
        lambda: WordPieceTokenizer(
            tokens,
            max_bytes,
            lowercase=normalizer["lowercase"],
            strip_accents=normalizer.get("strip_accents"),
            split_cjk=normalizer.get("handle_chinese_chars", True),
            **names,
        ),
    )


def _unigram(path: Path, description: dict, max_bytes: int) -> UnigramTokenizer:
    """Returns the tokenizer of the SentencePiece model beside `path`, or else of one with the pieces of `path`."""
    model = description["model"]
    pieces = [(str(piece), float(score)) for piece, score in model["vocab"]]
    names = [piece for piece, _ in pieces]
    special = (*unigram.SPECIAL, unigram.BLANK)
    is_xlm_r = (*names[: len(unigram.SPECIAL)], names[-1]) == special and model.get("unk_id") == 3
    if not is_xlm_r or model.get("byte_fallback"):
        raise UserError(f"{path} has not the special tokens of XLM-R at its places: {_REMEDY}")
    beside = path.parent / MODEL
    if beside.exists():
        tokenizer = _with_name(beside, lambda: UnigramTokenizer(beside.read_bytes(), max_bytes))
        if tokenizer.vocabulary() != names:
            raise UserError(f"{beside} and {path} have different pieces: download both again")
        return tokenizer
    charsmap = _charsmap(description.get("normalizer") or {})
    splitters = _steps(description.get("pre_tokenizer") or {}, "pretokenizers")
    metaspace = [step for step in splitters if step["type"] == "Metaspace"]
    others = {step["type"] for step in splitters} - {"Metaspace", "WhitespaceSplit"}
    crosses = any(WORD_START in name.lstrip(WORD_START) for name in names)
    if charsmap is None or others or len(metaspace) != 1 or not _has_prefix(metaspace[0]) or crosses:
        raise UserError(f"{path} cannot be rebuilt exactly: put {MODEL} of the checkpoint beside it")
    kept = pieces[len(unigram.SPECIAL) : -1]
    return _with_name(path, lambda: UnigramTokenizer(model_of_pieces(kept, charsmap), max_bytes))


def _charsmap(normalizer: dict) -> bytes | None:
    """Returns the rules of the normalization; None if it does more than SentencePiece does."""
    steps = _steps(normalizer, "normalizers")
    rules = [step for step in steps if step["type"] == "Precompiled"]
    spaces = [step for step in steps if step["type"] == "Strip" or step.get("pattern") == {"Regex": " {2,}"}]
    if len(rules) != 1 or len(rules) + len(spaces) != len(steps):
        return None
    return base64.b64decode(rules[0]["precompiled_charsmap"], validate=True)


def _has_prefix(metaspace: dict) -> bool:
    """Whether the first word of a text begins with the sign of a space, as in SentencePiece."""
    scheme = metaspace.get("prepend_scheme") or ("always" if metaspace.get("add_prefix_space") else "never")
    return metaspace.get("replacement") == WORD_START and scheme == "always"


def _steps(step: dict, key: str) -> list[dict]:
    return step[key] if step.get("type") == "Sequence" else [step] if step else []


def _kind(model) -> str:
    """Returns the kind of a tokenizer; old files do not name it."""
    if not isinstance(model, dict):
        return "none"
    if "merges" in model:
        return "BPE"
    return model.get("type") or ("Unigram" if isinstance(model.get("vocab"), list) else "WordPiece")


def _names(folder: Path, config: dict) -> dict[str, str]:
    """Returns the names of the special tokens, as arguments of `WordPieceTokenizer`."""
    path = folder / "special_tokens_map.json"
    named = (_read_json(path) if path.exists() else {}) | config
    names = {}
    for role, (key, default) in _ROLES.items():
        name = named.get(key) or default
        names[role] = name["content"] if isinstance(name, dict) else str(name)
    return names


def _with_name(path: Path, make):
    """Returns what `make` returns; its errors begin with the file's name."""
    try:
        return make()
    except UserError as error:
        message = str(error)
        raise (error if str(path) in message else UserError(f"{path}: {message}")) from error


def _read_json(path: Path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged: download it again") from error
    if not isinstance(value, dict):
        raise UserError(f"{path} is damaged: download it again")
    return value
