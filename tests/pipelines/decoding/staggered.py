"""Generates several texts in one batch. They do not start at the same time: each run of the batch adds one text."""

import tensorflow as tf

from serving.generation import Batch, Text


def run_of(servable):
    """The signatures of a servable as `serving.generation.Run`."""
    signatures = servable.in_pieces | {"decode": servable.decode}

    def run(signature, inputs):
        outputs = signatures[signature](**{name: tf.constant(value) for name, value in inputs.items()})
        return {name: value.numpy() for name, value in outputs.items()}

    return run


def staggered(run, requests, **options):
    """The pieces of each request: one row of inputs of `sample_start`."""
    batch, texts, pieces = Batch(run), [Text(**options) for _ in requests], [[] for _ in requests]
    waiting = list(zip(texts, requests, strict=True))
    while waiting or len(batch):
        if waiting:
            text, request = waiting.pop(0)
            batch.join([text], request)
        for text, piece in batch.advance():
            pieces[texts.index(text)].append(piece)
    return pieces
