import pandas as pd
import pytest

from pipelines.data import column_guess, labelled_texts, tables
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

TABLE = pd.DataFrame(
    {
        "Nr.": [str(i) for i in range(20)],
        "Anfrage": [f"Wo ist meine Karte Nummer {i}?" for i in range(20)],
        "Absender": [f"person{i}@example.org" for i in range(20)],
        "Thema": ["Karte", "Konto", "Kredit", "Karte"] * 5,
        "Kanal": ["web"] * 20,
        "Stufe": ["1", "2"] * 10,
    }
)
OTHER = "the label may also be in Stufe"


def test_the_longest_text_and_the_fewest_names():
    assert column_guess.text_column(TABLE) == "Anfrage" and column_guess.label_column(TABLE, "Anfrage") == "Thema"
    assert column_guess.flags(TABLE, ("text", "label")) == "--text-column Anfrage --label-column Thema"
    assert (
        column_guess.flags(TABLE.rename(columns={"Anfrage": "Die Anfrage"}), ["text"]) == "--text-column 'Die Anfrage'"
    )
    assert column_guess.label_column(TABLE.drop(columns="Thema"), "Anfrage") == "Stufe"
    assert column_guess.flags(TABLE[["Nr.", "Anfrage", "Kanal"]], ("text", "label")) == ""
    assert column_guess.flags(TABLE[["Nr.", "Kanal"]], ("text",)) == ""
    assert column_guess.other_labels(TABLE) == OTHER
    assert column_guess.other_labels(TABLE.drop(columns="Stufe")) == ""


def test_two_columns_of_texts_may_be_a_pair(tmp_path):
    pairs = TABLE.assign(Antwort=[f"Die Karte {i} kommt." for i in range(20)])
    both = "--pair-columns Anfrage,Antwort compares the two texts, --text-column Anfrage,Antwort reads both"
    assert column_guess.several_texts(pairs) == both
    assert column_guess.several_texts(TABLE) == ""  # an address is no text
    assert column_guess.several_texts(pairs.assign(Notiz=pairs["Anfrage"])) == ""
    path = tmp_path / "a.csv"
    pairs.to_csv(path, index=False)
    with pytest.raises(UserError, match=f"--label-column Thema; {OTHER}; {both}$"):
        tables.read([path], TableOptions())
    with pytest.raises(UserError, match="by their cells it is --text-column Anfrage$"):
        list(tables.read_texts([path], TableOptions()))


def test_the_message_has_the_flags_to_copy(tmp_path):
    path = tmp_path / "a.csv"
    TABLE.to_csv(path, index=False)
    with pytest.raises(
        UserError,
        match=f"by their cells it is --text-column Anfrage --label-column Thema; {OTHER}$",
    ):
        tables.read([path], TableOptions())
    with pytest.raises(UserError, match="with --text-column; by their cells it is --text-column Anfrage$"):
        list(tables.read_texts([path], TableOptions()))
    with pytest.raises(
        UserError,
        match=f"with --label-column; by their cells it is --label-column Thema; {OTHER}$",
    ):
        tables.read([path], TableOptions(text_column="Anfrage"))
    with pytest.raises(UserError, match="with --text-column; by their cells it is --text-column Anfrage$"):
        tables.read([path], TableOptions(label_column="Stufe"))


def test_of_another_encoding_the_message_also_has_the_columns(tmp_path):
    rows = "".join(f"Können Sie mir helfen, Fall {i}?;{('Rechnung', 'Versand')[i % 2]}\n" for i in range(60))
    (tmp_path / "anfragen.csv").write_text(f"Anfrage;Thema\n{rows}", encoding="cp1252")
    with pytest.raises(UserError) as caught:
        labelled_texts.read(str(tmp_path / "anfragen.csv"))
    message = str(caught.value)
    assert "--encoding cp1252" in message and "--text-column Anfrage --label-column Thema" in message
    assert "\n" not in message
    options = TableOptions(encoding="cp1252", text_column="Anfrage", label_column="Thema")
    assert len(labelled_texts.read(str(tmp_path / "anfragen.csv"), options)["train"]) == 60
