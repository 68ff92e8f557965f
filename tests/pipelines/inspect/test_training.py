import pytest

from pipelines.inspect import gates
from pipelines.inspect.training import over_epochs
from tests.browser import chromium, opened
from tests.pipelines.inspect.exports import make_trace


def over_three_epochs():
    traces = [make_trace(seed=seed) for seed in range(3)]
    figures = [gates.figures(trace, top=2, like=traces[-1])[0] for trace in traces]
    return over_epochs(figures, [0, 2, 5], [None, 1.5, 1.25])


def test_each_chart_shows_the_chosen_epoch_alone():
    figure = over_three_epochs()
    assert figure.data["means"]["checkpoint"].unique().tolist() == [0, 1, 2]
    units = figure.data["units"].groupby("checkpoint")["unit"].unique()
    assert all(list(each) == list(units[2]) for each in units), "the same units at all epochs"

    def charts(node):
        if isinstance(node, dict):
            yield from [node] if "data" in node else []
            node = list(node.values())
        if isinstance(node, list):
            for each in node:
                yield from charts(each)

    found = list(charts(figure.specification()))
    assert len(found) > 5
    assert all(each["transform"][0] == {"filter": "datum.checkpoint == checkpoint"} for each in found)
    parameters = {each["name"]: each for each in figure.specification()["params"]}
    assert parameters["checkpoint"]["bind"]["max"] == 2
    assert parameters["epochs"]["value"] == [
        "before the training",
        "after epoch 2, validation loss 1.500",
        "after epoch 5, validation loss 1.250",
    ]
    assert figure.png().startswith(b"\x89PNG")


@pytest.mark.long
def test_the_slider_in_a_browser(tmp_path):
    from pipelines.inspect import page

    path = tmp_path / "page.html"
    path.write_text(page.render("Training", [over_three_epochs()], []))
    with chromium() as browser:
        tab, errors = opened(browser, path.as_uri())
        tab.wait_for_function("document.body.dataset.drawn === '1'")
        slider = tab.get_by_label("epoch")
        slider.focus()
        slider.press("ArrowLeft")
        tab.wait_for_function("location.hash.includes('checkpoint=1')")
        assert errors == []
