import json

import pytest

from pipelines.learn.lessons import neuron
from pipelines.learn.notebook import render


@pytest.mark.long
def test_every_cell_of_a_notebook_runs(course, capsys):
    lesson = neuron.lesson(course)
    document = json.loads(render(lesson))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    commands = [step for step in lesson.steps if step.command]
    names: dict = {}
    codes = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert len(codes) == 1 + len(commands)
    exec(codes[0]["source"], names)
    for cell, step in zip(codes[1:], commands, strict=True):
        capsys.readouterr()
        result = eval(cell["source"], names)
        kinds = [output["output_type"] for output in cell["outputs"]]
        if step.figures:
            assert kinds == ["display_data"] and "image/png" in cell["outputs"][0]["data"]
            assert result.to_dict()["datasets"]
        else:
            assert kinds == ["stream"] and cell["outputs"][0]["text"] == capsys.readouterr().out
    text = "".join(cell["source"] for cell in document["cells"] if cell["cell_type"] == "markdown")
    assert all(question.text in text for question in lesson.questions) and "learn check lesson-1 ANSWER" in text
