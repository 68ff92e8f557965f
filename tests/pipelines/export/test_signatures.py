import os
import threading
import time

import numpy as np
import tensorflow as tf

from pipelines.export.signatures import BatchedSignature


class Signature:
    """Returns the texts and their lengths; records its calls."""

    def __init__(self):
        self.calls = []
        self._lock = threading.Lock()

    def __call__(self, text):
        with self._lock:
            self.calls.append(text.numpy().tolist())
        lengths = tf.cast(tf.strings.length(text), tf.float32)
        return {"text": text, "lengths": tf.stack([lengths, -lengths], axis=1)}


def test_the_results_have_the_order_of_the_texts():
    texts = ["x" * (i * 37 % 23) for i in range(100)]
    outputs = BatchedSignature(Signature(), batch_size=7)(texts)
    assert outputs["text"].tolist() == texts
    np.testing.assert_array_equal(outputs["lengths"][:, 0], [len(text) for text in texts])
    assert outputs["lengths"].shape == (100, 2)


def test_batches_have_the_batch_size_and_texts_of_similar_length():
    signature = Signature()
    BatchedSignature(signature, batch_size=8)(["x" * (i * 37 % 23) for i in range(20)])
    assert sorted(map(len, signature.calls)) == [4, 8, 8]
    ranges = sorted((min(map(len, call)), max(map(len, call))) for call in signature.calls)
    assert all(longest <= shortest for (_, longest), (shortest, _) in zip(ranges, ranges[1:]))


def test_strings_are_decoded_and_characters_that_are_not_unicode_are_accepted():
    outputs = BatchedSignature(lambda text: {"label": tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")})(
        ["caf\u00e9", "", "a\ud800b"]
    )
    assert outputs["label"].tolist()[:2] == ["caf\u00e9", ""]
    assert isinstance(outputs["label"][2], str)


def test_what_c_code_prints_in_the_first_call_is_hidden(capfd):
    def signature(text):
        os.write(2, b"E0000 oneDNN\n")
        return {"text": text}

    batched = BatchedSignature(signature)
    assert batched(["a"])["text"].tolist() == ["a"]
    assert capfd.readouterr().err == ""
    batched(["b"])
    assert capfd.readouterr().err == "E0000 oneDNN\n"


def test_a_process_that_may_use_a_part_of_the_cores_makes_as_many_calls_at_once(monkeypatch):
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "1")
    running, most = [], []

    def signature(text):
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()
        return {"text": text}

    BatchedSignature(signature, batch_size=1)(["a"] * 8)
    assert max(most) == 1
