import pytest

from tests.pipelines.inspect.exports import assert_page, assert_refused


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("agreement", "to be or", "--candidates", "not", "be"), "after 'or' P(not) = "),
        (("memory", "--tokens", "500", "--back", "1", "2"), "small/1, layer 2 cell, random weights: memory of"),
        (
            ("gradients", "--window", "8", "--places", "4", "--untrained", "--forget-bias", "0", "3"),
            "small/1, untrained, forget bias 3, layer 1 hidden: ",
        ),
    ],
)
def test_each_writes_a_page(exports, tmp_path, capsys, arguments, expected):
    flags = ("--models", "small", "--saved-models", exports)
    assert expected in assert_page(capsys, tmp_path / "page.html", *arguments, *flags)


def test_the_accuracy_of_agreement(exports, tmp_path, capsys, monkeypatch):
    from pipelines.inspect import sentences

    few = sentences.test_sentences(4, seed=1, distances=(0, 1, 2))
    monkeypatch.setattr(sentences, "test_sentences", lambda *arguments, **options: few)
    path = tmp_path / "page.html"
    flags = ("--grammar", "--models", "small", "--saved-models", exports)
    assert " sentences of the grammar" in assert_page(capsys, path, "agreement", *flags)
    assert 'id="agreement-attractors-grammar"' in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("agreement", " ", "--models", "small"), "give a text of at least one word"),
        (("agreement", "--models", "small", "--treebank", "absent"), "--treebank absent: no such file"),
        (("memory", "--models", "attentive"), "so it has no states"),
        (("memory", "--models", "small", "--tokens", "1"), "--tokens 1: it must be from 500"),
        (("memory", "--models", "small", "--back", "0"), "--back: give steps from 1 to 200"),
        (("memory", "--models", "small", "--data", "absent"), "--data absent: no such file"),
        (("gradients", "--models", "attentive"), "carries no state from token to token"),
        (("gradients", "--models", "small", "--window", "2"), "--window 2: it must be from 4"),
        (("gradients", "--models", "small", "--places", "0"), "--places 0: it must be from 1"),
    ],
)
def test_mistakes_are_one_line(exports, capsys, arguments, message):
    assert_refused(capsys, message, *arguments, "--saved-models", exports)
