import pytest

from pipelines.commands import compared
from pipelines.export.exported import Exported
from pipelines.support.answers import Answers
from pipelines.support.errors import UserError
from tests.pipelines.small_runs import write_export, write_predictions, write_run


@pytest.fixture
def root(tmp_path):
    for name in ("one", "two"):
        folder = write_run(tmp_path / "runs", name, run=f"number {name}", model=f"spam/{len(name) - 2}")
        write_predictions(folder, 3)
    write_export(tmp_path / "saved", "spam", 1, run="number one")
    write_export(tmp_path / "saved", "spam", 2, run="gone")
    return tmp_path


def test_a_run_is_found_by_its_name_or_by_its_export(root):
    for name in ("one", "classification/one", "spam/1", str(root / "saved" / "spam" / "1")):
        assert compared.find_run(name, root / "runs", root / "saved").name == "one"
    with pytest.raises(UserError, match="spam/2: the run that made it is not in .*--data"):
        compared.find_run("spam", root / "runs", root / "saved")


def test_an_export_is_found_by_its_name_or_by_its_run(root):
    for name, version in (("spam", 2), ("spam/1", 1), ("one", 1), ("classification/two", 1)):
        assert compared.find_export(name, root / "runs", root / "saved").version == version
    write_run(root / "runs", "below", model="", export="")
    with pytest.raises(UserError, match="classification/below: it is finished and has no export"):
        compared.find_export("below", root / "runs", root / "saved")
    with pytest.raises(UserError, match="no run 'spum' in .*did you mean|no run 'spum'.*spam"):
        compared.find_export("spum", root / "runs", root / "saved")


def test_other_rows_and_other_right_answers_are_refused():
    exports = [Exported(name, 1, None) for name in "ab"]
    answers = [Answers(["t"], ["x"], ["x"]), Answers(["t", "u"], ["x", "y"], ["x", "y"])]
    with pytest.raises(
        UserError, match=r"t.csv: the models read other rows \\(a/1 reads 1 of them and b/1 2\\)".replace("\\\\", "\\")
    ):
        compared.require_same_questions(exports, answers, "t.csv")
    answers[0] = Answers(["t", "u"], ["x", "z"], ["x", "y"])
    with pytest.raises(UserError, match="other answers, such as 'z' and 'y' for one text"):
        compared.require_same_questions(exports, answers, "t.csv")


def test_kept_predictions_are_in_the_order_of_their_texts(root):
    run = compared.find_run("one", root / "runs", root / "saved")
    kept = compared.kept(run)
    assert len(kept.texts) == 40 and kept.given.count("ham") == 3 and set(kept.scores) == {"0.7500"}
