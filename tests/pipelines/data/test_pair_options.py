import pytest

from pipelines.data.pair_options import DEFAULTS, FIELDS, TABLE_FIELDS, PairOptions
from pipelines.support.errors import UserError
from pipelines.translation.config import TranslationConfig


def test_the_options_are_fields_of_the_config():
    config = TranslationConfig(data="a.csv", source_column="2", encoding="cp1252", no_header=True)
    options = PairOptions(source_column="2", encoding="cp1252", no_header=True)
    assert PairOptions.of(config) == PairOptions.of(vars(config)) == options
    assert PairOptions.of({"model": "rnn"}) == DEFAULTS


def test_the_first_row_is_one_of_the_rows_unless_the_format_states_names():
    assert not DEFAULTS.table_options().header and DEFAULTS.table_options(has_names=True).header
    assert not PairOptions(no_header=True).table_options(has_names=True).header
    assert PairOptions(separator="tab").table_options().separator == "\t"


def test_unknown_encodings_and_options_without_effect_are_refused():
    with pytest.raises(UserError, match="--encoding x is unknown"):
        PairOptions(encoding="x").check()
    DEFAULTS.reject(FIELDS, "a folder")
    PairOptions(encoding="cp1252").reject(TABLE_FIELDS, "a folder")
    with pytest.raises(UserError, match="--no-header has no effect: a folder"):
        PairOptions(no_header=True).reject(TABLE_FIELDS, "a folder")
