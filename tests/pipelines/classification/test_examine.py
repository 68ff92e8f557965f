from pipelines.classification import examine
from pipelines.classification.config import ClassificationConfig


def test_the_time_and_the_memory_are_those_of_the_forecast(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"word {i},{'ab'[i % 2]}\n" for i in range(60)))
    found = examine.examine(ClassificationConfig(data=str(path)).resolve())
    assert found.facts["training"]["expected"]["memory"] > 10**8
    assert any("on two processors" in line for line in found.lines)
