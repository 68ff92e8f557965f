"""What all configs share: presets, reading back with unknown keys refused, and a short hash for the run's name."""

import collections
import dataclasses
import hashlib
import json

import tyro

from pipelines.errors import UserError


def by_preset(presets: dict, field: str, metavar: str | None = "N"):
    """An annotation for a field whose default depends on model and preset; `--help` then shows all of them.

    Args:
        presets: (model, preset) -> {field: value}.
        field: the name of the annotated field.
        metavar: what stands for its value; None where its type has names of its own.
    """
    shown = [f"{preset} {_usual_and_others(presets, field, preset)}" for preset in ("quick", "full")]
    return tyro.conf.arg(help_behavior_hint=f"(default: {'; '.join(shown)})", **({"metavar": metavar} if metavar else {}))


def _usual_and_others(presets: dict, field: str, preset: str) -> str:
    """Such as `64, bag 16`: the value that most models have, then those of the others."""
    values = {model: settings[field] for (model, of), settings in presets.items() if of == preset}
    usual = collections.Counter(values.values()).most_common(1)[0][0]
    return ", ".join([str(usual), *(f"{model} {value}" for model, value in values.items() if value != usual)])


def resolved(config, presets: dict, default_models: dict[str, str]):
    """`config` with its preset and model chosen and every field that was left `None` filled in from that preset.

    The preset is `quick` on the embedded sample and `full` on data of the user's, unless one was asked for.

    Args:
        presets: (model, preset) -> {field: value}.
        default_models: preset -> model.

    Raises:
        UserError: the model has no such preset.
    """
    preset = config.preset or ("full" if config.data else "quick")
    model = config.model or default_models[preset]
    if (model, preset) not in presets:
        raise UserError(f"--preset {preset}: --model {model} has {' and '.join(of for name, of in presets if name == model)}")
    defaults = {name: value for name, value in presets[model, preset].items() if getattr(config, name) is None}
    return dataclasses.replace(config, preset=preset, model=model, **defaults)


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
    """Raises UserError with `flag`, its `value` ("" for a switch) and what is `wanted`, unless `condition` holds."""
    if not condition:
        raise UserError(f"--{flag.replace('_', '-')}{'' if value == '' else f' {value}'}: it must be {wanted}")
