"""The tokenizer of XLM-R as graph operations: a SentencePiece model, with the ids that fairseq gave its pieces.

Source: Kudo 2018, "Subword Regularization" (arXiv:1804.10959); Conneau et al. 2020, "Unsupervised Cross-lingual
Representation Learning at Scale" (arXiv:1911.02116).
"""

import hashlib
import importlib
from collections.abc import Sequence

import tensorflow as tf
import tensorflow_text as tf_text

from pipelines.support.errors import UserError
from pipelines.support.quiet import capture_stderr_descriptor
from pipelines.text.normalization import valid_utf8
from pipelines.text.special_tokens import WORD_START, SpecialIds
from pipelines.text.tokenizers import code_points, enclose, shown_pieces, without_ids

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # with the ids 0 to 3
BLANK = "<mask>"  # has the last id
_PIECES = ("<unk>", "<s>", "</s>")  # with the ids 0 to 2 of the SentencePiece model
_UNKNOWN_PIECE = 0
_UNKNOWN = SPECIAL.index("<unk>")
_SHIFT = len(SPECIAL) - len(_PIECES)


class UnigramTokenizer(tf.Module):
    """Splits a text into the pieces of a SentencePiece model, which normalizes it first by its own rules.

    The id of a piece is that of the model and 1. The names of special tokens in a text are text.

    Where two segmentations have the same pieces in another order, such as "..." and "...." of seven dots, SentencePiece
    and Hugging Face's tokenizers may choose the other one: their sums are rounded differently.

    Args:
        model: serialized SentencePiece model whose first pieces are <unk>, <s> and </s>.
        max_bytes: number of bytes that are read of each text.

    Raises:
        UserError: it is no such model.
    """

    kind = "unigram"

    def __init__(self, model: bytes, max_bytes: int):
        super().__init__()
        self.model = model
        self._max_bytes = max_bytes
        # Two models with one name in a SavedModel would be one: see SubwordTokenizer.
        name = f"sentencepiece_{hashlib.sha256(model).hexdigest()[:16]}"
        try:
            with capture_stderr_descriptor():  # its C++ code writes a log line there
                self._sentencepiece = tf_text.SentencepieceTokenizer(model, out_type=tf.int32, name=name)
                num_pieces = int(self._sentencepiece.vocab_size())
                first = self._sentencepiece.id_to_string(tf.range(len(_PIECES))).numpy()
        except tf.errors.OpError as error:
            raise UserError("this is no SentencePiece model: download it again") from error
        if tuple(piece.decode() for piece in first) != _PIECES:
            raise UserError("the SentencePiece model does not begin with <unk>, <s> and </s>: only XLM-R's are read")
        self.vocabulary_size = num_pieces + _SHIFT + 1  # with <mask>
        ids = {name: i for i, name in enumerate(SPECIAL)}
        self.special = SpecialIds(ids["<pad>"], _UNKNOWN, ids["<s>"], ids["</s>"], self.vocabulary_size - 1)

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of the tokens, ragged int32 [batch, (tokens)]."""
        pieces = self._pieces(texts)
        ids = tf.where(tf.equal(pieces.flat_values, _UNKNOWN_PIECE), _UNKNOWN, pieces.flat_values + _SHIFT)
        return enclose(pieces.with_flat_values(ids), self.special.start, self.special.end)

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the tokens, ragged string [batch, (tokens)]."""
        pieces = self._pieces(texts)
        strings = pieces.with_flat_values(self._sentencepiece.id_to_string(pieces.flat_values))
        return enclose(strings, SPECIAL[self.special.start], SPECIAL[self.special.end])

    def spell(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """As `VocabularyTokenizer.spell`; words are what the text has between spaces."""
        tokens = tokens[:, 1:-1]
        return code_points(tokens.with_flat_values(tf.strings.regex_replace(tokens.flat_values, WORD_START, " ")))

    def decode(self, ids) -> tf.Tensor:
        """Returns the texts of ids, string [batch]; special tokens are left out."""
        pieces = without_ids(ids, sorted(id_ for id_ in self.special if id_ is not None))
        return self._sentencepiece.detokenize(pieces.with_flat_values(pieces.flat_values - _SHIFT))

    def vocabulary(self) -> list[str]:
        """Returns the tokens in the order of their ids."""
        pieces = self._sentencepiece.id_to_string(tf.range(len(_PIECES), self.vocabulary_size - 1 - _SHIFT)).numpy()
        return [*SPECIAL, *(piece.decode() for piece in pieces), BLANK]

    def shown(self) -> list[str]:
        """Returns the tokens as readers see them: "##" before one that continues a word."""
        return shown_pieces(self.vocabulary())

    def _pieces(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of the SentencePiece model, ragged int32 [batch, (tokens)]."""
        return self._sentencepiece.tokenize(valid_utf8(texts, self._max_bytes))


def model_of_pieces(pieces: Sequence[tuple[str, float]], charsmap: bytes) -> bytes:
    """Returns the SentencePiece model, serialized, with these pieces.

    Args:
        pieces: all but <unk>, <s> and </s>, in the order of their ids, with their log probabilities.
        charsmap: the compiled rules of the normalization, as SentencePiece stores them.
    """
    # Only a checkpoint without its model needs it.
    protocol = importlib.import_module("sentencepiece.sentencepiece_model_pb2")

    model = protocol.ModelProto()
    kinds = protocol.ModelProto.SentencePiece
    for piece, kind in zip(_PIECES, (kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL)):
        model.pieces.add(piece=piece, score=0.0, type=kind)
    for piece, score in pieces:
        model.pieces.add(piece=piece, score=score)
    model.trainer_spec.model_type = protocol.TrainerSpec.UNIGRAM
    model.trainer_spec.vocab_size = len(model.pieces)
    model.trainer_spec.unk_id, model.trainer_spec.bos_id, model.trainer_spec.eos_id = range(3)
    model.trainer_spec.pad_id = -1
    model.normalizer_spec.name = "nmt_nfkc"
    model.normalizer_spec.precompiled_charsmap = charsmap
    return model.SerializeToString()
