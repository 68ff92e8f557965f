import nbformat
import pytest
from nbclient import NotebookClient

from pipelines.learn.lessons import neuron
from pipelines.learn.notebook import render
from tests.command_line import ROOT


@pytest.mark.long
def test_every_cell_of_a_notebook_runs_and_gives_what_the_notebook_had(course, tmp_path, monkeypatch):
    lesson = neuron.lesson(course)
    notebook = nbformat.reads(render(lesson), as_version=4)
    nbformat.validate(notebook)
    commands = [step for step in lesson.steps if step.command]
    had = [cell.copy() for cell in notebook.cells if cell.cell_type == "code"]
    assert len(had) == 1 + len(commands)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    now = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for step, before, after in zip(commands, had[1:], now[1:], strict=True):
        printed = "".join(each.text for each in after.outputs if each.output_type == "stream" and each.name == "stdout")
        if step.figures:
            assert "image/png" in before.outputs[0].data
            assert any("image/png" in each.get("data", {}) for each in after.outputs)
        else:
            assert printed == before.outputs[0].text
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert all(question.text in text for question in lesson.questions) and "learn check lesson-1 ANSWER" in text
