"""The live page in a real browser, with a real server. UNROLL_REQUIRE_BROWSER=1 makes a missing browser a failure."""

import urllib.parse

import pytest

from tests.browser import chromium, installed
from tests.serving import page_models, small_models
from tests.serving.conftest import serving

pytestmark = pytest.mark.long

ALL = ("classifier", "language-model", "tagger", "translator", "upper")
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202e\u05e9\u05dc\u05d5\u05dd \U0001f600 e\u0301"
WAIT_MS = 60_000  # no test measures time; this only ends a test that would wait forever


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    installed()  # no models are saved in vain
    root = tmp_path_factory.mktemp("page_models")
    page_models.save_all(root)
    small_models.save(root, "upper", 1)
    small_models.save_generator(root, "generator", 1)
    with serving(root, max_text_bytes=200_000) as client:
        yield f"http://127.0.0.1:{client.server.rest_port}/"


@pytest.fixture(scope="module")
def browser(server):
    # After the server: Playwright runs an event loop in this thread until its end, and a server cannot start beside it.
    with chromium() as browser:
        yield browser


@pytest.fixture
def problems():
    """What the browser's console reports, and dialogs that scripts open. Empty at the end of a test."""
    found = []
    yield found
    assert found == []


@pytest.fixture
def open_page(browser, server, problems):
    """Opens the page with models and a text in its address."""
    contexts = []

    def open_page(models=(), text=None, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        values = [("model", name) for name in models] + ([("text", text)] if text is not None else [])
        page.goto(server + (f"#{urllib.parse.urlencode(values, quote_via=urllib.parse.quote)}" if values else ""))
        if values:
            wait_until_done(page)
        return page

    yield open_page
    for context in contexts:
        context.close()


def wait_until_done(page):
    page.locator("#status", has_text="Done").wait_for()


def card(page, name):
    return page.locator(f'article[aria-label="{name}"]')


def figures(scope):
    """The labels of the figures that are drawn."""
    drawn = scope.locator(".figure:has(canvas)")
    return [drawn.nth(i).get_attribute("aria-label") for i in range(drawn.count())]


def test_a_classifier_shows_label_probabilities_and_weights(open_page):
    page = open_page(["classifier"], "a wonderful film")
    scope = card(page, "classifier")
    assert scope.locator(".result").text_content() == "negative"
    assert scope.locator(".error").count() == 0
    shown = figures(scope)
    assert shown[0].startswith("Probabilities: negative ") and "class 2 " in shown[0]
    states = "lengths of the states of layer 1 forward, for each token"
    assert shown[1:] == ["gates of layer 1 forward, for each token", states]
    pieces = scope.locator(".tokens").first.locator(".token")
    assert pieces.all_text_contents() == ["a", "wonderful", "film"]
    assert "for" in pieces.nth(1).get_attribute("class") and "against" in pieces.nth(0).get_attribute("class")
    scope.get_by_role("combobox", name="Layer").select_option("layer 1 backward")
    scope.locator('[aria-label^="gates of layer 1 backward"] canvas').wait_for()


def test_the_names_of_the_classes_are_those_of_the_card(open_page):
    page = open_page(["several"], "a wonderful film")
    scope = card(page, "several")
    assert scope.locator(".result").text_content() == "no label"
    assert figures(scope) == ["Probabilities: negative 99.8\u00a0%, <img src=x onerror=alert(1)> 0.2\u00a0%"]


def test_a_tagger_shows_tags_under_tokens_and_their_scores(open_page):
    page = open_page(["tagger"], "Ana lives here")
    tokens = card(page, "tagger").locator(".token")
    assert tokens.locator(".token-below").all_text_contents() == ["O", "B-LONG", "B-LONG"]
    tokens.nth(1).hover()
    assert card(page, "tagger").locator(".detail").text_content() == "lives: B-LONG, probability 75\u00a0%"


def test_a_translator_shows_translation_alignment_and_attention(open_page):
    page = open_page(["translator"], "one two")
    scope = card(page, "translator")
    assert scope.locator(".result").text_content() == "ONE TWO"
    assert figures(scope) == [
        "attention weights of the alignment",
        "attention weights of decoder 1, to the text",
        "What each step could write",
    ]
    scope.get_by_role("combobox", name="Head").first.select_option("head 2")
    scope.get_by_role("combobox", name="Layer").select_option("encoder 1")
    scope.locator('[aria-label="attention weights of encoder 1"] canvas').wait_for()


def test_a_language_model_completes_and_shows_what_may_come_next(open_page):
    page = open_page(["language-model"], "we")
    scope = card(page, "language-model")
    new = scope.locator(".new-token")
    assert "".join(new.all_text_contents()).startswith("abcdefgh") and new.count() == 40
    new.nth(1).hover()
    detail = scope.locator(".detail").first.text_content()
    assert detail.startswith("b: 100\u00a0%. Most probable: b 100")
    assert "What may come next" in figures(scope) and "attention weights of layer 2" in figures(scope)
    page.get_by_label("New tokens", exact=True).fill("3")
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    assert new.all_text_contents() == ["a", "b", "c"]


def test_stop_ends_a_completion(open_page):
    page = open_page(["language-model"], "we")
    page.get_by_label("New tokens", exact=True).fill("500")
    page.get_by_role("button", name="Run").click()
    page.locator(".new-token").nth(2).wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#status", has_text="Stopped.").wait_for()
    assert page.locator(".new-token").count() < 500 and page.get_by_role("button", name="Stop").is_disabled()


def test_any_other_model_has_a_form_and_answers_json(open_page):
    page = open_page(["generator"], "ha")
    scope = card(page, "generator")
    assert '"haha"' not in scope.locator(".json").text_content()
    scope.get_by_label("max_length: int32").fill("2")
    scope.get_by_role("button", name="Send").click()
    scope.locator(".json", has_text='"haha"').wait_for()
    scope.get_by_label("max_length: int32").fill("two")
    scope.get_by_role("button", name="Send").click()
    assert "max_length is not JSON" in scope.locator(".error").text_content()


def test_models_side_by_side_highlight_the_same_token(open_page):
    page = open_page(ALL, "the wonderful film", viewport={"width": 1600, "height": 900})
    assert page.locator("article").count() == len(ALL) and page.locator(".error").count() == 0
    boxes = [card(page, name).bounding_box() for name in ALL[:2]]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    card(page, "tagger").locator(".token").nth(1).hover()
    hovered = page.locator(".token.hovered .token-text")
    assert set(hovered.all_text_contents()) == {"wonderful"} and hovered.count() == 5
    signals = """[...livePage.figures.drawn].flatMap(({ axes, result }) =>
        Object.entries(axes).filter(([, axis]) => axis.key === "text").map(([name]) => result.view.signal(name)))"""
    values = page.evaluate(signals)
    assert values == [[1]] * 9
    page.mouse.move(0, 0)
    assert hovered.count() == 0


def test_hovering_a_figure_highlights_the_tokens(open_page):
    page = open_page(["classifier"], "the wonderful film")
    canvas = page.locator('[aria-label^="gates"] canvas')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 95, box["y"] + 60)
    hovered = page.locator(".token.hovered .token-text")
    hovered.first.wait_for()
    assert len(set(hovered.all_text_contents())) == 1
    page.locator("#tooltip").wait_for()
    assert "mean: 0." in page.locator("#tooltip").text_content()


