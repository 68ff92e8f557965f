import pytest

from pipelines.data import languages


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("en", "en"),
        ("ENG", "en"),
        (" German ", "de"),
        ("text_de", "de"),
        ("Espa\u00f1ol", "es"),
        ("fr sentence", "fr"),
        ("id", None),  # of a row
        ("indonesian", "id"),
        ("en de", None),
        ("is it", None),
        ("text", None),
        ("", None),
    ],
)
def test_the_name_of_a_column_names_one_language_or_none(name, code):
    assert languages.code(name) == code
