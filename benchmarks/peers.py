"""How fast the export of a translator is, beside CTranslate2 with the same weights in the same process.

    python benchmarks/peers.py --run RUN --export FOLDER --text test_2016_flickr.en.gz [--threads 2] [--rounds 7]

RUN is the folder of the run of a transformer with sinusoidal positions and --norm pre, FOLDER a version of its export.
Both read sentences of --text, and write with beam width 1 and with that of the run: ours from the texts to the texts,
CTranslate2 from tokens to tokens, in float32. The rounds of both alternate. Prints the median of milliseconds per
sentence with its range, and how many translations are equal. Needs an otherwise idle machine and
`pip install ctranslate2`.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from training import ROOT

sys.path.insert(0, str(ROOT))

BATCH = 64


def arguments_given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, type=Path)
    parser.add_argument("--export", required=True)
    parser.add_argument("--text", required=True, type=Path, help="a file of sentences, also .gz")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def load_run(folder: Path):
    """Returns (config, tokenizers, layers by name) of a run."""
    from pipelines.settings.config import from_dict
    from pipelines.support.records import read_record
    from pipelines.training import fit
    from pipelines.translation import networks
    from pipelines.translation.config import TranslationConfig
    from pipelines.translation.tokenizers import load_tokenizer

    config = from_dict(TranslationConfig, read_record(folder / "config.json", "train it again")["config"])
    tokenizers = load_tokenizer(folder / "tokenizer")
    model = networks.build(config, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    fit.restore_best(model, folder)
    return config, tokenizers, networks.layers_by_name(model)


def ctranslate2_model(config, parts: dict, folder: Path, threads: int):
    """Writes the weights in CTranslate2's format and loads them."""
    import ctranslate2

    from pipelines.text.tokenizers import END, PAD, START, UNKNOWN

    def linear(spec, *layers):
        spec.weight = np.concatenate([layer.kernel.numpy().T for layer in layers])
        spec.bias = np.concatenate([layer.bias.numpy() for layer in layers])

    def norm(spec, layer):
        spec.gamma, spec.beta = layer.gamma.numpy(), layer.beta.numpy()

    spec = ctranslate2.specs.TransformerSpec.from_config(config.num_layers, config.num_heads, pre_norm=True)
    positions = parts["positions"](np.zeros((1, 1002, config.hidden_size), np.float32)).numpy()[0]
    target = parts["target_tokens"].embeddings.numpy()
    for side, embeddings, stack in (
        ("encoder", spec.encoder.embeddings[0], spec.encoder),
        ("decoder", spec.decoder.embeddings, spec.decoder),
    ):
        embeddings.weight = parts["source_tokens"].embeddings.numpy() if side == "encoder" else target
        stack.position_encodings.encodings = positions
        norm(stack.layer_norm, parts[f"{side}_norm"])
        for i, layer in enumerate(stack.layer):
            block = parts[f"{side}_{i + 1}"]
            attention = block._self_attention
            norm(layer.self_attention.layer_norm, block._attention_norm)
            linear(layer.self_attention.linear[0], attention._query, attention._key, attention._value)
            linear(layer.self_attention.linear[1], attention._output)
            if side == "decoder":
                attention = block._cross_attention
                norm(layer.attention.layer_norm, block._cross_norm)
                linear(layer.attention.linear[0], attention._query)
                linear(layer.attention.linear[1], attention._key, attention._value)
                linear(layer.attention.linear[2], attention._output)
            norm(layer.ffn.layer_norm, block._feed_forward_norm)
            linear(layer.ffn.linear_0, block._feed_forward._hidden)
            linear(layer.ffn.linear_1, block._feed_forward._output)
    spec.decoder.projection.weight = target
    for vocabulary, register in (
        (parts["source_tokens"], spec.register_source_vocabulary),
        (parts["target_tokens"], spec.register_target_vocabulary),
    ):
        names = [str(i) for i in range(vocabulary.input_dim)]
        names[PAD], names[UNKNOWN], names[START], names[END] = "<blank>", "<unk>", "<s>", "</s>"
        register(names)
    spec.config.layer_norm_epsilon = 1e-5
    spec.config.add_source_eos = True
    spec.validate()
    spec.save(str(folder))
    return ctranslate2.Translator(str(folder), "cpu", inter_threads=1, intra_threads=threads, compute_type="float32")


