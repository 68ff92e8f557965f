"""Small checkpoints with random weights, written by transformers."""

import logging
import warnings

import pytest

CONFIG = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
DISTILBERT_CONFIG = {
    "vocab_size": 40,
    "dim": 16,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 20,
}
# The classes of transformers with and without the head, and the config.
KINDS = {
    "bert": ("BertForMaskedLM", "BertModel", "BertConfig", CONFIG),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertModel", "DistilBertConfig", DISTILBERT_CONFIG),
    "electra": ("ElectraForMaskedLM", "ElectraModel", "ElectraConfig", {**CONFIG, "embedding_size": 8}),
    "electra-one-size": ("ElectraForMaskedLM", "ElectraModel", "ElectraConfig", {**CONFIG, "embedding_size": 16}),
    "xlm-roberta": (
        "XLMRobertaForMaskedLM",
        "XLMRobertaModel",
        "XLMRobertaConfig",
        {**CONFIG, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    ),
    "camembert": ("CamembertForMaskedLM", "CamembertModel", "CamembertConfig", {**CONFIG, "type_vocab_size": 1}),
    "roberta": ("RobertaForMaskedLM", "RobertaModel", "RobertaConfig", CONFIG),
}


@pytest.fixture(scope="session")
def make_checkpoint(tmp_path_factory):
    """Returns a function of a kind that writes a checkpoint and returns its folder and the model of transformers."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers = pytest.importorskip("transformers")
    logging.getLogger("transformers").setLevel(logging.ERROR)

    def make(kind: str = "bert", with_head: bool = True, dtype: str = "float32", **settings):
        with_masked, without, config, values = KINDS[kind]
        torch.manual_seed(3)
        model = getattr(transformers, with_masked if with_head else without)(
            getattr(transformers, config)(**{**values, **settings})
        )
        with torch.no_grad():
            for parameter in model.parameters():  # biases and scales, too, which are 0 and 1 in a new model
                parameter.add_(torch.randn_like(parameter) * 0.2)
        model = model.to(getattr(torch, dtype)).eval()
        folder = tmp_path_factory.mktemp(kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save_pretrained(folder)
        return folder, model.float()

    return make


@pytest.fixture(scope="session")
def bert(make_checkpoint):
    return make_checkpoint()[0]
