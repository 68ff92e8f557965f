"""What is exported of an encoder: the part of the network that reads gives vectors, all of it fills blanks."""

import keras
import tensorflow as tf

from pipelines.encoder import networks
from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.data import Splits
from pipelines.pretrained.blanks import make_fill
from pipelines.pretrained.text_encoder import TextEncoder, encode_once
from pipelines.text.tokenizers import Tokenizer


def make_servable(config: EncoderConfig, splits: Splits, tokenizer: Tokenizer, model: keras.Model) -> TextEncoder:
    """Returns the servable."""
    network = networks.encoder_network(*networks.reading_layers(config, model))
    is_causal = config.direction == "causal"

    def logits_at(ids, positions):
        if not is_causal:
            return model({"ids": ids, "positions": positions}, training=False)
        return tf.gather(model(ids, training=False), positions, batch_dims=1)

    encode = encode_once(tokenizer)
    fill = make_fill(tokenizer, logits_at, is_causal, config.window, encode)
    return TextEncoder(network, tokenizer, config.max_tokens, model, fill, encode=encode)


def example_requests(servable: TextEncoder) -> dict[str, dict]:
    """Returns requests of three texts for each signature."""
    word = "Caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    text = ["The cat sat on the mat.", "", f"{word} " * 200]
    requests = {
        "serving_default": {"text": text},
        "words": {"tokens": [["The", "cat", "sat", "."], ["", "", "", ""], [word, "\x01", "", ""]]},
        "fill": {"text": ["The cat sat on the [MASK].", "[MASK]", f"{word} " * 200 + "[MASK]!"]},
        "trace": {"text": text},
    }
    return {name: requests[name] for name in servable.signatures()}
