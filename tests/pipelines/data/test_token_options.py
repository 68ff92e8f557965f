import pytest

from pipelines.data.token_options import DEFAULTS, FIELDS, TokenOptions
from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig


def test_the_options_are_fields_of_the_config():
    config = TaggingConfig(data="a.csv", column="2", encoding="cp1252", separator="tab", tag_names="O, B-X")
    options = TokenOptions(column="2", encoding="cp1252", separator="tab", tag_names="O, B-X")
    assert TokenOptions.of(config) == config.token_options() == options
    assert options.cell_separator() == "\t" and options.names() == ["O", "B-X"]
    assert DEFAULTS.cell_separator() is None and DEFAULTS.names() is None


def test_what_is_open_is_as_in_the_training():
    trained = {"column": "3", "separator": None, "encoding": "cp1252", "model": "lstm"}
    options = TokenOptions(encoding="utf-8").after_training(trained)
    assert (options.column, options.encoding, options.separator) == ("3", "utf-8", None)
    options.reject(("column",), "a file of another format")
    with pytest.raises(UserError, match="--encoding utf-8 has no effect: a file of another format"):
        options.reject(FIELDS, "a file of another format")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TokenOptions(encoding="x"), "--encoding x is unknown"),
        (TokenOptions(separator="ab"), "--separator 'ab': it must be one character"),
        (TokenOptions(tag_names="O,,B-X"), "--tag-names O,,B-X: give each tag one name"),
        (TokenOptions(tag_names="O,O"), "--tag-names O,O: give each tag one name"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        options.check()
