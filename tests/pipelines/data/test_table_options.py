import pytest

from pipelines.data import table_options
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.support.errors import UserError


def test_without_flags_they_are_the_defaults():
    assert table_options.make() == DEFAULTS == TableOptions()
    assert table_options.make(no_header=True) == TableOptions(header=False)


@pytest.mark.parametrize("separator", ["\\t", "tab", "\t"])
def test_a_tab_can_be_named(separator):
    assert table_options.make(separator=separator).separator == "\t"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"encoding": "latin-99"}, "--encoding latin-99 is unknown: give a name such as utf-8"),
        ({"separator": "||"}, "--separator '||': it must be one character, or tab"),
        ({"separator": ""}, "--separator ''"),
    ],
)
def test_a_mistake_is_reported(values, message):
    with pytest.raises(UserError) as error:
        table_options.make(**values)
    assert message in str(error.value)


def test_the_columns_of_a_training_are_remembered():
    options = table_options.make(text_column="a").after_training({"text_column": "b", "label_column": None})
    assert (options.text_column, options.trained_text_column, options.trained_label_column) == ("a", "b", None)
