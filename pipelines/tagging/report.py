"""The report of a tagger and its pictures, and the summary on the terminal."""

import dataclasses
from pathlib import Path

from rich.cells import cell_len

from pipelines.support import baselines, charts, confusion, markdown, predictions, reports, terminal
from pipelines.support.answers import PART_END
from pipelines.support.installation import shell_command
from pipelines.support.numbers import counted
from pipelines.support.reports import percent
from pipelines.support.run_result import RunResult
from pipelines.support.scores import score_of
from pipelines.tagging.measure import LINEAR, Details
from pipelines.tagging.metrics import MIN_SENTENCES

_FEW_TOKENS = 1000
_NUM_MISTAKES = 10
_NUM_AROUND = 12  # tokens that are shown on each side of a mistake
_MAX_ROWS = 60  # of the table of tags
_MAX_NAME = 24  # columns of a tag on a terminal
_MAX_ABSENT = 10  # tags without validation tokens that are named
_BASELINES = {
    "most frequent tag": "Most frequent tag: that of the word in training; a word that training does not have gets the "
    "most frequent tag of the words that occur once.",
    "hidden Markov model": "Hidden Markov model: trigrams of tags and the suffixes of unknown words, as in TnT (Brants "
    "2000).",
    LINEAR: "Linear CRF: `--model linear`, a conditional random field over features of each token.",
}


def write_report(result: RunResult, details: Details, folder: Path) -> None:
    """Writes the report to `folder`, with predictions.csv, confusion.png and, of a network, curves.png."""
    valid = result.scores["validation"]
    measures = {"loss": "loss", "accuracy": "accuracy"} | ({"f1": "F1 of spans"} if "span_f1" in valid else {})
    has_epochs = reports.has_epochs(result)
    if has_epochs:
        charts.save(reports.curves(result, measures), folder / "curves.png")
    charts.save(confusion.draw(valid["confusion"], "tag"), folder / "confusion.png")
    predictions.write(
        folder,
        list(map(" ".join, details.tokens)),
        list(map(PART_END.join, details.expected)),
        list(map(PART_END.join, details.predicted)),
    )
    curves_title = "Loss, accuracy and F1 of spans by epoch" if "f1" in measures else "Loss and accuracy by epoch"
    reason = f"the highest validation {'F1 of spans' if 'span_f1' in valid else 'accuracy'}"
    lines = [
        *_header_lines(result),
        *_score_lines(result),
        *_baseline_lines(result),
        *_span_lines(valid),
        *_tag_lines(valid),
        *_mistake_lines(details),
        *(reports.learning_lines(result, reason, curves_title) if has_epochs else []),
        *_data_lines(result, details),
        *reports.use_lines(result, _use_commands(result)),
        *reports.record_lines(result),
    ]
    reports.write(folder, lines)


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    lines = []
    for split, scores in result.scores.items():
        spans = f"F1 of spans {score_of(scores, 'span_f1').number()}   " if "span_f1" in scores else ""
        lines.append(
            f"  {split:<12}{scores['tokens']:>7,} tokens   {spans}accuracy {score_of(scores, 'accuracy').percent()}   "
            f"unknown words {score_of(scores, 'unknown_accuracy').percent()}"
        )
        lines += baselines.summary_lines(scores, _summary_of_baseline)
    title = f"{result.task}, {result.config['model']}, {reports.data_name(result)}"
    return reports.summary(result, title, lines, _use_commands(result)[0])


