import pytest

from layers.hub_module import DictInputError, InputError
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from pipelines.transfer.config import TransferConfig
from pipelines.transfer.modules import Modules, find_modules, load_modules, module_errors


def raise_wrapped(error: Exception):
    """Raises `error` as Keras does: inside of another error."""
    try:
        raise error
    except ValueError as inner:
        raise ValueError("Exception encountered when calling HubEncoder.call().") from inner


def message_of(error, tmp_path, preprocessor=None) -> str:
    config = TransferConfig(encoder="https://hub/bert")
    with pytest.raises(UserError) as raised, module_errors(config, Modules(tmp_path, preprocessor)):
        raise_wrapped(error)
    return str(raised.value)


def test_an_encoder_that_takes_a_dict_needs_a_preprocessor(tmp_path):
    error = DictInputError(f"{tmp_path} takes other inputs")  # recognized by its class, not by its text
    assert message_of(error, tmp_path) == "https://hub/bert takes other inputs: give --preprocessor"
    assert message_of(error, tmp_path, preprocessor=tmp_path) == "https://hub/bert takes other inputs"


def test_the_message_is_that_of_the_module_and_names_the_handle(tmp_path):
    assert message_of(InputError(f"{tmp_path} takes a dict"), tmp_path) == "https://hub/bert takes a dict"


def test_copied_modules_are_loaded_with_their_groups(tmp_path):
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "saved_model.pbtxt").write_text("")
    modules = Modules(tmp_path / "module", None, ("embeddings", "layer_1"), seed=3)
    (tmp_path / "run").mkdir()
    modules.save(tmp_path / "run")
    loaded = load_modules(tmp_path / "run")
    assert loaded.encoder == tmp_path / "run" / "encoder" and (loaded.encoder / "saved_model.pbtxt").exists()
    assert loaded.preprocessor is None and loaded.groups == ("embeddings", "layer_1") and loaded.removes_invisible

    record = read_record(tmp_path / "run" / "modules.json", "")
    del record["removes_invisible"]  # an older run keeps invisible characters
    write_record(tmp_path / "run" / "modules.json", record)
    assert not load_modules(tmp_path / "run").removes_invisible


def test_a_damaged_copy_is_one_line_with_the_remedy(tmp_path):
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "saved_model.pbtxt").write_text("")
    (tmp_path / "run").mkdir()
    Modules(tmp_path / "module", None, ("embeddings",)).save(tmp_path / "run")
    (tmp_path / "run" / "encoder" / "saved_model.pbtxt").write_text("x")
    remedy = "delete the run's folder to train from scratch"
    with pytest.raises(UserError, match=f"run is damaged .encoder/saved_model.pbtxt has 1 bytes .*: {remedy}"):
        load_modules(tmp_path / "run")
    (tmp_path / "run" / "modules.json").write_text("{}")
    with pytest.raises(UserError, match=f"modules.json is damaged or was edited: {remedy}"):
        load_modules(tmp_path / "run")


def test_a_handle_that_does_not_exist_is_one_line():
    with pytest.raises(UserError, match="nowhere.*no such folder"):
        find_modules(TransferConfig(encoder="nowhere"))
