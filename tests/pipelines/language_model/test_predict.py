from types import SimpleNamespace

import pytest

from pipelines.decoding.options import SAMPLING, defaults, filled
from pipelines.language_model.predict import continue_texts, continue_texts_on_server, search_texts_on_server
from pipelines.support.errors import UserError
from tests.pipelines.language_model.models import FakeExport


class FakeServer:
    """Records what it is asked."""

    def ask(self, model, inputs, signature):
        self.asked = (model, inputs, signature)
        return {"text": ["x", "y"], "log_probability": [-1.23456, -2], "tokens": [1, 2]}


def test_given_options_and_the_defaults_of_the_card_reach_the_model(lstm):
    generator = lstm[-1]
    results = continue_texts(FakeExport(generator), ["To be", ""], {"max_length": 7, "seed": 3, "stop": None})
    values = defaults(SAMPLING) | {"max_length": 7, "seed": 3}
    text = ["To be", ""]
    expected = generator.generate(text=text, **filled(SAMPLING, values, text))
    assert [result["text"] for result in results] == [text.decode() for text in expected["text"].numpy()]
    assert [result["tokens"] for result in results] == [7, 7] and results[0]["prompt"] == "To be"
    assert all("note" not in result for result in results)


def test_unknown_tokens_of_a_prompt_are_noted(lstm):
    results = continue_texts(FakeExport(lstm[-1]), ["To \u00e9\u00e8", "To"], {"max_length": 1})
    assert results[0]["note"].startswith("2 of the prompt's tokens") and "note" not in results[1]


def test_a_server_gets_all_options():
    server = FakeServer()
    results = continue_texts_on_server(server, "mine", ["a", "b"], {"min_p": 0.2})
    model, inputs, signature = server.asked
    assert (model, signature) == ("mine", "generate") and inputs["text"] == ["a", "b"]
    assert inputs["min_p"] == [0.2, 0.2] and set(inputs) == {"text", *(option.name for option in SAMPLING)}
    assert results[0] == {"prompt": "a", "text": "x", "log_probability": -1.2346, "tokens": 1}


def test_an_option_out_of_range_is_refused_before_the_model_is_loaded():
    with pytest.raises(UserError, match="--top-p 2"):
        continue_texts_on_server(None, "mine", ["a"], {"top_p": 2})


def test_a_row_without_a_continuation_is_not_shown():
    outputs = {"text": [["x", "y", ""], ["z", "", ""]], "log_probability": [[-1.0, -2.0, -1e9], [-0.5, -1e9, -1e9]]}
    server = SimpleNamespace(ask=lambda model, inputs, signature: outputs)
    found = search_texts_on_server(server, "m", ["a", "b"], {"beam_width": 3})
    assert [[each["text"] for each in result["continuations"]] for result in found] == [["x", "y"], ["z"]]
