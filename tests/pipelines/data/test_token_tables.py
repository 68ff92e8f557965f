import pandas as pd
import pytest

from pipelines.data import tagged_sentences, token_tables
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

# The layout of Kaggle's "Annotated Corpus for Named Entity Recognition".
KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,Café,NNP,B-org
,of,IN,O
,",",",",O
Sentence: 2,Iran,NNP,B-geo
,.,.,O
"""
TOKENS = [["Café", "of", ","], ["Iran", "."]]
TAGS = [["B-org", "O", "O"], ["B-geo", "O"]]
ROWS = [
    {"sentence_id": sentence, "token": token, "ner_tag": tag, "length": len(token)}
    for sentence, (tokens, tags) in enumerate(zip(TOKENS, TAGS, strict=True))
    for token, tag in zip(tokens, tags, strict=True)
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text, encoding="utf-8"):
    with open(name, "wb") as file:
        file.write(text.encode(encoding))


def read(name, **options):
    return tagged_sentences.read(name, TokenOptions(**options))["train"]


def test_the_cell_of_a_sentence_may_be_in_its_first_row_only():
    write("ner_dataset.csv", KAGGLE, "cp1252")
    with pytest.raises(UserError, match="give its encoding with --encoding cp1252"):
        read("ner_dataset.csv")
    found = read("ner_dataset.csv", encoding="cp1252")
    assert found.tokens == TOKENS and found.tags == TAGS and found.texts[0] == "Café of ," and found.dropped == {}
    assert read("ner_dataset.csv", encoding="cp1252", column="POS").tags == [["NNP", "IN", ","], ["NNP", "."]]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.xlsx", "a.parquet", "semicolons.csv"])
def test_tables_of_all_kinds(name):
    frame = pd.DataFrame(ROWS)
    if name.endswith(".xlsx"):
        frame.to_excel(name, index=False)
    elif name.endswith(".parquet"):
        frame.to_parquet(name)
    else:
        frame.to_csv(name, index=False, sep={"a.csv": ",", "a.tsv": "\t"}.get(name, ";"))
    found = read(name)
    assert found.tokens == TOKENS and found.tags == TAGS and found.documents == [0, 0]
    assert read(name, column="4", token_column="token").tags[0] == ["4", "2", "1"]


def test_documents_and_rows_without_a_token():
    write("a.csv", "doc,sent,word,tag\nx,1,a,O\nx,1,,O\nx,2,b,B-X\ny,2,c,\ny,3,d,O\n")
    found = read("a.csv")
    assert found.tokens == [["a"], ["b"], ["c"], ["d"]] and found.documents == [0, 0, 1, 1]
    assert found.tags[2] == ["_"] and found.dropped == {"rows without a token": 1}
    write("b.csv", "document,word,tag\nx,a,O\nx,b,O\ny,c,B-X\n")
    assert read("b.csv").tokens == [["a", "b"], ["c"]]


def test_a_table_without_sentences():
    write("a.csv", "word,tag\na,O\nb,B-X\n")
    with pytest.raises(
        UserError, match="a.csv has a token and its tag in each row, and no column that tells sentences"
    ):
        read("a.csv")
    write("a.csv", 'word,tag\na,O\n\n",",B-X\n')
    assert read("a.csv").tokens == [["a"], [","]]
    pd.DataFrame(ROWS).drop(columns="sentence_id").to_excel("a.xlsx", index=False)
    with pytest.raises(
        UserError, match="a.xlsx has a token and its tag in each row, and no column that tells sentences"
    ):
        read("a.xlsx")
    pd.DataFrame({"text": ["a b"], "label": ["x"]}).to_excel("b.xlsx", index=False)
    with pytest.raises(UserError, match="b.xlsx is a table of texts with their labels"):
        read("b.xlsx")
    with pytest.raises(UserError, match="--separator , has no effect: b.xlsx is no text"):
        read("b.xlsx", separator=",")


def test_other_columns_are_named():
    write("a.csv", "sentence,word,tag\n1,a,O\n")
    with pytest.raises(UserError, match="--column 5: a.csv has 3 columns: give"):
        read("a.csv", column="5")


def test_names_of_columns_of_sentences():
    for name in ("Sentence #", "sentence_id", "sent", "Sentence No", "sentence_idx", "doc_id"):
        assert token_tables.has_sentences([name, "word", "tag"])
    assert not token_tables.has_sentences(["id", "word", "tag"])
    assert not token_tables.has_sentences(["sentence", "label"])
