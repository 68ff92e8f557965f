"""The lines of the registry: what they say is so, and their modules are there."""

import dataclasses
import importlib
import inspect

import pytest

from pipelines.data.corpora import CORPORA
from pipelines.settings.config import TrainingConfig
from pipelines.task import TASKS

ENTRIES = pytest.mark.parametrize("entry", TASKS.values(), ids=TASKS)


@ENTRIES
def test_the_commands_of_a_task(entry):
    command = entry.command()
    assert isinstance(command.Train(task=entry.name).config, TrainingConfig)
    assert hasattr(command, "Prepare") == entry.has("shards") == hasattr(entry.data(), "survey")
    assert hasattr(command, "Evaluate") or not entry.has("evaluate")


@ENTRIES
def test_the_data_of_a_task_is_read_by_its_load(entry):
    assert importlib.import_module(f"pipelines.{entry.package}.data").load is entry.task().load


@ENTRIES
def test_the_defaults_of_an_entry_are_fields_of_its_config(entry):
    config = entry.command().Train(task=entry.name).config
    for name, value in entry.defaults.items():
        assert getattr(config, name) != value, f"{name} is {value} without the entry's default"


@ENTRIES
def test_what_a_training_that_continues_shares_with_its_run_are_fields(entry):
    config = entry.config_class()()
    named = [*config.network_fields(), *config.KEPT_FIELDS, *config.CONTINUED]
    assert len(set(named)) == len(named) and set(named) <= {field.name for field in dataclasses.fields(config)}
    assert "model" in config.network_fields()


@ENTRIES
def test_the_second_pass_of_a_preparation_is_in_shards(entry):
    assert list(inspect.signature(entry.shards().write).parameters)[-1] == "folder"


@ENTRIES
def test_the_network_of_an_export_of_a_task_that_is_explained_is_built_again(entry):
    assert hasattr(entry.networks(), "of_export") == (entry.explains is not None)
    assert entry.has("trace") != bool(entry.no_trace)


@ENTRIES
def test_the_version_of_the_sample_is_a_text(entry):
    version = entry.sample_version()
    assert isinstance(version, str) and version and version == entry.sample_version()


@ENTRIES
def test_there_is_a_corpus_of_the_kind_that_a_task_reads(entry):
    assert entry.data_kind in {corpus.kind for corpus in CORPORA.values()}


@ENTRIES
def test_the_name_of_an_entry_is_its_key(entry):
    assert TASKS[entry.name] is entry
