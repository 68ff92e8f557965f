"""Keras layers for text. They compute on tensors only and do not depend on text, files or pipelines."""

from layers.attention import ATTENTION_SCORES, Attention, BahdanauAttention, LuongAttention
from layers.attention_decoder import AttentionDecoder, AttentionDecoderCell
from layers.averaging import MeanAfterTraining
from layers.crf import CRF
from layers.hashed_ngrams import HashedNGrams
from layers.lstm_gru import HoistedGRU, HoistedLSTM
from layers.multi_head_attention import CachedMultiHeadAttention
from layers.ngrams import NGramLogits, NGramProjection, SparseNGramLogits
from layers.over_tokens import MaxOfConvolutions, OverTokens
from layers.pooling import AttentionPooling, MaskedLastPooling, MaskedMaxPooling, MaskedMeanPooling
from layers.positional import LearnedPositionalEmbedding, RotaryEmbedding, SinusoidalPositionalEncoding
from layers.recurrent import InitialStates, JordanCell, PeepholeLSTMCell
from layers.recurrent_trace import RecurrentTrace
from layers.token_features import TokenFeatureLogits
from layers.tokens import HeadAndTail, RandomSpan, ReverseTokens, WordDropout
from layers.transformer import TransformerDecoderBlock, TransformerEncoderBlock

__all__ = [
    "ATTENTION_SCORES",
    "CRF",
    "Attention",
    "AttentionDecoder",
    "AttentionDecoderCell",
    "AttentionPooling",
    "BahdanauAttention",
    "CachedMultiHeadAttention",
    "HashedNGrams",
    "HeadAndTail",
    "HoistedGRU",
    "HoistedLSTM",
    "InitialStates",
    "JordanCell",
    "LearnedPositionalEmbedding",
    "LuongAttention",
    "MaskedLastPooling",
    "MaskedMaxPooling",
    "MaskedMeanPooling",
    "MaxOfConvolutions",
    "MeanAfterTraining",
    "NGramLogits",
    "NGramProjection",
    "OverTokens",
    "PeepholeLSTMCell",
    "RandomSpan",
    "RecurrentTrace",
    "ReverseTokens",
    "RotaryEmbedding",
    "SinusoidalPositionalEncoding",
    "SparseNGramLogits",
    "TokenFeatureLogits",
    "TransformerDecoderBlock",
    "TransformerEncoderBlock",
    "WordDropout",
]
