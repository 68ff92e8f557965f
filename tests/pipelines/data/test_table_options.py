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
        ({"separator": "\n"}, "--separator '\\n': it must be one character"),
        ({"quote": ""}, "--quote '': it must be one character, or none"),
        ({"quote": "no"}, "--quote 'no': it must be one character, or none"),
        ({"quote": "'", "separator": "'"}, '--quote "\'" is also the separator: give another character, or none'),
        ({"labels_separator": ""}, "--labels-separator is empty"),
        ({"label_columns": "a"}, "--label-columns a: give at least two different columns"),
        ({"label_columns": "a,a"}, "--label-columns a,a: give at least two different columns"),
        (
            {"label_columns": "a,b", "label_column": "c"},
            "--label-columns has one column of 0 and 1 per label: leave out",
        ),
        ({"label_columns": "a,b", "labels_separator": "|"}, "leave out --labels-separator"),
    ],
)
def test_a_mistake_is_reported(values, message):
    with pytest.raises(UserError) as error:
        table_options.make(**values)
    assert message in str(error.value)


def test_quotes_can_be_text():
    assert (table_options.make(quote="none").quote, table_options.make(quote="'").quote) == ("", "'")
    assert table_options.make().quote is None


def test_the_columns_of_a_training_are_remembered():
    options = table_options.make(text_column="a").after_training({"config": {"text_column": "b", "label_column": None}})
    assert (options.text_column, options.trained_text_column, options.trained_label_column) == ("a", "b", None)


def test_several_labels_are_remembered_unless_a_flag_names_others():
    by_columns, by_separator = {"config": {"label_columns": "a, b"}}, {"config": {"labels_separator": "tab"}}
    assert table_options.make().after_training(by_columns).label_columns == ("a", "b")
    assert table_options.make().after_training(by_separator).labels_separator == "\t"
    options = table_options.make(labels_separator="|").after_training(by_columns)
    assert (options.labels_separator, options.label_columns) == ("|", ())
    assert not table_options.make().after_training({"config": {}}).multi_label and options.multi_label
