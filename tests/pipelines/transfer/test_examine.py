from pipelines.transfer import examine
from pipelines.transfer.config import TransferConfig


def test_labels_are_polarities_and_no_time_is_forecast(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"word {i},{i % 2}\n" for i in range(60)))
    found = examine.examine(TransferConfig(encoder="any", data=str(path)).resolve())
    assert set(found.facts["training"]["classes"]) == {"negative", "positive"}
    assert found.facts["training"]["expected"] is None
    assert not any("on two processors" in line for line in found.lines)