def format_scores(scores: dict) -> str:
    """Returns the result of `evaluate` as text for a terminal."""
    values = {
        "accuracy": score_of(scores, "accuracy").for_terminal(),
        "macro-F1 over tags": score_of(scores, "macro_f1").for_terminal(),
    }
    if scores["unknown_accuracy"] is not None:
        values["accuracy of unknown words"] = (
            f"{scores['unknown_accuracy']:.4f}   ({counted(scores['unknown_tokens'], 'token')})"
        )
    if "span_f1" in scores:
        values |= {
            "F1 of spans": score_of(scores, "span_f1").for_terminal(),
            "precision of spans": score_of(scores, "span_precision").for_terminal(),
            "recall of spans": score_of(scores, "span_recall").for_terminal(),
        }
    split = f" ({scores['split']})" if scores["split"] else ""
    lines = [
        f"{scores['model']} on {scores['data']}{split}: {counted(scores['sentences'], 'sentence')}, "
        f"{counted(scores['tokens'], 'token')}"
    ]
    if scores["trained_on"]:
        lines.append("  the model was trained on these sentences: the scores say nothing about new ones")
    lines += ["", *(f"  {name:<28}{value}" for name, value in values.items())]
    for title, unit, table in (("label", "spans", scores.get("spans")), ("tag", "tokens", scores["tags"])):
        if table is not None:
            lines += ["", *_terminal_table(title, unit, table)]
    lines += [f"  {note}: {count:,}" for note, count in scores["notes"].items()]
    return "\n".join(lines)


def worst_mistakes(details: Details) -> list[dict]:
    """Returns the wrong tags with the highest probabilities, at most one of each sentence.

    Returns:
        Dicts of "sentence" and "position", both counted from 0, and "probability", the highest one first.
    """
    found = []
    for i, sentence in enumerate(zip(details.predicted, details.expected, details.probabilities, strict=True)):
        wrong = [
            (probability, position)
            for position, (tag, right, probability) in enumerate(zip(*sentence, strict=True))
            if tag != right
        ]
        if wrong:
            probability, position = max(wrong, key=lambda each: each[0])
            found.append({"sentence": i, "position": position, "probability": float(probability)})
    return sorted(found, key=lambda each: -each["probability"])[:_NUM_MISTAKES]


def _header_lines(result: RunResult) -> list[str]:
    valid = result.scores["validation"]
    title = f"{result.task.capitalize()}: {result.config['model']} on {reports.data_name(result)}"
    frequent, counts = next(iter(valid["tags"].items()))
    constant, accuracy = percent(counts["support"] / valid["tokens"]), score_of(valid, "accuracy").percent()
    always = f"Always predicting the most frequent tag, *{markdown.text(frequent)}*, would be correct for {constant}."
    if valid.get("span_f1") is not None:
        sentence = (
            f"This model finds the spans of {valid['sentences']:,} validation sentences with an F1 of "
            f"**{score_of(valid, 'span_f1').number()}**; in parentheses, the 95 % interval. A span counts if its "
            f"start, its end and its label are correct. Of the {valid['tokens']:,} tokens, {accuracy} have the correct "
            f"tag. {always}"
        )
    else:
        sentence = (
            f"This model tags **{accuracy}** of {valid['tokens']:,} validation tokens correctly; in parentheses, the "
            f"95 % interval. {always}"
        )
    if valid["tokens"] < _FEW_TOKENS or valid["sentences"] < MIN_SENTENCES:
        sentence += (
            f" **{valid['sentences']:,} validation sentences with {valid['tokens']:,} tokens are too few to judge a "
            "model**: validate on more with `--valid-fraction` or `--valid`, or add sentences."
        )
    steps = [
        f"Look at *{markdown.text(true)}*: {counted(number, 'token')} of it got the tag *{markdown.text(tag)}*, the "
        f"most frequent mistake. `evaluate {result.task} --data FILE --mistakes mistakes.csv` lists those of "
        "other data."
        for true, tag, number in confusion.most_frequent(valid["confusion"], 1)
    ]
    return reports.header_lines(result, title, sentence, steps)


