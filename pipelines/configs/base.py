"""What all configs share: presets, reading back with unknown keys refused, and a short hash for the run's name."""

import dataclasses
import hashlib
import json

import tyro

from pipelines.errors import UserError


def by_preset(presets: dict, field: str):
    """An annotation for a field whose default depends on model and preset; `--help` then shows all of them.

    Args:
        presets: (model, preset) -> {field: value}.
        field: the name of the annotated field.
    """
    models = list(dict.fromkeys(model for model, _ in presets))
    shown = [f"{model} {presets[model, 'quick'][field]}/{presets[model, 'full'][field]}" for model in models]
    return tyro.conf.arg(metavar="N", help_behavior_hint=f"(default quick/full: {', '.join(shown)})")


def resolved(config, presets: dict):
    """`config` with its preset chosen and every field that was left `None` filled in from that preset.

    The preset is `quick` on the embedded sample and `full` on data of the user's, unless one was asked for.
    """
    preset = config.preset or ("full" if config.data else "quick")
    defaults = {name: value for name, value in presets[config.model, preset].items() if getattr(config, name) is None}
    return dataclasses.replace(config, preset=preset, **defaults)


def from_dict(config_class, values: dict):
    """The config that `dataclasses.asdict` gave `values` for.

    Raises:
        UserError: a key that `config_class` does not have.
    """
    known = {field.name for field in dataclasses.fields(config_class)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise UserError(f"unknown setting {unknown[0]!r} for {config_class.__name__}; known: {', '.join(sorted(known))}")
    return config_class(**values)


def short_hash(values: dict) -> str:
    """Eight hex digits that change with any of `values`."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


def require(condition: bool, flag: str, value, wanted: str) -> None:
    """Raises UserError with `flag`, its `value` and what is `wanted`, unless `condition` holds."""
    if not condition:
        raise UserError(f"--{flag.replace('_', '-')} {value}: it must be {wanted}")
