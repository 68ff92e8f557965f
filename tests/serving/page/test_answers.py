"""What the live page shows of the answers of each kind of model."""

import json

import pytest

from tests.serving import page_models
from tests.serving.page.conftest import ALL, HOSTILE, card, classes, figures, open_inside, wait_until_done

pytestmark = pytest.mark.long


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


def test_the_fields_have_a_row_of_the_validation_data_until_it_is_changed(open_page):
    page = open_page()
    page.get_by_role("checkbox", name="prices").check()
    title, price = page.get_by_label("a title", exact=True), page.get_by_label("price", exact=True)
    assert (title.input_value(), price.input_value()) == (page_models.EXAMPLE, "12.5")
    title.fill("")
    page.get_by_role("checkbox", name="columns").check()
    page.get_by_role("button", name="Run").click()
    wait_until_done(page)
    assert card(page, "prices").locator(".result").text_content() == "12.5" and title.input_value() == ""
    page.reload()
    price.wait_for()
    assert (title.input_value(), price.input_value()) == ("", "12.5")


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


def test_entities_and_tags_are_asked_for_at_the_same_time(open_page):
    page, held = open_page(["names", "tagger"], "some Anna"), []
    page.route("**/*:predict", lambda route: held.append(route))
    page.get_by_role("button", name="Run").click()
    page.wait_for_function("document.querySelectorAll('article[aria-busy=true]').length === 2")
    while len(held) < 3:  # none has an answer yet
        page.wait_for_timeout(10)
    asked = sorted((route.request.url.split("/")[-1], route.request.post_data_json["signature_name"]) for route in held)
    names = [("names:predict", "entities"), ("names:predict", "serving_default")]
    assert asked == [*names, ("tagger:predict", "serving_default")]
    for route in held:
        route.continue_()
    wait_until_done(page)
    assert card(page, "names").locator("mark.entity").count() == 2 and len(held) == 3


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
