import numpy as np
import pandas as pd
import pytest

from pipelines.inspect import attention, gates, live_figures
from pipelines.inspect.trace import GATES, traces
from tests.browser import chromium
from tests.pipelines.inspect.exports import outputs_of
from tests.serving import page_models

SCRIPT = live_figures.FOLDER.parent / "trace.js"

# What panels.js gives to the figures: {dataset: rows}.
_ROWS = """(outputs) => {
    const { trace: page } = livePage, trace = page.firstRow(outputs);
    const isTranslation = "source_tokens" in trace;
    const source = isTranslation ? trace.source_tokens.slice(0, trace.source_lengths)
        : trace.tokens.slice(0, trace.lengths);
    const target = isTranslation ? trace.target_tokens.slice(0, trace.target_lengths) : source;
    const read = ["<start>", ...target.slice(0, -1)], sides = { source, target, read };
    const layers = page.recurrentLayers(trace);
    return {
        tokens: page.tokenRows(source),
        means: layers.flatMap((layer) => page.meanRows(layer, sides[layer.side])),
        norms: layers.flatMap((layer) => page.normRows(layer, sides[layer.side])),
        weights: page.attentionLayers(trace).flatMap(({ name, heads, query, key }) =>
            page.weightRows(name, heads, sides[query].length, sides[key].length)),
        next: "next_tokens" in trace ? page.nextRows(target, trace.next_tokens, trace.next_probabilities) : [],
    };
}"""


def test_the_files_of_the_live_page_are_written_from_the_figures_of_inspect(tmp_path):
    live_figures.write(tmp_path)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text("utf-8") for path in live_figures.FOLDER.iterdir()}
    assert written == committed, "run: python -m pipelines.inspect.live_figures"


def test_the_live_figures_are_those_of_a_page():
    """The charts of a page with their tokens differ from the live ones only in sizes and angles of the labels."""

    def without_sizes(node):
        if isinstance(node, list):
            return [without_sizes(each) for each in node]
        if not isinstance(node, dict):
            return node
        left_out = ("labelAngle", "labelAlign", "labelFontSize", "width", "height", "config", "params", "title")
        return {key: without_sizes(value) for key, value in node.items() if key not in left_out}

    tokens, live = ["<start>", "a"], live_figures.specifications()
    charts = {
        "gates": gates.mean_chart(tokens),
        "norms": gates.norm_chart(tokens),
        "attention": attention.weight_chart(tokens, tokens),
        "next": gates.next_chart(),
    }
    for name, chart in charts.items():
        assert without_sizes(chart.to_dict()) == without_sizes(live[name])


def answers() -> dict[str, dict]:
    """Name -> outputs of the signature `trace` for one text."""
    signatures = page_models.signatures()
    texts = {"translator": "one seventeen three", "classifier": "a wonderful film", "language-model": "we do not"}
    found = {
        name: {key: value.numpy() for key, value in signatures[name]["trace"](page_models.text(text)).items()}
        for name, text in texts.items()
    }
    for kind in ("lstm", "gru", "simple"):
        outputs = outputs_of(("layer_1", "layer_2"), kind)
        found[kind] = outputs | {"next_tokens": np.full((2, 4, 2), b"a b\n")}
    return found


def json_of(values):
    """What the REST API answers for an array: strings as text."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, list):
        return [json_of(each) for each in values]
    return values.decode() if isinstance(values, bytes) else values


def rows_of(outputs: dict) -> dict[str, pd.DataFrame]:
    trace = traces("m/1", outputs)[0]
    part = "encoder" if "encoder" in trace.tokens else "layer"
    found = {"tokens": gates.token_rows(trace, part)[["position", "token"]]}
    frames = [
        gates.mean_rows(trace, [layer], [gate])
        for layer, values in trace.recurrent.items()
        for gate in GATES
        if gate in values
    ]
    found["means"] = pd.concat(frames) if frames else pd.DataFrame()
    has_states = trace.layers("hidden") + trace.layers("cell")
    found["norms"] = gates.norm_rows(trace, list(trace.recurrent)) if has_states else pd.DataFrame()
    found["weights"] = attention.weight_rows(trace.attention) if trace.attention else pd.DataFrame()
    found["next"] = gates.next_rows(trace) if "next_tokens" in trace.outputs else pd.DataFrame()
    return found


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    keys = [name for name in ("layer", "head", "gate", "state", "query", "key", "position", "rank") if name in rows]
    rows = rows.sort_values(keys) if keys else rows
    return rows[sorted(rows)].reset_index(drop=True)


@pytest.mark.long
def test_the_live_page_computes_the_rows_of_the_pages():
    with chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(path=SCRIPT)
        for name, outputs in answers().items():
            rest = {key: json_of(value) for key, value in outputs.items()}
            live = page.evaluate(_ROWS, rest)
            for dataset, expected in rows_of(outputs).items():
                shown = pd.DataFrame(live[dataset])
                assert len(shown) == len(expected), (name, dataset)
                if len(expected):
                    pd.testing.assert_frame_equal(in_order(shown), in_order(expected), check_dtype=False, rtol=1e-5)
