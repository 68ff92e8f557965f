import json
import re

import nbformat
import numpy as np
import pytest

from pipelines.learn import notebook, page
from pipelines.learn.format import WIDTH, format_lesson
from pipelines.learn.memory import Measured, measure, memory
from pipelines.learn.memory_networks import NETWORKS
from pipelines.learn.steps import as_json

INF = np.inf
MEASURED = Measured(
    "recall",
    (5, 10, 20),
    ("lstm", "gru", "transformer"),
    400,
    # [networks, distances, seeds]
    np.array(
        [
            [[100, 150, INF], [400, INF, INF], [INF, INF, INF]],
            [[INF, INF, INF], [INF, INF, INF], [INF, INF, INF]],
            [[50, 25, 75], [50, 50, 50], [100, 100, INF]],
        ]
    ),
    np.array([5124, 4900, 5188]),
)


def test_the_table_has_medians_and_says_what_was_not_learned():
    lesson = memory(MEASURED)
    steps, learned = lesson.steps[2].values
    np.testing.assert_array_equal(steps.numbers, [[150, INF, INF], [INF, INF, INF], [50, 50, 100]])
    np.testing.assert_array_equal(learned.numbers, [[2, 1, 0], [0, 0, 0], [3, 3, 2]])
    lines = format_lesson(lesson)
    assert re.search(r"steps = LSTM +\[ 150  >400  >400\]", "\n".join(lines))
    assert lesson.steps[2].text == ">400: not within 400 steps." and max(map(len, lines)) <= WIDTH
    assert as_json(lesson)["steps"][2]["values"][0]["numbers"][0] == [150, None, None]


def test_the_sentences_follow_from_the_numbers():
    text = memory(MEASURED).steps[-1].text
    assert "LSTM: 150 steps at n = 5, not within 400 steps at n = 10, 20. " in text
    assert "GRU: not within 400 steps at n = 5, 10, 20. " in text
    assert "Transformer: 50 steps at n = 5, 100 at n = 20: 2.0 times as many for 4.0 times the distance. " in text
    assert text.endswith(
        "At n = 20, 1 of 1 with a path of length 1 learned it and 0 of 2 with a path of length n learned it."
    )


def test_the_figure_marks_what_was_not_learned_above_the_limit():
    (figure,) = memory(MEASURED).steps[2].figures
    rows = figure.data["steps"]
    assert (rows["height"][~rows["learned"]] > 400).all() and (rows["height"][rows["learned"]] <= 400).all()
    assert rows["steps"].tolist()[:3] == ["150", "not within 400", "not within 400"]
    unlearned = rows[~rows["learned"]]
    assert not unlearned.duplicated(["distance", "height"]).any(), "no cross covers another"
    assert figure.png().startswith(b"\x89PNG")


@pytest.mark.long
def test_it_is_written_as_a_page_and_as_a_notebook_with_the_figure():
    lesson = memory(MEASURED)
    assert "step-3-memory" in page.render(lesson) and "not within 400" in page.render(lesson)
    made = nbformat.reads(notebook.render(lesson), as_version=4)
    nbformat.validate(made)
    sources = [cell.source for cell in made.cells]
    assert sum("data:image/png;base64," in source for source in sources) == 1
    assert not any("## Questions" in source for source in sources)


def test_one_seed_and_one_distance_are_enough():
    lesson = memory(Measured("copy", (5,), ("simple",), 100, np.array([[[25.0]]]), np.array([4804])))
    assert lesson.steps[2].title == "Steps until it is learned: seed 1" and lesson.steps[2].text == ""
    assert (
        lesson.steps[-1].text == "simple RNN: 25 steps at n = 5. At n = 5, 1 of 1 with a path of length n learned it."
    )


@pytest.mark.long
def test_a_measurement_has_a_place_for_each_training():
    measured = measure("adding", (2, 4), ("simple",), 3, 25)
    assert measured.steps.shape == (1, 2, 3) and set(measured.steps.flat) <= {25.0, INF}
    assert measured.labels == (NETWORKS["simple"].label,) and (measured.parameters > 4000).all()


@pytest.mark.long
def test_the_command_prints_and_writes(tmp_path, run_main):
    flags = ["learn", "memory", "--task", "copy", "--distances", "5,3", "--networks", "transformer"]
    process = run_main(tmp_path, *flags)
    assert process.returncode == 0 and process.stderr == ""
    numbers = json.loads(run_main(tmp_path, *flags, "--json").stdout)["steps"][2]["values"][0]
    assert numbers["columns"] == ["n=3", "n=5"] and all(numbers["numbers"][0])
    row = next(line for line in process.stdout.splitlines() if "steps = Transformer" in line)
    assert [float(each) for each in re.findall(r"\d+", row)[:2]] == numbers["numbers"][0]
    process = run_main(tmp_path, *flags, "--output", "memory.html")
    assert process.stdout == "page: memory.html\n" and (tmp_path / "memory.html").stat().st_size > 10_000
