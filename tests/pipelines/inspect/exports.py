"""Traces and exports of small models that are not trained, for the tests of this folder."""

import base64
import dataclasses
import functools
import gzip
import io
import json
import re
from pathlib import Path

import numpy as np
from PIL import Image

import main
from pipelines.export import saved_model
from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import Attention, Trace, traces
from pipelines.language_model import task
from tests.pipelines.language_model import models

TOKENS = ["<start>", "a", " ", "b"]


def outputs_of(layers=("layer_1",), kind="lstm", time=4, units=3, seed=0) -> dict:
    """What the signature `trace` of a language model returns for a text of `time` tokens and for an empty one."""
    rng = np.random.default_rng(seed)
    tokens = [TOKENS[i % len(TOKENS)].encode() for i in range(time)]
    mask = (np.arange(time) < [[time], [1]])[:, :, None]
    gates = {"lstm": ("forget_gate", "input_gate", "output_gate"), "gru": ("update_gate", "reset_gate"), "simple": ()}
    values = {}
    for layer in layers:
        for gate in gates[kind]:
            values[f"{layer}_{gate}"] = rng.random((2, time, units)) * mask
        states = ("hidden", "cell", "candidate") if kind == "lstm" else ("hidden", "candidate")[: 1 + (kind == "gru")]
        for state in states:
            values[f"{layer}_{state}"] = rng.normal(size=(2, time, units)) * mask
    return values | {
        "tokens": np.array([tokens, [b"<start>"] + [b""] * (time - 1)]),
        "lengths": np.array([time, 1]),
        "cut": np.array([False, True]),
        "log_probabilities": np.log(rng.random((2, time))) * mask[:, :, 0],
        "next_tokens": np.full((2, time, 2), b"x"),
        "next_probabilities": rng.random((2, time, 2)),
        "features": rng.normal(size=(2, time, units)),
    }


def make_trace(**options) -> Trace:
    return traces("small/1", outputs_of(**options))[0]


@functools.cache
def export_language_model(root: Path, model: str = "lstm", tokenizer: str = "character", name: str = "small") -> Path:
    """Exports a small language model that is not trained to root/name/1, and returns `root`."""
    config, _, _, generator = models.make(model, tokenizer, window=24)
    requests = task.example_requests(generator)
    card = {"task": "char-lm", "config": dataclasses.asdict(config), "scores": {}}
    saved_model.export(generator, name, root, card, requests, verify=False)
    return root


def picture(figure: Figure) -> Image.Image:
    return Image.open(io.BytesIO(figure.png()))


def data_of(html: str) -> list[dict]:
    """The figures of a page: name, specification, data and title."""
    content = re.search(r'id="figures">(.*?)</script>', html, re.S)[1]
    return json.loads(gzip.decompress(base64.b64decode(content)))


def attentive(weights, queries, keys, is_cross=False) -> Trace:
    found = {"layer_1": Attention(np.asarray(weights), queries, keys, is_cross)}
    return Trace("small/1", {"layer": queries}, {}, found, {}, False)


def run(capsys, *arguments):
    """(exit status, what was printed) of `main.py inspect`."""
    status = main.main(["inspect", *map(str, arguments)])
    return status, capsys.readouterr()


def assert_page(capsys, path, *arguments) -> str:
    """Asserts that `inspect` writes the page; returns what it printed."""
    status, printed = run(capsys, *arguments, "--output", path)
    assert status == 0, printed.err
    assert f"page: {path}" in printed.out and path.read_text().startswith("<!doctype html>")
    return printed.out


def assert_refused(capsys, message, *arguments):
    """Asserts that `inspect` ends with one line on stderr."""
    status, printed = run(capsys, *arguments)
    assert status == 2 and message in printed.err and printed.err.count("\n") == 1