def _score_lines(result: RunResult) -> list[str]:
    formatted = {
        split: {
            "sentences": f"{scores['sentences']:,}",
            "tokens": f"{scores['tokens']:,}",
            "accuracy": score_of(scores, "accuracy").percent(),
            "unknown": score_of(scores, "unknown_accuracy").percent()
            + f" of {counted(scores['unknown_tokens'], 'token')}",
            "macro_f1": score_of(scores, "macro_f1").number(),
            "span_f1": score_of(scores, "span_f1").number(),
            "span_precision": reports.number(scores.get("span_precision")),
            "span_recall": reports.number(scores.get("span_recall")),
            "loss": reports.number(scores.get("loss")),
        }
        for split, scores in result.scores.items()
    }
    valid = result.scores["validation"]
    rows = [("sentences", "{sentences}"), ("tokens", "{tokens}")]
    if "span_f1" in valid:
        rows += [
            ("F1 of spans", "{span_f1}"),
            ("precision of spans", "{span_precision}"),
            ("recall of spans", "{span_recall}"),
        ]
    rows += [
        ("accuracy", "{accuracy}"),
        ("accuracy of unknown words", "{unknown}"),
        ("macro-F1 over tags", "{macro_f1}"),
    ]
    rows += [("loss", "{loss}")] if "loss" in valid else []
    return [
        *reports.score_table(dataclasses.replace(result, scores=formatted), rows),
        "",
        "The tokens are those of the data. The scores of raw text, which the exported model divides into tokens "
        "itself, are lower. Unknown words are not in the training sentences with the same spelling and case. In "
        "parentheses: the 95 % interval by the bootstrap over sentences.",
        "",
    ]


def _baseline_lines(result: RunResult) -> list[str]:
    """The section on the baselines; [] without them."""
    valid = result.scores["validation"]
    if not valid.get("baselines"):
        return []
    left_out = []
    for each in valid["baselines"]:
        if "left_out" in each:
            left_out += ["", f"The baseline {each['name']} is left out: {each['left_out']}."]
    if len(left_out) == 2 * len(valid["baselines"]):
        return ["## Baselines", *left_out, ""]
    spans = "span_f1" in valid
    columns = ["baseline", "split", *(["F1 of spans", "better by, points"] if spans else [])]
    columns += ["accuracy", "better by, points", "unknown words", "macro-F1"]
    lines = ["## Baselines", "", f"| {' | '.join(columns)} |", f"|---|---|{'---:|' * (len(columns) - 2)}"]
    for split, scores in result.scores.items():
        for each in scores["baselines"]:
            if "left_out" in each:
                continue
            cells = [each["name"], split]
            if spans:
                cells += [score_of(each, "span_f1").number(), score_of(each, "span_f1_difference").points()]
            cells += [score_of(each, "accuracy").percent(), score_of(each, "accuracy_difference").points()]
            cells += [score_of(each, "unknown_accuracy").percent(), reports.number(each["macro_f1"])]
            lines.append(f"| {' | '.join(cells)} |")
    described = [_BASELINES[each["name"]] for each in valid["baselines"] if each["name"] in _BASELINES]
    return [
        *lines,
        *baselines.report_lines(result.scores),
        *left_out,
        "",
        f"{' '.join(described)} Their settings are fixed. “Better by” is the score of this model minus that of the "
        "baseline, with the 95 % interval of this difference on the same sentences; if it contains 0, the difference "
        "may be chance.",
        "",
    ]


def _span_lines(scores: dict) -> list[str]:
    """The section on the labels of spans; [] if the tags mark none."""
    if "spans" not in scores:
        return []
    return ["## Spans", "", *_table("label", "spans", scores["spans"]), ""]


def _tag_lines(scores: dict) -> list[str]:
    """The sections on the tags and their confusion."""
    lines = ["## Tags", "", *_table("tag", "tokens", scores["tags"]), ""]
    return [*lines, "## Confusion", "", *confusion.report_lines(scores["confusion"], "tag", "tokens")]


def _table(title: str, unit: str, table: dict[str, dict]) -> list[str]:
    """A Markdown table of precision, recall and F1 by tag or label, and a line on those that do not occur."""
    lines = [f"| {title} | {unit} | precision | recall | F1 |", "|---|---:|---:|---:|---:|"]
    shown = [(name, scores) for name, scores in table.items() if scores["support"] or scores["precision"] is not None]
    for name, scores in shown[:_MAX_ROWS]:
        numbers = " | ".join(reports.number(scores[measure]) for measure in ("precision", "recall", "f1"))
        lines.append(f"| {markdown.text(name)} | {scores['support']:,} | {numbers} |")
    if len(shown) > _MAX_ROWS:
        lines += ["", f"{len(shown) - _MAX_ROWS:,} rarer ones are in `result.json`."]
    absent = [markdown.text(name) for name, scores in table.items() if not scores["support"]]
    if absent:
        names = ", ".join(absent[:_MAX_ABSENT])
        more = f" and {len(absent) - _MAX_ABSENT:,} more" if len(absent) > _MAX_ABSENT else ""
        mean = ", so left out of the mean" if title == "tag" else ""
        lines += ["", f"Without {unit} in the validation sentences{mean}: {names}{more}."]
    return lines


