"""OpenAI's completions and embeddings, with a model that continues the alphabet."""

import base64
import collections
import contextlib
import http.client
import json
import random
import threading

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import serving_fuzz
from serving import generation
from serving.streams import Streams
from tests.serving import small_models, streaming_models
from tests.serving.conftest import HANG_SECONDS, serving, wait_until
from tests.serving.streaming_models import LETTERS


class Embed(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def embed(self, text):
        length = tf.cast(tf.strings.length(text), tf.float32)
        return {"embedding": tf.stack([length, length / 3, -length], axis=1)}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("generators")
    streaming_models.save(root)
    small_models.save(root, "upper", 1)
    model = Embed()
    tf.saved_model.save(model, str(root / "encoder" / "1"), signatures=model.embed)
    return root


@pytest.fixture(scope="module")
def client(root):
    with serving(root, max_body_bytes=100_000, max_rows=100, max_text_bytes=5000, max_length=1000) as client:
        yield client


def complete(client, **fields):
    status, answer = client.http("/v1/completions", {"model": "alphabet", **fields})
    assert status == 200, answer
    return answer


def events(client, **fields):
    """The events of a stream; the last one must be [DONE]."""
    body = {"model": "alphabet", "stream": True, **fields}
    status, text = client.http("/v1/completions", body)
    assert status == 200 and text.endswith("\n\n")
    lines = [line.removeprefix("data: ") for line in text.removesuffix("\n\n").split("\n\n")]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


@pytest.mark.long
def test_a_completion_continues_the_prompt_with_the_defaults_of_the_card(client):
    answer = complete(client, prompt="c")
    (choice,) = answer["choices"]
    assert choice == {"text": "defgh", "index": 0, "logprobs": None, "finish_reason": "length"}
    assert answer["usage"] == {"prompt_tokens": 1, "completion_tokens": 5, "total_tokens": 6}
    assert answer["object"] == "text_completion" and answer["model"] == "alphabet" and answer["id"].startswith("cmpl-")


@pytest.mark.parametrize("fields", [{}, {"max_tokens": 1}, {"max_tokens": 0}, {"prompt": "x"}, {"echo": True}])
def test_the_pieces_of_a_stream_are_the_completion(client, fields):
    fields = {"prompt": "c", "max_tokens": 20} | fields
    whole, pieces = complete(client, **fields), events(client, **fields)
    assert "".join(piece["choices"][0]["text"] for piece in pieces) == whole["choices"][0]["text"]
    reasons = [piece["choices"][0]["finish_reason"] for piece in pieces]
    assert reasons[:-1] == [None] * (len(reasons) - 1) and reasons[-1] == whole["choices"][0]["finish_reason"]
    assert len({piece["id"] for piece in pieces}) == 1
    if fields["max_tokens"] == 20:
        assert len(pieces) > 1 or fields["prompt"] == "x"


def test_a_text_ends_with_the_alphabet(client):
    answer = complete(client, prompt="v", max_tokens=30)
    assert answer["choices"][0]["text"] == "wxyz" and answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == 5  # with the end token


@pytest.mark.parametrize(
    ("stop", "text"),
    [("h", "defg"), ("fgh", "de"), (["xyz", "ij"], "defgh"), ("fgx", LETTERS[3:]), ("def", ""), ([], LETTERS[3:])],
)
def test_a_text_ends_before_the_first_stop_text(client, stop, text):
    fields = {"prompt": "c", "max_tokens": 100, "stop": stop}
    assert complete(client, **fields)["choices"][0]["text"] == text
    assert "".join(piece["choices"][0]["text"] for piece in events(client, **fields)) == text


def test_the_stop_text_can_be_kept(client):
    fields = {"prompt": "c", "max_tokens": 100, "stop": ["hi", "k"], "include_stop_str_in_output": True}
    assert complete(client, **fields)["choices"][0]["text"] == "defghi"
    assert "".join(piece["choices"][0]["text"] for piece in events(client, **fields)) == "defghi"


def test_several_prompts_and_several_completions_of_each(client):
    fields = {"prompt": ["a", "longer q"], "n": 2, "max_tokens": 8, "temperature": 1.0, "seed": 3}
    answer = complete(client, **fields)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    texts = [choice["text"] for choice in answer["choices"]]
    streamed = ["", "", "", ""]
    for event in events(client, **fields):
        streamed[event["choices"][0]["index"]] += event["choices"][0]["text"]
    assert streamed == texts
    for i, prompt in enumerate(["a", "a", "longer q", "longer q"]):  # the seeds count on
        alone = complete(client, **fields | {"prompt": prompt, "n": 1, "seed": 3 + i})
        assert alone["choices"][0]["text"] == texts[i]
    assert len({complete(client, **fields | {"seed": seed})["choices"][0]["text"] for seed in range(9)}) > 1


def test_log_probabilities_are_those_of_the_model(client):
    (choice,) = complete(client, prompt="c", max_tokens=2, logprobs=2)["choices"]
    first, second = np.log(np.array([np.e**2, 1]) / (np.e**2 + 1)).tolist()
    shown = choice["logprobs"]
    assert shown["tokens"] == ["d", "e"] and shown["token_logprobs"] == pytest.approx([first, first], abs=1e-4)
    assert shown["top_logprobs"][0] == pytest.approx({"d": first, "e": second}, abs=1e-4)
    tokens = [t for event in events(client, prompt="c", logprobs=0) for t in event["choices"][0]["logprobs"]["tokens"]]
    assert tokens == list("defgh")


def test_the_usage_of_a_stream_comes_last(client):
    *pieces, last = events(client, prompt="abc", stream_options={"include_usage": True})
    assert last["choices"] == [] and last["usage"] == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    assert all("usage" not in piece for piece in pieces)


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"logprobs": 10**9}, "logprobs is 1000000000: it must be from 0 to 5"),
        ({"stop": ["x"] * 1000}, "stop has 1000 texts: a request may have at most 4"),
        ({"stop": [1]}, "stop must be a text or a list of texts; lists of tokens are not supported"),
        ({"prompt": [[1, 2]]}, "prompt must be a text or a list of texts; lists of tokens are not supported"),
        ({"prompt": []}, "prompt is empty: give a text, or a list of texts"),
        ({"prompt": "x" * 5001}, "text has a text of more than 5000 bytes"),
        ({"n": 101}, "ask for 101 texts: a request may have at most 100"),
        ({"n": 0}, "n must be at least 1"),
        ({"n": True}, "n: True is not an integer"),
        ({"temperature": "warm"}, "temperature: warm is not a number"),
        ({"temperature": -1}, "temperature must be at least 0"),
        ({"top_p": 1.5}, "top_p must be above 0, at most 1"),
        ({"max_tokens": -1}, "max_length must be at least 0"),
        ({"seed": 1.5}, "seed: 1.5 is not an integer"),
        ({"max_tokens": 10**30}, "max_length: 1000000000000000000000000000000 is out of range"),
        ({"suffix": "z"}, "suffix is not supported: leave it out"),
        ({"best_of": 3}, "best_of is not supported: leave it out"),
        ({"tools": []}, "tools is no field of a completion, or is not supported"),
        ({"stream_options": 3}, "stream_options: 3 is not an object"),
        ({"model": "upper"}, "upper has no signature sample_start"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(client, fields, message, is_streamed):
    status, answer = client.http("/v1/completions", {"model": "alphabet", "stream": is_streamed, **fields})
    assert status == 400 and message in answer["error"]["message"] and "\n" not in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"


def test_random_requests_are_answered_or_refused(client):
    source, statuses = random.Random(1), collections.Counter()
    valid = {"model": "alphabet", "prompt": ["c", "x"], "max_tokens": 3, "temperature": 0.5, "stop": ["q"], "n": 2}
    valid |= {"logprobs": 1, "seed": 3, "top_p": 0.9, "stream_options": {"include_usage": True}, "echo": False}
    for number in range(400):
        document = serving_fuzz.change_value(source, {**valid, "stream": number % 2 == 0})
        status, answer = client.http("/v1/completions", json.dumps(document).encode())
        statuses[status] += 1
        assert status in (200, 400, 404) and "internal error" not in str(answer), document
    assert statuses[200] > 20 and statuses[400] > 20


def test_a_model_that_is_not_there_and_a_body_that_is_no_json(client):
    assert client.http("/v1/completions", {"model": "none"})[0] == 404
    status, answer = client.http("/v1/completions", {})
    assert status == 400 and "GET /v1/models" in answer["error"]["message"]
    status, answer = client.http("/v1/completions", b"{")
    assert status == 400 and answer["error"]["message"].startswith("JSON Parse error")


def test_embeddings_as_numbers_and_as_bytes(client):
    body = {"model": "encoder", "input": ["abc", ""]}
    status, answer = client.http("/v1/embeddings", body)
    assert status == 200 and [each["embedding"] for each in answer["data"]] == [[3, 1, -3], [0, 0, 0]]
    status, answer = client.http("/v1/embeddings", {**body, "input": "abc", "encoding_format": "base64"})
    assert np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), "<f4").tolist() == [3, 1, -3]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "input is missing"),
        ({"input": [1, 2]}, "lists of tokens are not supported"),
        ({"input": "a", "dimensions": 2}, "dimensions is not supported"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format is int8"),
        ({"input": "a", "model": "upper"}, "upper gives no embeddings: only encoders do"),
    ],
)
def test_wrong_requests_for_embeddings(client, fields, message):
    status, answer = client.http("/v1/embeddings", {"model": "encoder", **fields})
    assert status == 400 and message in answer["error"]["message"]


