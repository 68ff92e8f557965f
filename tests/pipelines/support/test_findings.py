from pipelines.support.findings import Examined, Finding, examples, fact_lines, finding_lines, is_worth, percent


def test_one_row_in_a_thousand_is_worth_naming():
    assert is_worth(1, 1000) and is_worth(1, 3) and not is_worth(1, 1001) and not is_worth(0, 0)
    assert is_worth(5, 100, share=0.05) and not is_worth(4, 100, share=0.05)


def test_examples_are_few_and_short():
    shown = examples((f"a.txt:{number}", "word \n" * 100) for number in range(9))
    assert len(shown) == 3 and shown[0].startswith("a.txt:0: word word") and max(map(len, shown)) < 110
    assert "\n" not in shown[0]


def test_the_terminal_and_the_json_have_the_same_findings():
    found = [Finding("copies", "2 pairs are copies", "--target-column", ("a.tsv, pair 1: x | x",)), Finding("b", "c")]
    lines = [line.strip() for line in finding_lines(found) if line]
    assert lines == ["findings", "2 pairs are copies", "a.tsv, pair 1: x | x", "mended by: --target-column", "c"]
    document = Examined({"rows": 3}, [], found).to_json()
    assert document["rows"] == 3 and [each["name"] for each in document["findings"]] == ["copies", "b"]
    assert document["findings"][0]["remedy"] == "--target-column" and document["findings"][1]["remedy"] == ""


def test_nothing_found_is_said():
    assert "none" in finding_lines([])[-1]


def test_numbers_and_titles():
    assert percent(1, 3) == "33.3 %" and percent(1, 1000) == "0.1 %"
    assert fact_lines({"a": "1", "rows": "2"}) == [f"  {'a':<16}1", f"  {'rows':<16}2"]
