"""The report of a classifier: that of labelled texts, with what the maximum number of tokens cuts off."""

from pathlib import Path

from pipelines.labelled import multi_label_report, number_report, report
from pipelines.labelled.config import multi_label
from pipelines.support.numbers import counted
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult


def write_report(result: RunResult, details: dict, folder: Path) -> None:
    """Writes the report and its pictures; for `details` see `labelled.report.write`."""
    # In training, the logits are those of the network alone.
    both = {"curve_labels": ("training, network alone", "validation, with the linear model")}
    labels = both if result.config.get("max_ngrams") else {}
    data_lines = [_window_line(result), *_encoder_lines(result), *_refit_lines(result)]
    _module_of(result).write(result, details, folder, data_lines=data_lines, **labels)


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    return _module_of(result).summarize(result)


def _module_of(result: RunResult):
    """Returns the module that writes the report on this kind of labels."""
    if result.config.get("label_type") == "number":
        return number_report
    return multi_label_report if multi_label(result.config) else report


def _encoder_lines(result: RunResult) -> list[str]:
    losses, handle = result.about.get("left_out_losses"), result.config.get("encoder")
    if not losses:
        return []
    return [
        f"- The encoder is {handle if '://' in handle else Path(handle).name}. Log loss of training texts that were "
        f"left out of a fit: n-grams alone {losses['n-grams']:.3f}, the encoder alone {losses['encoder']:.3f}, both "
        f"{losses['both']:.3f}."
    ]


def _refit_lines(result: RunResult) -> list[str]:
    refitted = result.about.get("refitted_rows")
    if refitted is None:
        return []
    again = "The linear model of the export was then fitted again"
    if result.config.get("refit") == "all":
        again = f"The export was then trained again from the start, for {counted(result.best_epoch, 'epoch')}"
    return [
        "- The scores are those of the model as it was fitted to the training texts. "
        f"{again}, in the same way, to all {refitted:,} texts, those of the validation among them."
    ]


def _window_line(result: RunResult) -> str:
    window = result.about["window"]
    line = f"- The model reads at most {window['max_tokens']:,} tokens of a text"
    if not window["texts_cut"]:
        return f"{line}; none of the training texts is longer."
    return (
        f"{line}: the first and the last half. {percent(window['texts_cut'])} of the training texts are longer; "
        f"{percent(window['tokens_lost'])} of all tokens are cut off."
    )
