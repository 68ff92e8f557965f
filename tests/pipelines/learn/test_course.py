import dataclasses

import pytest

from pipelines.export.exported import versions
from pipelines.inspect.text_views import Gates
from pipelines.learn import course as course_module
from pipelines.learn.course import MODELS, Course, Small, command_of
from pipelines.learn.texts import TEXTS
from pipelines.task import TASKS

TINY = Small("language-model", "days", {"model": "ngram", "documents": "line", "tokenizer": "word", "order": 2})


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A course whose only model is trained in a second."""
    monkeypatch.setattr(course_module, "MODELS", {"lesson-1": TINY})
    monkeypatch.setattr(course_module, "TEXTS", {"days": dataclasses.replace(TEXTS["days"], num_lines=40)})
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))
    return Course(tmp_path / "runs", tmp_path / "saved_models")


@pytest.mark.parametrize("model", MODELS)
def test_the_settings_of_every_model_are_settings_of_its_task(model):
    small = MODELS[model]
    config = dataclasses.replace(TASKS[small.task].config_class()(), **small.settings)
    assert vars(config).items() >= small.settings.items()


@pytest.mark.long
def test_a_model_is_trained_once_and_again_if_its_settings_change(tiny, monkeypatch, capsys):
    assert tiny.trained("lesson-1") == "lesson-1" and "training lesson-1" in capsys.readouterr().err
    assert tiny.trained("lesson-1") == "lesson-1"
    output = capsys.readouterr()
    assert output.out == "" and "training" not in output.err
    assert versions(tiny.saved_models / "lesson-1") == [1]
    changed = dataclasses.replace(TINY, settings=TINY.settings | {"order": 3})
    monkeypatch.setattr(course_module, "MODELS", {"lesson-1": changed})
    tiny.trained("lesson-1")
    assert versions(tiny.saved_models / "lesson-1") == [1, 2]
    step = tiny.printed("Next", "lesson-1", texts=("day quiet",), next=2)
    assert "sun" in "\n".join(step.picture)
    assert step.command.endswith(
        f'predict language-model "day quiet" --name lesson-1 --saved-models {tiny.saved_models} --next 2'
    )


def test_each_seed_has_a_text_and_a_name_of_its_own(tiny):
    other = dataclasses.replace(tiny, seed=2)
    assert (tiny.name("lesson-1"), other.name("lesson-1")) == ("lesson-1", "lesson-1-seed-2")
    paths = [each.write_text("days") for each in (tiny, other, tiny)]
    assert paths[0] == paths[2] != paths[1] and paths[0].read_text() != paths[1].read_text()
    assert paths[0].read_text().splitlines() == course_module.TEXTS["days"].lines(1)


def test_a_command_has_what_differs_from_the_defaults():
    assert command_of(["inspect", "gates"], Gates(text="a b")) == 'python main.py inspect gates "a b"'
    view = Gates(text="a b", models=("x", "y"), top=3, over_seeds=True)
    assert command_of(["inspect", "gates"], view).endswith('inspect gates "a b" --models x y --top 3 --over-seeds')
