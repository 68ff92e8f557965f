import numpy as np
import pytest

from pipelines.data import labelled_texts
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.support.errors import UserError


def test_without_data_it_is_the_sample_with_films_as_groups():
    parts = labelled_texts.read(None)
    assert set(parts) == {"train"} and len(parts["train"].groups) == len(parts["train"]) > 1000


def test_the_fresh_sample_has_no_text_of_the_sample():
    assert not set(labelled_texts.fresh_sample().texts) & set(labelled_texts.read(None)["train"].texts)


def test_rows_are_taken_with_their_groups():
    columns = (np.array(list(letters), dtype=object) for letters in ("abc", "xyz", "fgh"))
    taken = LabelledTexts(*columns, {}).take(np.array([True, False, True]))
    assert (taken.texts.tolist(), taken.labels.tolist(), taken.groups.tolist()) == (["a", "c"], ["x", "z"], ["f", "h"])


def test_a_missing_file_is_an_error_that_names_the_corpora():
    with pytest.raises(UserError, match="no such file or folder: nowhere.csv .*imdb"):
        labelled_texts.read("nowhere.csv")
