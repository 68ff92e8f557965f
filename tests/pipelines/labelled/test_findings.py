import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled import findings
from tests.command_line import ROOT
from tests.pipelines.made_sentences import sentences

DATA = ROOT.parent / "shared" / "data" / "classification"


def clean(count=1200, seed=0):
    return [(text, ("weather", "sports")[row % 2]) for row, text in enumerate(sentences(count, seed))]


def write(path, rows):
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return str(path)


def examined(data, **options):
    return findings.examined(ClassificationConfig(data=data, **options).resolve())


def names(data, **options):
    return [finding.name for finding in examined(data, **options).findings]


def test_clean_texts_have_no_findings(tmp_path):
    data, valid = write(tmp_path / "a.csv", clean()), write(tmp_path / "b.csv", clean(200, seed=9))
    assert names(data) == [] == names(data, valid=valid)


def test_what_is_planted_is_named(tmp_path):
    rows = clean()
    planted = [
        *((f"a note {i} on this", "Sports") for i in range(12)),  # near-equal labels
        *((f"a remark {i} on that", "n/a") for i in range(12)),
        *((f"a word {i} on rain", "wether") for i in range(10)),
        *((text, "sports" if label == "weather" else "weather") for text, label in rows[:10]),
        *rows[20:80],
        *((f"a caf\u00c3\u00a9 {i}", "sports") for i in range(2)),
        *((f"1234 5678 9012 3456 7890 1234 5678 9012 {i}", "sports") for i in range(2)),
        *(("", "sports") for _ in range(2)),
    ]
    by_name = {each.name: each for each in examined(write(tmp_path / "a.csv", [*rows, *planted])).findings}
    assert set(by_name) - {"rare-labels"} == {
        "near-equal-labels",
        "missing-labels",
        "misspelled-label",
        "contradicting",
        "repeated",
        "mojibake",
        "few-letters",
        "left-out",
    }
    assert (
        by_name["near-equal-labels"].remedy == "--fold-labels"
        and "--missing-labels=n/a" in by_name["missing-labels"].remedy
    )
    assert "'wether' (10 texts) is nearly 'weather'" in by_name["misspelled-label"].text
    assert "sports 1" in by_name["contradicting"].examples[0]
    flags = {"fold_labels": True, "missing_labels": "n/a"}
    mended = names(str(tmp_path / "a.csv"), **flags)
    assert not {"near-equal-labels", "missing-labels"} & set(mended)


def test_leaks_and_few_texts(tmp_path):
    rows = clean()
    data, valid = write(tmp_path / "a.csv", rows), write(tmp_path / "b.csv", [*rows[:5], *clean(20, seed=9)])
    leak, few = examined(data, valid=valid).findings
    assert leak.name == "leak" and "5 texts of --valid" in leak.text
    assert few.name == "few-to-validate" and "--valid-fraction" in few.remedy


@pytest.mark.parametrize(
    ("of_swapped", "expected"), [("same", ["both-orders"]), ("other", [])], ids=["alike", "directed"]
)
def test_pairs_in_both_orders_with_one_label_may_be_symmetric(tmp_path, of_swapped, expected):
    pairs = [(f"the left one {i}", f"a right one {i * 7}", ("same", "other")[i % 2]) for i in range(400)]
    swapped = [(b, a, label if of_swapped == "same" else of_swapped) for a, b, label in pairs[:100:2]]
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,label\n" + "".join(f"{','.join(row)}\n" for row in [*pairs, *swapped]))
    found = examined(str(path), pair_columns="a,b").findings
    assert [each.name for each in found if each.name == "both-orders"] == expected
    if expected:
        assert found[0].text == "50 pairs of texts are there in both orders, 100 % with one label"
        assert "--symmetric" in found[0].remedy
    assert "both-orders" not in names(str(path), pair_columns="a,b", symmetric=True)


def test_the_label_that_counts_as_positive_is_the_more_frequent_one(tmp_path):
    def data(rare, frequent):
        rows = [(text, rare if row % 4 == 0 else frequent) for row, (text, _) in enumerate(clean(1300))]
        return write(tmp_path / f"{rare}.csv", rows)

    (found,) = examined(data("bad one", "fine")).findings
    assert found.name == "positive" and "those of 'fine'" in found.text and "--positive 'bad one'" in found.remedy
    assert names(data("spam", "ham")) == [] and names(data("bad one", "fine"), positive="fine") == []


def test_a_rare_spelling_is_not_missing_in_the_validation_texts(tmp_path):
    rows = [
        (text, "sports" if row % 2 else "SPORTS" if row == 4 else "weather") for row, (text, _) in enumerate(clean())
    ]
    assert "near-equal-labels" in (found := names(write(tmp_path / "a.csv", rows))) and "not-in-validation" not in found


def test_one_label_of_nearly_all_texts(tmp_path):
    rows = [(text, "a" if row < 12 else "b") for row, (text, _) in enumerate(clean(1300))]
    assert names(write(tmp_path / "a.csv", rows), positive="a") == ["one-label"]


def test_labels_of_data_that_training_refuses_are_looked_at_too(tmp_path):
    found = examined(write(tmp_path / "a.csv", [("x", "Yes"), ("y", "yes")]))
    assert "refusal" in found.facts and [each.name for each in found.findings] == ["near-equal-labels"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sst5", ["mojibake"]),
        ("banking77", []),
        ("clinc150", []),
        ("trec", []),
        ("subj", []),
        ("mr", []),
        ("hotel_zh", []),
    ],
)
def test_real_texts(name, expected):
    # In sst5, letters with accents were read in a wrong encoding, such as those of "café".
    if not (DATA / f"{name}.csv.xz").is_file():
        pytest.skip("the corpus is not here")
    assert names(str(DATA / f"{name}.csv.xz")) == expected
