from pipelines.data import sample_text, sources
from pipelines.task import TASKS


def test_the_sample_is_the_help_of_python_itself():
    text = sample_text.sample_text()
    assert len(text) > 300_000 and 'The "assert" statement' in text.replace("\n", " ")


def test_the_version_changes_with_the_sample(monkeypatch):
    version = sample_text.version()
    assert f"{len(sample_text.sample_text()):,} characters" in version
    monkeypatch.setattr(sample_text, "sample_text", lambda: "another text")
    assert sample_text.version() != version


def test_the_version_is_the_fingerprint_of_the_task():
    assert sources.fingerprint(None, TASKS["char-lm"]) == sample_text.version()
    assert sources.fingerprint(None, TASKS["sentiment"]) != sample_text.version()
