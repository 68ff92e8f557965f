import pytest

from tests.pipelines.inspect.exports import assert_page, assert_refused, run

TEXT = "to be or not"


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("gates", TEXT, "--models", "small", "--top", "3"),
        ("states", TEXT, "--models", "small", "--surface", "o"),
        ("attention", TEXT, "--models", "attentive"),
    ],
)
def test_each_writes_a_page(exports, tmp_path, capsys, arguments):
    assert_page(capsys, tmp_path / "page.html", *arguments, "--saved-models", exports)


@pytest.mark.long
def test_gates_by_part_of_speech(exports, tmp_path, capsys):
    treebank = tmp_path / "small.conllu"
    rows = (("1", "to", "PART"), ("2", "be", "VERB"))
    sentence = "\n".join("\t".join([number, word, "_", tag, *["_"] * 6]) for number, word, tag in rows)
    treebank.write_text(f"{sentence}\n\n" * 25)
    path = tmp_path / "page.html"
    flags = ("--models", "small", "--saved-models", exports, "--treebank", treebank)
    assert_page(capsys, path, "gates", TEXT, *flags)
    assert "by part of speech" in path.read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gates", "x", "--models", "attentive"), "attentive/1 has attention, not gates: use `inspect attention`"),
        (("gates", "x", "--models", "counts"), "counts/1 has no trace"),
        (("gates", "x", "--models", "small", "--unit", "99"), "the layers of small/1 have the units 0 to 15"),
        (("gates", "x", "--models", "small", "--top", "0"), "--top 0: it must be from 1"),
        (("gates", "x", "--models", "small", "--treebank", "absent"), "--treebank absent: no such file"),
        (("gates", "x", "--models", "small", "--sentences", "0"), "--sentences 0: it must be at least 1"),
        (("states", "x", "--models", "small"), "fewer than three tokens"),
        (("states", "to be", "--models", "small", "--data", "absent"), "--data absent: no such file"),
        (("attention", "x", "--models", "small"), "small/1 has no attention"),
    ],
)
def test_mistakes_are_one_line(exports, capsys, arguments, message):
    assert_refused(capsys, message, *arguments, "--saved-models", exports)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "--run is missing"),
        (("x", "--run", "absent"), "no run 'absent'"),
        (("x", "--run", "absent", "--top", "0"), "--top 0: it must be from 1"),
    ],
)
def test_training_needs_a_run(capsys, arguments, message):
    assert_refused(capsys, message, "training", *arguments)


@pytest.mark.long
def test_several_models_are_on_one_page(exports, tmp_path, capsys):
    path = tmp_path / "page.html"
    assert_page(capsys, path, "gates", TEXT, "--models", "small", "small/1", "--saved-models", exports)
    assert 'id="gates-1"' in path.read_text() and 'id="gates-2"' in path.read_text()


@pytest.mark.long
def test_a_model_without_attention_stands_beside_others(exports, tmp_path, capsys):
    path = tmp_path / "page.html"
    flags = ("--models", "small", "attentive", "--saved-models", exports)
    assert "small/1 has no attention\n" in assert_page(capsys, path, "attention", TEXT, *flags)
    assert 'id="attention-2"' in path.read_text() and 'id="attention-1"' not in path.read_text()
    assert_refused(
        capsys, "none of the models has attention", "attention", TEXT, "--models", "small", "small/1", *flags[3:]
    )


@pytest.mark.long
def test_a_text_that_is_cut_is_named(exports, tmp_path, capsys):
    arguments = ("attention", "a" * 99, "--models", "attentive", "--saved-models", exports)
    _, printed = run(capsys, *arguments, "--output", tmp_path / "page.html")
    assert printed.out.startswith("attentive/1 reads only a part of the text")  # above the lines about the heads
