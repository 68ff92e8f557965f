"""How the live page behaves: its form, address, keyboard, errors, figures and requests to copy."""

import ast
import contextlib
import io
import json
import shlex
import urllib.parse

import pytest

from tests.serving import page_models
from tests.serving.page.conftest import ALL, HOSTILE, card, open_inside, wait_until_done

pytestmark = pytest.mark.long


def test_the_example_is_a_text_of_the_validation_data(open_page):
    page = open_page()
    box, field = page.get_by_role("checkbox", name="classifier"), page.get_by_label("Text", exact=True)
    assert box.is_checked() and field.input_value().startswith("The old house")  # its card has none
    box.uncheck()
    page.get_by_role("checkbox", name="several").check()
    assert field.input_value() == page_models.EXAMPLE
    field.fill("my own text")
    page.get_by_role("checkbox", name="several").uncheck()
    assert field.input_value() == "my own text"


def test_the_header_has_the_project_and_its_help(open_page):
    page = open_page()
    assert page.locator("header").get_by_text("Unroll", exact=True).is_visible()
    page.get_by_role("link", name="How to use this server").click()
    page.get_by_role("heading", name="Requests").wait_for()
    page.get_by_role("link", name="live page").click()
    page.locator("#form").wait_for()


def test_stop_ends_a_completion(open_page):
    page = open_page(["language-model"], "we")
    page.get_by_label("New tokens", exact=True).fill("500")
    page.get_by_role("button", name="Run").click()
    page.locator(".new-token").nth(2).wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#status", has_text="Stopped.").wait_for()
    assert page.locator(".new-token").count() < 500 and page.get_by_role("button", name="Stop").is_disabled()


def test_hovering_a_figure_highlights_the_tokens(open_page):
    page = open_page(["classifier"], "the wonderful film")
    open_inside(page)
    canvas = page.locator('[aria-label^="gates"] canvas')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 95, box["y"] + 60)
    hovered = page.locator(".token.hovered .token-text")
    hovered.first.wait_for()
    assert len(set(hovered.all_text_contents())) == 1
    page.locator("#tooltip").wait_for()
    assert "mean: 0." in page.locator("#tooltip").text_content()


def test_the_places_of_tokens_in_a_text(open_page):
    page = open_page()

    def spans(tokens, text):
        return page.evaluate("([tokens, text]) => livePage.trace.spans(tokens, text)", [tokens, text])

    assert spans(["<start>", "the", "film", "<end>"], "The \u00a0film") == [None, [0, 3], [5, 9], None]
    assert spans(["\u2581the", "\u2581fi", "lm"], "the \ufb01lm") == [[0, 3], [4, 5], [5, 7]]  # a ligature
    assert spans(list("a b"), "a b") == [[0, 1], [1, 2], [2, 3]]
    assert spans(["\U0001f600", "x"], "\U0001f600x") == [[0, 2], [2, 3]]
    assert spans(["", "a"], "b a") == [None, [2, 3]]
    assert spans(["london", "."], "Lon\u00addon\u200b.") == [[0, 7], [8, 9]]  # invisible characters
    assert spans(["a", "\u00ad", "b"], "a\u00adb") == [[0, 1], [1, 2], [2, 3]]  # of a character model


def test_tokens_are_drawn_with_their_probabilities(open_page):
    page = open_page()

    def call(name, *arguments):
        return page.evaluate("([name, all]) => livePage.trace[name](...all)", [name, list(arguments)])

    assert call("softmax", [0, 0]) == [0.5, 0.5] and call("softmax", [1, 3, 2], 0) == [0, 1, 0]
    assert call("softmax", [1000, 0]) == [1, 0]
    assert [call("draw", [0.25, 0.75], random) for random in (0, 0.2, 0.3, 1)] == [0, 0, 1, 1]
    assert call("largest", [1, 5, 3, 5], 3) == [1, 3, 2]
    assert call("cut", "a\U0001f600b", 2) == "a\U0001f600"


def test_layers_are_in_their_order(open_page):
    page = open_page()
    names = ["layer_10_hidden", "layer_2_backward_cell", "layer_2_forward_forget_gate", "encoder_1_attention"]
    layers = page.evaluate("(trace) => livePage.trace.recurrentLayers(trace)", dict.fromkeys(names, [[0]]))
    assert [layer["label"] for layer in layers] == ["layer 2 forward", "layer 2 backward", "layer 10"]


