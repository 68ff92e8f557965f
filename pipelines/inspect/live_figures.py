"""The figures of the live page of `serve --open`: those of `inspect`, without data.

    python -m pipelines.inspect.live_figures

writes them to serving/page/figures/, because the server needs neither Altair nor any other code of the pipelines. The
page gives them their datasets and parameters; its trace.js computes the same rows as the functions named here.
"""

import json
from pathlib import Path

import altair as alt

from pipelines.inspect import attention, gates
from pipelines.inspect.axes import MARKED, tokens_parameter

FOLDER = Path(__file__).parents[2] / "serving" / "page" / "figures"


def specifications() -> dict[str, dict]:
    """Returns name -> Vega-Lite specification. Each parameter without a binding is set by the page."""
    tokens, layer = tokens_parameter(None), alt.param(name="layer", value="")
    heads = [MARKED, attention.MARKED_KEYS, layer, alt.param(name="head", value=1)]
    charts = {
        "gates": gates.mean_chart(None).add_params(MARKED, tokens, layer),
        "norms": gates.norm_chart(None).add_params(MARKED, tokens, layer),
        "next": gates.next_chart().add_params(MARKED),
        "attention": attention.weight_chart(None, None).add_params(
            *heads, tokens_parameter(None, "queries"), tokens_parameter(None, "keys")
        ),
    }
    # The colours and fonts of the page take the place of Altair's, and its headings that of the titles.
    left_out = ("config", "title")
    return {
        name: {key: part for key, part in chart.to_dict().items() if key not in left_out}
        for name, chart in charts.items()
    }


def text_of(specification: dict) -> str:
    """Returns the content of a file."""
    return json.dumps(specification, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Writes a file for each figure."""
    for name, specification in specifications().items():
        (folder / f"{name}.json").write_text(text_of(specification), encoding="utf-8")


if __name__ == "__main__":
    write(FOLDER)
