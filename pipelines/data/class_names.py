"""Names of classes in Hugging Face's descriptions of columns, in place of the numbers that the cells have."""

from typing import Any


def of_features(features: dict[str, Any]) -> dict[str, list[str]]:
    """Returns column -> names of its classes, for the columns with numbers of classes, or with lists of them.

    Args:
        features: column -> its description, as in dataset_info.json.
    """
    found = {name: _names(feature) for name, feature in features.items()}
    return {name: names for name, names in found.items() if names}


def _names(feature: Any) -> list[str] | None:
    """Returns the names of the classes of a column; None if it has none.

    A list is described as {"feature": ..., "_type": "Sequence"}, since version 4 "List"; older ones as [...].
    """
    if isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    if isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    return feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None


def named(row: dict[str, Any], classes: dict[str, list[str]]) -> dict[str, Any]:
    """Returns a row with the names of its classes; -1, and a number without a name, stand for no class."""
    for column in classes.keys() & row.keys():
        names, cell = classes[column], row[column]
        row[column] = [_name(each, names) for each in cell] if isinstance(cell, list) else _name(cell, names)
    return row


def _name(number: int | None, names: list[str]) -> str | None:
    return names[number] if number is not None and 0 <= number < len(names) else None