@pytest.fixture
def steps(monkeypatch):
    """Holds the runs of sample_step until they are released; `sizes` has the number of texts of each run."""

    class Steps:
        def __init__(self):
            self.allowed, self.sizes = threading.Semaphore(0), []

    steps, run = Steps(), Streams._run_signature

    def held(self, name, inputs):
        if name == generation.STEP:
            steps.sizes.append(len(inputs["alive"]))
            assert steps.allowed.acquire(timeout=HANG_SECONDS)
        return run(self, name, inputs)

    monkeypatch.setattr(Streams, "_run_signature", held)
    yield steps
    steps.allowed.release(10_000)


@pytest.fixture
def open_stream():
    """Sends a request for a stream, and returns the connection, which is closed in the end."""
    with contextlib.ExitStack() as stack:

        def open_stream(client, **fields):
            connection = http.client.HTTPConnection("127.0.0.1", client.server.rest_port, timeout=HANG_SECONDS)
            stack.callback(connection.close)
            body = {"model": "alphabet", "prompt": "a", "max_tokens": 1000, "stream": True, **fields}
            connection.request("POST", "/v1/completions", json.dumps(body))
            return connection

        yield open_stream


def test_a_client_that_goes_away_frees_its_place_and_disturbs_nobody(root, steps, open_stream):
    with serving(root) as client:
        first = open_stream(client)
        wait_until(lambda: steps.sizes == [1])
        second = open_stream(client)
        steps.allowed.release()
        wait_until(lambda: steps.sizes == [1, 2])
        response = first.getresponse()
        assert json.loads(response.readline().removeprefix(b"data: "))["choices"][0]["text"] == "b"
        response.close()
        first.close()
        wait_until(lambda: client.server._admission.requests.num_taken == 1)
        steps.allowed.release()
        wait_until(lambda: steps.sizes[2:] == [1])  # the other text continues alone
        steps.allowed.release(10_000)
        text = second.getresponse().read().decode()
        pieces = [json.loads(line[6:]) for line in text.split("\n\n") if line and "DONE" not in line]
        assert "".join(piece["choices"][0]["text"] for piece in pieces) == LETTERS[1:]
        wait_until(lambda: client.server._admission.requests.num_taken == 0)


