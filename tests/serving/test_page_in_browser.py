"""The live page in a real browser, with a real server. UNROLL_REQUIRE_BROWSER=1 makes a missing browser a failure."""

import ast
import contextlib
import io
import json
import shlex
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


def open_inside(page):
    """Opens what the models compute, and waits until it is drawn."""
    inside = page.locator("details.trace:not([open])")
    while inside.count():
        inside.first.locator("summary").first.click()
    page.wait_for_function("""() => [...document.querySelectorAll("details.trace")].every(
        (each) => each.getAttribute("aria-busy") === "false")""")


def classes(scope):
    """What the page says of each class that it shows."""
    return [" ".join(text.split()) for text in scope.locator(".classes li").all_inner_texts()]


def figures(scope):
    """The labels of the figures that are drawn."""
    drawn = scope.locator(".figure:has(canvas)")
    return [drawn.nth(i).get_attribute("aria-label") for i in range(drawn.count())]


def test_a_classifier_shows_label_probabilities_and_weights(open_page):
    page = open_page(["classifier"], "a wonderful film")
    scope = card(page, "classifier")
    assert scope.locator(".result").text_content() == "negative"
    assert scope.locator(".error").count() == 0
    first, second = classes(scope)
    assert first.startswith("negative \u2713 the label 99") and second.startswith("class 2 0.2")
    assert scope.locator(".classes li.winner").count() == 1
    widths = [bar.bounding_box()["width"] for bar in scope.locator(".fill").all()]
    assert widths[0] > 20 * widths[1]
    assert figures(scope) == [] and not scope.locator("canvas").count()  # "Inside" is closed at first
    open_inside(page)
    states = "lengths of the states of layer 1 forward, for each token"
    assert figures(scope) == ["gates of layer 1 forward, for each token", states]
    pieces = scope.locator(".tokens").first.locator(".token")
    assert pieces.all_text_contents() == ["a", "wonderful", "film"]
    assert "for" in pieces.nth(1).get_attribute("class") and "against" in pieces.nth(0).get_attribute("class")
    scope.get_by_role("combobox", name="Layer").select_option("layer 1 backward")
    scope.locator('[aria-label^="gates of layer 1 backward"] canvas').wait_for()
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    assert len(figures(scope)) == 2  # what the person has opened is open in the next answer


def test_the_names_of_the_classes_are_those_of_the_card(open_page):
    page = open_page(["several"], "a wonderful film")
    scope = card(page, "several")
    assert scope.locator(".result").text_content() == "no label"
    assert classes(scope) == ["negative 99.8 %", "<img src=x onerror=alert(1)> 0.2 %"]
    assert not scope.locator(".winner").count()


def test_five_classes_are_shown_and_the_rest_on_demand(open_page):
    page = open_page(["many"], "a text")
    scope = card(page, "many")
    assert [line.split(" ")[1] for line in classes(scope)] == ["3", "4", "5", "6", "7"]  # named by top_labels
    assert "the label" in classes(scope)[0] and scope.locator(".winner").count() == 1
    scope.get_by_text("7 more").click()
    scope.locator(".more li").first.wait_for()
    assert len(classes(scope)) == 12 and classes(scope)[5].startswith("class 9 ")  # has no name in the answer


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


LARGE_ANSWERS = {
    "translator": {
        "translation": ["word " * 2_000_000],
        "score": [1.0],
        "source_tokens": [["word"] * 500],
        "target_tokens": [["word"] * 500],
        "weights": [[[[0.002] * 500] * 500]],
    },
    "many": {"probabilities": [[1e-6] * 700_000], "label": ["x" * 3_000_000], "score": [1e-6]},
    "tagger": {"tokens": [["word"] * 500_000], "tags": [["O"] * 500_000], "num_tokens": [500_000]},
    "generator": {"text": ["x" * 10_000_000], "rows": [1]},
}


@pytest.mark.parametrize(
    ("model", "note"),
    [
        ("translator", "it has 10,000,000 characters"),
        ("many", "The answer is cut"),
        ("tagger", "of 500000 tokens"),
        ("generator", "The first 20,000 of 10,000,0"),
    ],
)
def test_an_answer_of_ten_megabytes_is_cut(open_page, model, note):
    page = open_page()
    answer = json.dumps({"outputs": LARGE_ANSWERS[model]})
    page.route("**/*:predict", lambda route: route.fulfill(body=answer, content_type="application/json"))
    page.locator("#models input:checked").uncheck()
    page.get_by_role("checkbox", name=model).check()
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    assert note in " ".join(card(page, model).locator(".note").all_text_contents())
    assert page.evaluate("document.body.textContent.length") < 500_000
    assert page.locator("*").count() < 20_000


