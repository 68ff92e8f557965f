"""Keras layers for text. They compute on tensors only and do not depend on text, files or pipelines."""

from layers.attention import ATTENTION_SCORES, Attention, BahdanauAttention, LuongAttention
from layers.attention_decoder import AttentionDecoder, AttentionDecoderCell
from layers.averaging import MeanAfterTraining
from layers.lstm_gru import HoistedGRU, HoistedLSTM
from layers.multi_head_attention import CachedMultiHeadAttention
from layers.ngrams import HashedNGrams, NGramLogits
from layers.pooling import AttentionPooling, MaskedLastPooling, MaskedMaxPooling, MaskedMeanPooling
from layers.positional import LearnedPositionalEmbedding, RotaryEmbedding, SinusoidalPositionalEncoding
from layers.recurrent import JordanCell, PeepholeLSTMCell
from layers.tokens import HeadAndTail, RandomSpan, ReverseTokens, WordDropout
from layers.transformer import TransformerDecoderBlock, TransformerEncoderBlock

__all__ = [
    "ATTENTION_SCORES",
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
    "JordanCell",
    "LearnedPositionalEmbedding",
    "LuongAttention",
    "MaskedLastPooling",
    "MaskedMaxPooling",
    "MaskedMeanPooling",
    "MeanAfterTraining",
    "NGramLogits",
    "PeepholeLSTMCell",
    "RandomSpan",
    "ReverseTokens",
    "RotaryEmbedding",
    "SinusoidalPositionalEncoding",
    "TransformerDecoderBlock",
    "TransformerEncoderBlock",
    "WordDropout",
]