def main() -> None:
    arguments = arguments_given()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = str(arguments.threads)
    from pipelines.data.encodings import opened_text
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    config, tokenizers, parts = load_run(arguments.run)
    ours = tf.saved_model.load(arguments.export).signatures
    with tempfile.TemporaryDirectory() as folder:
        peer = ctranslate2_model(config, parts, Path(folder), arguments.threads)
    with opened_text(arguments.text) as file:
        sentences = sorted(file.read().splitlines()[: 4 * BATCH], key=len)

    def translate(texts: list[str], beam_width: int) -> list[bytes]:
        text = tf.constant(texts)
        if beam_width == config.beam_width:
            return ours["serving_default"](text=text)["translation"].numpy().tolist()
        options = {"beam_width": beam_width, "length_penalty": config.length_penalty, "max_length": 1000}
        values = {name: tf.fill([len(texts)], value) for name, value in options.items()}
        return ours["translate"](text=text, **values)["translation"].numpy().tolist()

    def tokens_of(texts: list[str]) -> list[list[str]]:
        return [[str(i) for i in ids[1:-1]] for ids in tokenizers.source.encode(tf.constant(texts)).to_list()]

    def translate_tokens(tokens: list[list[str]], beam_width: int) -> list[list[str]]:
        options = {"beam_size": beam_width, "length_penalty": config.length_penalty, "max_batch_size": BATCH}
        return [each.hypotheses[0] for each in peer.translate_batch(tokens, disable_unk=True, **options)]

    def text_of(tokens: list[str]) -> bytes:
        ids = [int(token) for token in tokens if token.isdigit()]
        return tokenizers.target.decode(tf.constant([ids], tf.int32)).numpy()[0]

    print(f"{os.cpu_count()} cores, {arguments.threads} threads each, TensorFlow {tf.__version__}\n")
    print("| | Unroll, ms | CTranslate2, ms | ratio | equal translations |\n|---|---:|---:|---:|---:|")
    some = sentences[:: len(sentences) // 20]
    for size, batches in ((1, [[text] for text in some]), (BATCH, [sentences[i::4] for i in range(4)])):
        tokens = [tokens_of(batch) for batch in batches]
        for beam_width in (1, config.beam_width):
            count = sum(map(len, batches))
            got = [translate(batch, beam_width) for batch in batches]
            peers = [translate_tokens(batch, beam_width) for batch in tokens]
            equal = sum(x == text_of(y) for a, b in zip(got, peers, strict=True) for x, y in zip(a, b, strict=True))
            milliseconds: dict = {"ours": [], "peer": []}
            for _ in range(arguments.rounds):
                for name, call, inputs in (("ours", translate, batches), ("peer", translate_tokens, tokens)):
                    started = time.perf_counter()
                    for batch in inputs:
                        call(batch, beam_width)
                    milliseconds[name].append(1000 * (time.perf_counter() - started) / count)
            cells = [f"{statistics.median(x):.2f} ({min(x):.2f} to {max(x):.2f})" for x in milliseconds.values()]
            ratio = statistics.median(milliseconds["ours"]) / statistics.median(milliseconds["peer"])
            title = f"{'one sentence' if size == 1 else f'batches of {size}, a sentence'}, beam width {beam_width}"
            print(f"| {title} | {' | '.join(cells)} | {ratio:.1f} | {equal} of {count} |", flush=True)


if __name__ == "__main__":
    main()
