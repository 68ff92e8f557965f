"""The sliders that set something inside a model."""

import json
import re

import pytest

from tests.serving import page_models
from tests.serving.page.conftest import card, classes, open_inside

pytestmark = pytest.mark.long


@pytest.fixture
def page(open_page):
    """The page of the language model, opened inside; `page.sent` has the bodies of the calls of `intervene`."""
    page = open_page(["language-model"], "we do not")
    page.sent = []

    def note(request):
        body = json.loads(request.post_data or "{}")
        if body.get("signature_name") == "intervene":
            page.sent.append(body["inputs"])

    page.on("request", note)
    open_inside(page)
    return page


def move(page, value, slider=0):
    page.locator(".slider input").nth(slider).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')) }", str(value)
    )


def wait_for(page, text):
    page.locator(".changes li", has_text=re.compile(text.replace(" ", r"\s"))).first.wait_for()


def test_a_slider_sets_a_part_and_shows_the_answer_before_and_after(page):
    assert classes(card(page, "language-model"))[0] == "not 70 % → 70 %"
    (nothing,) = page.sent
    assert nothing["layer"] == [[""]]
    page.get_by_label("Part", exact=True).select_option("forget_gate")
    page.get_by_label("Unit", exact=True).select_option("2")
    page.get_by_label("Token", exact=True).select_option("1")
    assert page.sent == [nothing]  # no more is set before the slider has moved
    move(page, 0.25)
    wait_for(page, "70 % → 25 %")
    sent = page.sent[-1]
    assert sent == {
        **{"text": ["we do not"], "layer": [["layer_1"]], "kind": [["forget_gate"]]},
        **{"unit": [[2]], "step": [[1]], "key": [[-1]], "value": [[0.25]]},
    }
    assert '"signature_name":"intervene"' in card(page, "language-model").locator("pre").all_inner_texts()[-4]


def test_a_layer_with_attention_has_heads_and_sublayers(page):
    page.get_by_label("Layer", exact=True).last.select_option("layer 2")
    part = page.get_by_label("Part", exact=True)
    names = part.locator("option").all_inner_texts()
    assert names[0] == "hidden" and {"head", "attention output", "feed forward residual"} <= set(names)
    part.select_option("head")
    assert page.get_by_label("Head", exact=True).last.locator("option").count() == 1 + page_models.HEADS
    assert page.locator(".slider output").inner_text() == "not set"
    move(page, 0)
    wait_for(page, "70 % → 0 %")
    assert page.sent[-1]["kind"] == [["head"]] and page.sent[-1]["unit"] == [[-1]]


def test_several_sliders_act_together_and_can_be_removed(page):
    move(page, 0.5)
    page.get_by_role("button", name="Add a slider").click()
    move(page, 0.25, slider=1)
    page.wait_for_function("() => document.querySelectorAll('.slider').length === 2")
    wait_for(page, "70 % → 50 %")
    page.locator(".slider").first.get_by_role("button", name="Remove").click()
    wait_for(page, "70 % → 25 %")
    assert page.sent[-1]["value"] == [[0.25]]
    page.get_by_role("button", name="Remove").click()
    wait_for(page, "70 % → 70 %")


def test_a_slider_that_moves_fast_ends_with_its_last_position(page):
    page.locator(".slider input").evaluate(
        """(input) => { for (let i = 0; i <= 100; i += 1) {
            input.value = i / 200; input.dispatchEvent(new Event('input')); } }"""
    )
    wait_for(page, "70 % → 50 %")
    assert len(page.sent) < 10 and page.sent[-1]["value"] == [[0.5]]


def test_a_model_without_interventions_has_no_sliders(open_page):
    page = open_page(["classifier"], "a wonderful film")
    open_inside(page)
    assert page.locator(".slider").count() == 0
