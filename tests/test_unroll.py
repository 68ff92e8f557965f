"""The Python interface as users meet it: its import, and the documents about it."""

import contextlib
import re
import subprocess
import sys

import pytest

import unroll
from pipelines.data import sample_pairs, sample_reviews
from pipelines.support.version import VERSION
from tests.command_line import ROOT

HEAVY = {"tensorflow", "keras", "pandas", "numpy", "sklearn", "matplotlib", "tyro"}


def test_the_import_is_light(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import unroll; print(sorted({HEAVY} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert process.stdout == "[]\n", process.stderr


def test_the_names_are_listed_and_there():
    assert set(unroll.__all__) <= set(dir(unroll))
    for name in unroll.__all__:
        assert getattr(unroll, name).__name__ == name
    assert unroll.__version__ == VERSION
    with pytest.raises(AttributeError, match="no attribute 'Textclassifier'"):
        unroll.Textclassifier  # noqa: B018


def test_the_module_is_the_command_line():
    process = subprocess.run([sys.executable, "-m", "unroll", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert process.stdout == f"Unroll {VERSION}\n", process.stderr


def code_blocks(name):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def train_small_models(patch):
    """The trainings of the documents are small; exports are not checked in a fresh process."""
    from pipelines.classification.config import PRESETS
    from pipelines.export import saved_model
    from pipelines.language_model.config import LanguageModelConfig
    from pipelines.translation.config import TranslationConfig

    patch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
    patch.setattr(saved_model, "_verify", lambda *arguments: None)
    patch.setitem(PRESETS["linear", "quick"], "max_characters", 0)
    patch.setitem(LanguageModelConfig.DEFAULT_MODELS, "quick", "feedforward")
    patch.setitem(TranslationConfig.DEFAULT_MODELS, "quick", "single-rnn")


# A cell before those of the notebook, whose kernel is a process of its own.
FIRST_CELL = """
import pytest
from tests.test_unroll import train_small_models

train_small_models(pytest.MonkeyPatch())
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """The files that the documents read, in the current folder."""
    import pandas as pd

    train_small_models(monkeypatch)
    texts, labels, *_ = sample_reviews.generate(200)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(tmp_path / "reviews.csv", index=False)
    (tmp_path / "story.txt").write_text("Once upon a time there was a king who had three daughters. " * 200)
    pairs = zip(*sample_pairs.generate(300), strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.exhaustive  # takes three minutes; tests/pipelines/python tests the estimators
def test_the_code_in_the_document_runs(data, capsys):
    blocks = code_blocks("docs/python.md")
    assert len(blocks) > 5
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (data / "saved_models" / "reviews" / "1" / "saved_model.pb").is_file()
    assert "it must be one of" in capsys.readouterr().out


@pytest.mark.long
def test_the_code_in_the_readme_runs(data):
    (data / "docs").symlink_to(ROOT / "docs")
    (block,) = code_blocks("README.md")
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.long
def test_the_notebook_runs(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "docs" / "python.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # committed without outputs: they would go stale
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST_CELL))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "saved_models" / "messages" / "1" / "saved_model.pb").is_file()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "texts to train on" in printed and "Traceback" not in printed
