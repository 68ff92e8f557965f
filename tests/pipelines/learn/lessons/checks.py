"""What every lesson has."""

from pipelines.learn.format import WIDTH, format_lesson
from pipelines.learn.steps import Lesson


def checked(lesson: Lesson, number: int) -> Lesson:
    """Returns the lesson. It has a question, equations, what a trained model computes, and answers that are right."""
    assert lesson.title.startswith(f"lesson {number}: ") and lesson.question
    assert any(step.equation for step in lesson.steps) and any(step.command for step in lesson.steps)
    assert len(lesson.questions) == 3 and lesson.sources
    for question in lesson.questions:
        answer = question.answer[0] if isinstance(question.answer, tuple) else repr(question.answer)
        assert question.is_right(answer) and question.because
    lines = format_lesson(lesson)
    printed = {line for step in lesson.steps for line in (*step.picture, f"$ {step.command}")}
    assert all(len(line) <= WIDTH for line in lines if line.strip() not in {each.strip() for each in printed})
    return lesson


def printed(lesson: Lesson, start: str) -> str:
    """What the step whose title starts so has printed."""
    (step,) = (step for step in lesson.steps if step.title.startswith(start))
    return "\n".join((*step.picture, step.text))