def test_models_of_several_columns_have_a_field_for_each(open_page):
    page = open_page(["columns", "prices"], "")
    assert page.get_by_label("Text", exact=True).is_hidden() and page.locator("#columns .field").count() == 2
    title, price = page.get_by_label("a title", exact=True), page.get_by_label("price", exact=True)
    assert price.get_attribute("type") == "number" and title.evaluate("node => node.tagName") == "TEXTAREA"
    title.fill("a lamp")
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    scope = card(page, "columns")
    assert scope.locator(".result").text_content() in page_models.LABELS and page.locator(".error").count() == 0
    tokens = scope.locator(".token")
    assert tokens.locator(".token-text").all_text_contents() == ["a lamp", "price >= missing"]
    assert tokens.locator(".token-below").all_text_contents() == ["a title"]
    curl, python = scope.locator("code").all_text_contents()
    assert '"price":[NaN]' in curl and '"price": [float("nan")]' in python and scope.locator(".trace").count() == 0
    price.fill("30")
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    assert card(page, "prices").locator(".result").text_content() == "36"
    page.reload()
    page.locator("#columns .field").nth(1).wait_for()
    assert (title.input_value(), price.input_value()) == ("a lamp", "30")
    page.get_by_role("checkbox", name="tagger").check()
    page.get_by_label("Text", exact=True).wait_for()
    assert title.is_visible()


def test_a_tagger_shows_tags_under_tokens_and_their_scores(open_page):
    page = open_page(["tagger"], "Ana lives here")
    tokens = card(page, "tagger").locator(".token")
    assert tokens.locator(".token-below").all_text_contents() == ["O", "B-LONG", "B-LONG"]
    tokens.nth(1).hover()
    assert card(page, "tagger").locator(".detail").text_content() == "lives: B-LONG, probability 75\u00a0%"


def test_a_tagger_marks_the_entities_of_the_text(open_page):
    text = "\U0001f600\U0001f600\U0001f600\U0001f600 an <b>Ana</b> on \u05e9\u05dc\u05d5\u05dd\u05d0\u05d1"
    page = open_page(["names", "tagger"], text)
    scope = card(page, "names")
    marks = scope.locator("mark.entity")
    assert marks.all_text_contents() == [f"{word}\u00a0LONG" for word in text.split()[::2]]
    assert scope.locator(".entities").text_content().replace("\u00a0LONG", "") == text
    assert marks.nth(0).get_attribute("title") == "LONG, score 75\u00a0%"
    assert scope.locator(".token").count() == 5  # the tokens follow
    assert '"signature_name":"entities"' in scope.locator("pre").nth(0).text_content()
    assert card(page, "tagger").locator(".entities").count() == 0
    page = open_page(["names"], "some Anna")
    assert card(page, "names").locator("mark.entity").all_text_contents() == [
        "some\u00a0LONG",
        "Anna\u00a0<img src=x onerror=alert(1)>",
    ]
    backgrounds = page.eval_on_selector_all("mark.entity", "all => all.map(mark => getComputedStyle(mark).background)")
    assert len(set(backgrounds)) == 2
    assert page.locator("#announcement").text_content().startswith("names: some\u00a0LONG Anna\u00a0<img")
    page = open_page(["names"], "no")
    assert card(page, "names").locator(".entities").text_content() == "no"
    assert card(page, "names").get_by_text("No entities were found.").is_visible()


def test_a_translator_shows_translation_alignment_and_attention(open_page):
    page = open_page(["translator"], "one two")
    scope = card(page, "translator")
    assert scope.locator(".result").text_content() == "ONE TWO"
    open_inside(page)
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
    open_inside(page)
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
    open_inside(page)
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
    open_inside(page)
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
    open_inside(page)
    page.emulate_media(color_scheme="dark")
    page.locator("canvas").nth(1).wait_for()
    assert page.locator("canvas").count() == 2 and page.locator(".error").count() == 0


def test_without_the_library_of_the_figures_the_answer_stays(open_page, problems):
    page = open_page()
    page.route("**/page/vega.js", lambda route: route.fulfill(status=501, json={"error": "why"}))
    page.goto(page.url.split("#")[0] + "#model=classifier&text=a+wonderful+film")
    page.reload()
    wait_until_done(page)
    open_inside(page)
    scope = card(page, "classifier")
    assert scope.locator(".result").text_content() == "negative" and scope.locator(".token").count() == 6
    lines = scope.locator(".error").all_text_contents()
    assert lines == ["The figures cannot be drawn: the server does not have /page/vega.js"]
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