def _mistake_lines(details: Details) -> list[str]:
    mistakes = worst_mistakes(details)
    if not mistakes:
        return []
    lines = ["## Mistakes", "", "The wrong tags with the highest probabilities, at most one of each sentence:", ""]
    for each in mistakes:
        i, position = each["sentence"], each["position"]
        predicted, right = (markdown.text(tags[i][position]) for tags in (details.predicted, details.expected))
        lines.append(
            f"- predicted *{predicted}* with {percent(each['probability'])}, true tag *{right}*: "
            f"“{_marked(details.tokens[i], position)}”"
        )
    return [*lines, ""]


def _marked(tokens, position: int) -> str:
    """A sentence, or the part of it around a token, with this token in bold letters."""
    start, end = max(0, position - _NUM_AROUND), position + _NUM_AROUND + 1
    words = [markdown.escaped(markdown.shorter(word)) for word in tokens[start:end]]
    words[position - start] = f"**{words[position - start]}**"
    return markdown.isolated(" ".join(["..."] * (start > 0) + words + ["..."] * (end < len(tokens))))


def _data_lines(result: RunResult, details: Details) -> list[str]:
    parts = {"train": "training", "valid": "validation", "test": "test"}
    counts = ", ".join(f"{rows:,} {parts[name]} sentences" for name, rows in result.rows.items())
    lines = [
        "## Data",
        "",
        f"- {counts}; {details.num_training_tokens:,} training tokens; {len(result.about['classes']):,} tags.",
    ]
    lines += reports.note_lines(result)
    if details.tokenizers:
        others = ", ".join(
            f"{name} {percent(share)}" for name, share in details.tokenizers.items() if name != details.tokenizer
        )
        lines.append(
            f"- The exported model divides a text into tokens with `--tokenizer {details.tokenizer}`, which gives "
            f"{percent(details.tokenizers[details.tokenizer])} of the training tokens from the raw text"
            f"{f' ({others})' if others else ''}."
        )
    window = result.about["window"]
    return [
        *lines,
        f"- The network reads at most {window['max_tokens']:,} tokens at once: longer sentences are divided. "
        f"Texts are cut after {window['max_bytes']:,} bytes.",
        "",
    ]


def _use_commands(result: RunResult) -> list[str]:
    flags = reports.model_flags(result)
    return [
        reports.predict_command(result),
        f"{shell_command()} predict {result.task} --input FILE --output FILE.conllu{flags}",
        f"{shell_command()} evaluate {result.task} --data FILE{flags}",
    ]


def _summary_of_baseline(baseline: dict) -> str:
    if "span_f1" in baseline:
        score, difference = score_of(baseline, "span_f1").number(), score_of(baseline, "span_f1_difference")
        return f"F1 of spans {score}; this model {difference.points()} points"
    score, difference = score_of(baseline, "accuracy").percent(), score_of(baseline, "accuracy_difference")
    return f"accuracy {score}; this model {difference.points()} points"


def _terminal_table(title: str, unit: str, table: dict[str, dict]) -> list[str]:
    width = min(_MAX_NAME, max(18, *map(cell_len, table))) + 2 if table else 20
    lines = [f"  {title:<{width}}{unit:>10}{'precision':>12}{'recall':>12}{'F1':>12}"]
    for name, scores in table.items():
        numbers = (
            "-" if scores[measure] is None else f"{scores[measure]:.4f}" for measure in ("precision", "recall", "f1")
        )
        cells = "".join(f"{number:>12}" for number in numbers)
        lines.append(f"  {terminal.padded(name, width)}{scores['support']:>10,}{cells}")
    return lines
