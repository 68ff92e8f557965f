import numpy as np
import pandas as pd

from pipelines.labelled import mistakes_file
from pipelines.support import console


def test_the_columns_of_the_user_follow_and_keep_their_names(tmp_path):
    others = pd.DataFrame({"text": ["x", "y", "z"], "shop": ["1", "2", "3"]})
    said = []
    with console.forwarded(said.append):
        mistakes_file.write(tmp_path / "a.csv", {"text": ["c", "a"], "error": [0.5, 1 / 3]}, np.array([2, 0]), others)
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "evaluated_text,evaluated_error,text,shop",
        "c,0.500000,z,3",
        "a,0.333333,x,1",
    ]
    assert len(said) == 1


def test_without_other_columns(tmp_path):
    mistakes_file.write(tmp_path / "a.csv", {"text": ["c"], "label": ["good"]}, np.array([2]), None)
    assert (tmp_path / "a.csv").read_text() == "text,label\nc,good\n"
