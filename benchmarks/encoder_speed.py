"""How fast the export of a checkpoint of the BERT family is, beside ONNX Runtime in the same process.

    python benchmarks/encoder_speed.py --encoder FOLDER [--threads 2] [--data reviews.csv.xz --column review]

FOLDER is a checkpoint of Hugging Face with mean pooling and normalized vectors. Prints the seconds of the conversion
and of `tf.saved_model.load`, the greatest difference of the vectors, and, in turn, the median time of one text of 32
tokens and of 64 such texts; ours with the tokenizer, ONNX Runtime's from ids. With --data also the seconds of encoding
1,000 texts of its column once, and of training a classifier on them with the frozen encoder. Needs an otherwise idle
machine and `pip install onnx onnxruntime transformers torch`.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import torch
import transformers
from training import ROOT

sys.path.insert(0, str(ROOT))

TOKENS, WORD = 32, "movie"
CALLS = 5  # of a round


class Pooled(torch.nn.Module):
    """ids [batch, time] -> the normalized mean of the states [batch, units]."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        """Calls the network; 0 is padding."""
        mask = (ids != 0).long()
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask[:, :, None].float()
        return torch.nn.functional.normalize((states * weight).sum(1) / weight.sum(1).clamp(min=1e-9))


def onnx_session(folder: Path, path: Path, threads: int) -> onnxruntime.InferenceSession:
    """Exports the checkpoint with transformers, and loads it."""
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    axes = {"ids": {0: "batch", 1: "time"}, "vectors": {0: "batch"}}
    names = {"input_names": ["ids"], "output_names": ["vectors"], "dynamic_axes": axes}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        ids = torch.randint(1000, 2000, (2, TOKENS))
        torch.onnx.export(Pooled(model).eval(), (ids,), str(path), opset_version=17, dynamo=False, **names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seconds_of(function) -> float:
    """Returns the seconds of a call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def medians(ours, theirs, repeats: int) -> tuple[float, float]:
    """Returns the median seconds of two functions, in rounds of some calls of each.

    The threads of ONNX Runtime wait for the next call by spinning: the first call of the other side is not counted.
    """
    times: dict = {ours: [], theirs: []}
    for _ in range(repeats):
        for function, found in times.items():
            function()
            found += [seconds_of(function) for _ in range(CALLS)]
    return tuple(map(statistics.median, times.values()))


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, help="a table of texts and two labels")
    parser.add_argument("--column", default="review")
    parser.add_argument("--label", default="sentiment")
    given = parser.parse_args()
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(given.threads)
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    from pipelines.pretrained import checkpoint

    with tempfile.TemporaryDirectory() as folder:
        session = onnx_session(given.encoder, Path(folder) / "model.onnx", given.threads)
        export = Path(folder) / "1"
        print(f"conversion: {seconds_of(lambda: checkpoint.convert(given.encoder, export)):.1f} s")
        found = []
        print(f"tf.saved_model.load: {seconds_of(lambda: found.append(tf.saved_model.load(str(export)))):.2f} s")
        embed = found[0].signatures["serving_default"]
        text = " ".join([WORD] * (TOKENS - 2))
        tokenizer = transformers.AutoTokenizer.from_pretrained(given.encoder)
        ids = np.array(tokenizer([text])["input_ids"], np.int64)
        assert ids.shape == (1, TOKENS), ids.shape
        one = embed(text=tf.constant([text]))["embedding"].numpy()
        print(f"greatest difference of the vectors: {np.abs(one - session.run(None, {'ids': ids})[0]).max():.1e}")
        for count, repeats in ((1, 40), (64, 4)):
            texts, many = tf.constant([text] * count), np.repeat(ids, count, axis=0)
            ours, theirs = medians(lambda: embed(text=texts), lambda: session.run(None, {"ids": many}), repeats)  # noqa: B023
            print(f"{count} texts: {1e3 * ours:.2f} ms, ONNX Runtime {1e3 * theirs:.2f} ms, ratio {ours / theirs:.2f}")
    if given.data:
        import unroll

        table = pd.read_csv(given.data, keep_default_na=False).sample(1000, random_state=1)
        encoder = unroll.load_encoder(str(given.encoder))
        encoder(table[given.column][:64].tolist())  # traces
        once = seconds_of(lambda: encoder(table[given.column].tolist()))
        model = unroll.TextClassifier(preset="quick", encoder=str(given.encoder), no_baseline=True)
        training = seconds_of(lambda: model.fit(table[given.column], table[given.label]))
        print(f"1,000 texts: encoded in {once:.1f} s, a classifier trained in {training:.1f} s")


if __name__ == "__main__":
    main()
