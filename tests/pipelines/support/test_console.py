import sys
from types import SimpleNamespace

from pipelines.support import console


def test_messages_go_to_stderr(capsys):
    console.say("training ...")
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "training ...\n")


def test_a_bar_is_invisible_where_stderr_is_not_a_terminal(capsys):
    with console.bar(10, "rows", "epoch 1", initial=3) as bar:
        bar.update(7)
    assert bar.disable
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal_shows_description_unit_and_position(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.bar(10, "rows", "epoch 1", initial=3) as bar:
        bar.update(4)
        bar.refresh()
        console.say("a message")
    error = capsys.readouterr().err
    assert "epoch 1" in error and "7/10" in error and "rows/s" in error and "a message\n" in error


def test_a_bar_is_visible_in_a_notebook(capsys, monkeypatch):
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with console.bar(10, "rows") as bar:
        assert not bar.disable
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with console.bar(10, "rows") as bar:
        assert bar.disable


def test_silence_holds_back_messages_and_bars(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.silence():
        console.say("training ...")
        with console.bar(10, "rows") as bar:
            assert bar.disable
    console.say("done")
    assert capsys.readouterr().err == "done\n"
    with console.silence(False):
        console.say("training ...")
    assert capsys.readouterr().err == "training ...\n"