@pytest.mark.long
def test_a_deadline_in_the_middle_of_a_stream_is_an_event(root, steps, open_stream):
    with serving(root, timeout=3.0) as client:
        steps.allowed.release()
        response = open_stream(client).getresponse()
        assert response.status == 200 and b'"text": "b"' in response.readline()
        wait_until(lambda: len(steps.sizes) == 2)
        threading.Timer(3.5, steps.allowed.release, [10_000]).start()
        last = response.read().decode().strip().split("\n\n")[-1]
        assert json.loads(last.removeprefix("data: "))["error"]["message"] == "Deadline Exceeded"


def test_one_refused_prompt_does_not_disturb_those_that_start_with_it(root, steps, open_stream):
    with serving(root) as client:
        first = open_stream(client)
        wait_until(lambda: steps.sizes == [1])  # the next ones join together
        wrong, right = open_stream(client, top_p=3.0), open_stream(client, prompt="x")
        wait_until(lambda: client.server._admission.requests.num_taken == 3)
        steps.allowed.release(10_000)
        assert wrong.getresponse().status == 400
        assert b'"text": "y' in right.getresponse().read() and first.getresponse().status == 200


def test_more_streams_than_a_client_may_have_are_refused(root, steps, open_stream):
    with serving(root, max_requests=16) as client:
        connections = [open_stream(client) for _ in range(40)]
        wait_until(lambda: client.server._admission.requests.num_taken > 8)
        steps.allowed.release(10_000)
        statuses = [connection.getresponse().status for connection in connections]
        assert set(statuses) == {200, 429} and statuses[0] == 200


def test_a_server_that_stops_ends_its_streams(root, steps, open_stream):
    with serving(root) as client:
        steps.allowed.release()
        response = open_stream(client).getresponse()
        assert b'"text": "b"' in response.readline()
        steps.allowed.release(10_000)
        assert client.server.stop()
        assert response.read().decode().rstrip().endswith("[DONE]")


def test_the_package_openai(client):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"http://127.0.0.1:{client.server.rest_port}/v1", api_key="none", max_retries=0) as api:
        assert {model.id for model in api.models.list()} == {"alphabet", "upper", "encoder"}
        whole = api.completions.create(model="alphabet", prompt="c", max_tokens=9, logprobs=1, stop="j")
        assert whole.choices[0].text == "defghi" and whole.usage.completion_tokens == 9
        stream = api.completions.create(model="alphabet", prompt="c", max_tokens=9, stream=True, seed=1)
        assert "".join(event.choices[0].text for event in stream) == "defghijkl"
        vectors = api.embeddings.create(model="encoder", input=["abc"])  # asks for base64
        assert vectors.data[0].embedding == [3, 1, -3]
        with pytest.raises(openai.BadRequestError, match="logprobs is 99: it must be from 0 to 5"):
            api.completions.create(model="alphabet", prompt="c", logprobs=99)