def test_figures_follow_a_change_of_the_color_scheme(open_page):
    page = open_page(["classifier"], "a wonderful film")
    open_inside(page)
    page.emulate_media(color_scheme="dark")
    page.locator("canvas").nth(1).wait_for()
    assert page.locator("canvas").count() == 2 and page.locator(".error").count() == 0


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    page.get_by_role("checkbox", name="classifier").focus()
    if not page.get_by_role("checkbox", name="classifier").is_checked():
        page.keyboard.press("Space")
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("the wonderful film")
    page.keyboard.press("Control+Enter")
    wait_until_done(page)
    first = card(page, "classifier").locator(".token").first
    first.focus()
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("wonderful: weight 5.000")
    assert page.locator(".token.hovered").count() == 1
    assert page.locator("#status").get_attribute("aria-live") == "polite"
    assert page.locator("#announcement").text_content() == "classifier: negative"


def test_the_address_keeps_models_and_text(open_page):
    page = open_page(["tagger", "upper"], "salut \u00e0 tous & + #1")
    values = urllib.parse.parse_qs(page.evaluate("location.hash").removeprefix("#"))
    assert values == {"model": ["tagger", "upper"], "text": ["salut \u00e0 tous & + #1"]}
    page.reload()
    wait_until_done(page)
    assert card(page, "upper").locator(".result").text_content() == "SALUT \u00c0 TOUS & + #1"


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (400, "The server cannot answer this request (400): why"),
        (404, "The server does not have this model, version or signature (404): why"),
        (429, "The server has too many requests: try again (429): why"),
        (503, "The model is not ready: try again in a moment (503): why"),
        (0, "The server does not answer: is it still running?"),
    ],
)
def test_an_error_is_one_line(open_page, problems, status, line):
    page = open_page(["tagger"], "x")

    def refuse(route):
        if status:
            route.fulfill(status=status, json={"error": "why"})
        else:
            route.abort("connectionrefused")

    page.route("**/*:predict", refuse)
    page.get_by_role("button", name="Run").click()
    page.locator("#status", has_text="Done, with 1 error.").wait_for()
    assert card(page, "tagger").locator(".error").text_content() == line
    problems[:] = [each for each in problems if "Failed to load resource" not in each]  # Chromium's own line


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_follows_the_color_scheme(open_page, scheme):
    page = open_page(ALL, "the film", viewport={"width": 375, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    red = int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red > 200) == (scheme == "light")


@pytest.mark.parametrize("text", ["it's", HOSTILE, 'a "quote" \\ and \n a line, $HOME `id` \u2028 {x}'])
def test_requests_can_be_copied_and_used(open_page, text):
    page = open_page(["tagger"], text, permissions=["clipboard-read", "clipboard-write"])
    copied = {}
    for name in ("curl", "Python"):
        page.get_by_role("button", name=f"Copy {name}").click()
        page.get_by_role("button", name="Copied").first.wait_for()
        copied[name] = page.evaluate("navigator.clipboard.readText()")
        page.get_by_role("button", name=f"Copy {name}").wait_for()
    command = shlex.split(copied["curl"])
    assert command[:2] == ["curl", "-d"] and command[3].endswith("/v1/models/tagger:predict")
    assert json.loads(command[2]) == {"signature_name": "serving_default", "inputs": {"text": [text]}}
    assert "\u202e" not in copied["curl"] + copied["Python"]  # it would reverse what a person reads
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(copied["Python"], "snippet", "exec"), {})
    (tokens,) = ast.literal_eval(printed.getvalue())["tokens"]
    assert " ".join(tokens).split() == text.split()


def test_without_javascript_the_models_and_one_sentence_are_visible(open_page):
    page = open_page(java_script_enabled=False)
    assert page.get_by_text("The live part of this page needs JavaScript.").is_visible()
    assert page.get_by_role("heading", name="tagger").is_visible() and not page.locator("#form").is_visible()


def test_the_page_has_one_global(open_page):
    page = open_page(["classifier"], "x")
    open_inside(page)
    own = page.evaluate(
        """() => {
        const frame = document.createElement("iframe");
        document.body.append(frame);
        const usual = new Set(Object.getOwnPropertyNames(frame.contentWindow));
        frame.remove();
        return Object.getOwnPropertyNames(window).filter((name) => !usual.has(name) && !/^\\d+$/.test(name));
    }"""
    )
    assert set(own) - {"event", "__playwright__binding__"} == {"livePage", "vegaEmbed"}