@pytest.mark.parametrize("model", ALL)
def test_hostile_text_is_inert(open_page, model):
    page = open_page([model], HOSTILE)
    assert page.locator(".error").count() == 0
    assert page.locator("article script, article img").count() == 0
    assert page.get_by_label("Text", exact=True).input_value() == HOSTILE


def test_half_a_surrogate_pair_and_an_empty_text_get_an_answer(open_page):
    page = open_page(["classifier", "tagger"], "x")
    for text in ("a \ud800 b", ""):
        page.evaluate("(text) => { document.getElementById('text').value = text; }", text)
        page.get_by_role("button", name="Run").click()
        wait_until_done(page)
        assert page.locator(".error").count() == 0


def test_a_long_text_is_cut_for_the_panels_and_the_page_says_so(open_page):
    page = open_page(["tagger", "classifier"], "x")
    page.get_by_label("Text", exact=True).fill("many words " * 2000)
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    notes = page.locator(".note").all_text_contents()
    assert "The panels show the first 2,000 of 22,000 characters." in notes
    assert "The first 2000 of 4000 tokens are shown." in notes
    assert "too long for the address" in page.locator("#status").text_content()


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
    page.emulate_media(color_scheme="dark")
    page.locator("canvas").nth(2).wait_for()
    assert page.locator("canvas").count() == 3 and page.locator(".error").count() == 0


def test_without_the_library_of_the_figures_the_answer_stays(open_page, problems):
    page = open_page()
    page.route("**/page/vega.js", lambda route: route.fulfill(status=501, json={"error": "why"}))
    page.goto(page.url.split("#")[0] + "#model=classifier&text=a+wonderful+film")
    page.reload()
    page.locator("#status", has_text="Done, with 1 error.").wait_for()
    scope = card(page, "classifier")
    assert scope.locator(".result").text_content() == "negative" and scope.locator(".token").count() == 6
    lines = scope.locator(".error").all_text_contents()
    assert lines == ["The figures cannot be drawn: the server does not have /page/vega.js"] * 2
    problems.clear()  # Chromium's own lines about the file


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
    assert page.locator(".token.hovered").count() == 2
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


def test_a_request_can_be_copied_and_is_quoted_for_a_shell(open_page):
    page = open_page(["tagger"], "it's", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('curl -d \'{"signature_name":"serving_default"') and "it'\\''s" in copied


def test_without_javascript_the_models_and_one_sentence_are_visible(open_page):
    page = open_page(java_script_enabled=False)
    assert page.get_by_text("The live part of this page needs JavaScript.").is_visible()
    assert page.get_by_role("heading", name="tagger").is_visible() and not page.locator("#form").is_visible()


def test_the_page_has_one_global(open_page):
    page = open_page(["classifier"], "x")
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
