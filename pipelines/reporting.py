"""What the reports of all pipelines share."""

from pathlib import Path

from matplotlib.figure import Figure

from pipelines.files import shown, written_beside

SAMPLE_WARNING = "Trained on the embedded sample: these scores say nothing about real text."
BLUE, ORANGE, GREY = "#3465a4", "#ce5c00", "#888a85"


def record_lines(result: dict) -> list[str]:
    config, versions = result["config"], result["versions"]
    return [
        "## Record",
        "",
        f"- Begun {result['started']} on {result['machine']}, training in {result['precision']}.",
        f"- {', '.join(f'{name} {version}' for name, version in versions.items())}.",
        f"- Data: {result['data']['name']}, fingerprint `{result['data']['fingerprint']}`.",
        f"- {result['parameters']:,} parameters" + (f", {result['vocabulary_size']:,} tokens in the vocabulary." if result["vocabulary_size"] else "."),
        f"- {', '.join(f'{name} {value}' for name, value in config.items() if value is not None)}.",
        "- `config.json` beside this file holds all that is needed to repeat the run; `metrics.csv` has the epochs.",
    ]


def note_lines(result: dict) -> list[str]:
    """What was left out of the data, and why."""
    return [f"- {note[0].upper()}{note[1:]}: {rows:,}." for note, rows in result["notes"].items()]


def save(figure: Figure, path: Path) -> None:
    with written_beside(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)


def data_name(result: dict) -> str:
    return "the embedded sample" if result["sample"] else Path(result["config"]["data"]).name


def model_flags(result: dict) -> str:
    """The flags with which the other commands find this model."""
    name = result["model"].split("/")[0]
    folder = Path(result["export"]).parent.parent
    flags = "" if name == result["pipeline"] else f" --name {name}"
    if folder.resolve() != Path(__file__).resolve().parent.parent / "saved_models":
        flags += f" --saved-models {shown(folder)}"
    return flags


def percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def curves(result: dict, measures: dict[str, str]) -> Figure:
    """Learning curves, side by side: measure -> title."""
    epochs = [row["epoch"] for row in result["epochs"]]
    figure = Figure(figsize=(4.5 * len(measures), 3.4), layout="constrained")
    for axes, (measure, title) in zip(figure.subplots(1, len(measures), squeeze=False)[0], measures.items(), strict=True):
        if measure in result["epochs"][0]:
            axes.plot(epochs, [row[measure] for row in result["epochs"]], "o-", color=GREY, label="training")
        axes.plot(epochs, [row[f"val_{measure}"] for row in result["epochs"]], "o-", color=BLUE, label="validation")
        axes.axvline(result["best_epoch"], color=ORANGE, linestyle=":", label="kept")
        axes.set(title=title, xlabel="epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
