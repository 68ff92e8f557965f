"""The network of transfer: strings -> a pretrained encoder -> dropout -> hidden layers -> a dense layer."""

import keras
from keras import layers

from layers.hub import HubEncoder
from pipelines.pretrained.outputs import mean, text_features
from pipelines.transfer.config import TransferConfig
from pipelines.transfer.modules import Modules

ENCODER, DROPOUT, LOGITS = "encoder", "dropout", "logits"  # names of layers


def network(config: TransferConfig, modules: Modules, num_classes: int) -> keras.Model:
    """Builds the classifier: string [batch] -> logits float32 [batch, classes].

    Raises:
        ValueError: the encoder cannot be loaded, or lacks what the config requests.
    """
    text = keras.Input((), dtype="string", name="text")  # [batch]
    encoder = HubEncoder(modules.encoder, signature=config.signature, name=ENCODER)
    inputs = HubEncoder(modules.preprocessor, name="preprocessor")(text) if modules.preprocessor else text
    features = _features(config, encoder, inputs)  # [batch, features]
    if len(features.shape) != 2:
        raise ValueError(
            f"{config.encoder}: its output has the shape {features.shape}, not [batch, features]: "
            "choose another encoder, or a signature with --signature"
        )
    features = layers.Dropout(config.dropout, seed=config.seed, name=DROPOUT)(features)
    for i in range(config.head_layers):
        features = layers.Dense(config.head_size, activation="relu", name=f"hidden_{i + 1}")(features)
        features = layers.Dropout(config.dropout, seed=config.seed + i + 1, name=f"dropout_{i + 1}")(features)
    logits = layers.Dense(num_classes, name=LOGITS)(features)  # [batch, classes]
    return keras.Model(text, logits, name="transfer")


def _features(config: TransferConfig, encoder: HubEncoder, inputs):
    """The output of the encoder to classify by, float [batch, features]; of vectors per token, their mean."""
    outputs = encoder(inputs)
    mask = inputs.get("input_mask") if isinstance(inputs, dict) else None
    if not isinstance(outputs, dict) and (config.drop_layers or config.output_key):
        flag = "--drop-layers" if config.drop_layers else "--output-key"
        raise ValueError(f"{config.encoder} has only one output: leave out {flag}")
    if config.drop_layers:
        return mean(_lower_layer(config, outputs), outputs.get("mask", mask))
    remedy = ": choose one with --output-key"
    return text_features(config.encoder, outputs, mask, config.output_key, remedy)


def _lower_layer(config: TransferConfig, outputs: dict):
    """The output of the layer below the top `config.drop_layers` ones, [batch, tokens, features]."""
    layer_outputs = outputs.get("encoder_outputs")
    if not isinstance(layer_outputs, list):
        raise ValueError(f"{config.encoder} has no output encoder_outputs, a list: leave out --drop-layers")
    if len(layer_outputs) <= config.drop_layers:
        maximum = len(layer_outputs) - 1
        raise ValueError(
            f"{config.encoder}: --drop-layers {config.drop_layers}: at most {maximum} layers can be left out"
        )
    return layer_outputs[-1 - config.drop_layers]
