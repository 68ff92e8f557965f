import importlib
import inspect

from pipelines.learn.course import MODELS
from pipelines.learn.lessons.registry import LESSONS
from pipelines.learn.texts import TEXTS


def test_every_lesson_has_a_module_and_models_that_exist():
    assert list(LESSONS) == list(range(1, 11))
    for number, (name, line) in LESSONS.items():
        module = importlib.import_module(f"pipelines.learn.lessons.{name}")
        assert f"Lesson {number}: " in module.__doc__ and callable(module.lesson) and line
        used = {value for value in vars(module).values() if isinstance(value, str) and value in MODELS}
        assert used and f'"lesson {number}: ' in inspect.getsource(module)
    assert {model.text for model in MODELS.values()} == set(TEXTS)
