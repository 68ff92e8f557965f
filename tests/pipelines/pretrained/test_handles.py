"""hf:// and kaggle://, from servers on this machine."""

import errno
import io
import sys
from pathlib import Path

import pytest

from pipelines.pretrained import handles
from pipelines.support.errors import UserError
from tests.pipelines.pretrained import hub_server, kaggle_server
from tests.pipelines.pretrained.hub_server import COMMIT

HANDLE = "hf://org/tiny"
MODEL = "kaggle://anna/model/tensorFlow2/small"
TOKEN = "hf_verysecret"
WANTED = {"config.json", "model.safetensors", "vocab.txt", "1_Pooling/config.json", "1_Pooling/model.safetensors"}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The Hub is a server on this machine, and nothing is downloaded yet."""
    pytest.importorskip("huggingface_hub")
    pytest.importorskip("safetensors")
    from huggingface_hub import constants

    folder = tmp_path / "repository"
    for name in (*WANTED, "pytorch_model.bin", "modeling.py", "tf_model.h5"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"what is in {name} ".encode() * 100)
    with hub_server.serve(folder) as hub:
        # It reads the variables HF_ENDPOINT, HF_HOME ... when it is imported.
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "home" / "token"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


def kept(tmp_path) -> list[Path]:
    """The files of the cache that have weights, or parts of them."""
    return [path for path in (tmp_path / "home").rglob("*") if path.is_file() and path.parent.name == "blobs"]


def message_of(handle=HANDLE, flag="--encoder") -> str:
    with pytest.raises(UserError) as raised:
        handles.module_folder(handle, flag)
    message = str(raised.value)
    assert message.startswith(f"{flag} {handle}") and "\n" not in message and TOKEN not in message
    return message


@pytest.mark.parametrize(("handle", "message"), [("absent", "there is no such folder"), (".", "is not a SavedModel")])
def test_what_is_no_module_is_refused(handle, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in message_of(handle)
    assert message in message_of(handle, "--preprocessor")


@pytest.mark.parametrize("handle", ["hf://tiny", "hf://org/tiny/more", "hf://org/", "hf://org/ti ny", "hf://org/-x."])
def test_a_handle_of_another_form_is_refused(handle, hub):
    assert "write hf://ORG/NAME" in message_of(handle)
    assert not hub.requests


def test_no_program_and_no_pickle_is_downloaded(hub):
    folder = handles.checkpoint_folder(HANDLE)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == WANTED
    assert hub.downloaded() == WANTED
    assert (folder / "vocab.txt").read_bytes() == (hub.folder / "vocab.txt").read_bytes()
    assert folder.name == COMMIT


def test_a_second_call_downloads_nothing(hub):
    folder = handles.checkpoint_folder(HANDLE)
    hub.requests.clear()
    assert handles.checkpoint_folder(HANDLE) == folder
    assert not hub.downloaded()


@pytest.mark.parametrize("revision", ["v2", COMMIT])
def test_a_revision(hub, revision):
    assert handles.checkpoint_folder(f"{HANDLE}@{revision}").name == COMMIT
    assert (("GET", "/api/models/org/tiny/revision/v2") in hub.requests) == (revision == "v2")


def test_an_unknown_revision(hub):
    assert "has no revision 'v3'" in message_of(f"{HANDLE}@v3")


@pytest.mark.parametrize("status", [401, 404])
def test_an_unknown_repository(hub, status):
    hub.refusal = (status, "RepoNotFound")
    assert "there is no such repository, or it is private" in message_of("hf://org/other")
    assert hub.tokens == {f"Bearer {TOKEN}"}


def test_a_gated_repository(hub):
    hub.refusal = (403, "GatedRepo")
    message = message_of()
    assert "terms to be accepted" in message and "set HF_TOKEN" in message


def test_a_token_that_is_not_accepted(hub):
    hub.refusal = (401, "")
    assert "correct or unset HF_TOKEN" in message_of()


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_fails(hub, status):
    hub.refusal = (status, "")
    message = message_of()
    assert "cannot be reached (" in message and "give its folder" in message


def test_no_network(hub, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    assert "Connection refused" in message_of()


def test_no_network_with_what_was_downloaded(hub, monkeypatch):
    from huggingface_hub import constants

    folder = handles.checkpoint_folder(HANDLE)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    assert handles.checkpoint_folder(HANDLE) == folder


def test_offline(hub, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    message = message_of()
    assert "HF_HUB_OFFLINE forbids to download it" in message and constants.HF_HUB_CACHE in message
    assert not hub.requests
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    folder = handles.checkpoint_folder(HANDLE)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.requests.clear()
    assert handles.checkpoint_folder(HANDLE) == folder
    assert not hub.requests


def test_a_repository_with_pickled_weights_only(hub):
    for path in hub.folder.rglob("*.safetensors"):
        path.unlink()
    message = message_of()
    assert "no weights in the format safetensors" in message and "a pickle can run any program" in message
    assert "pytorch_model.bin" not in hub.downloaded()


def test_a_download_that_is_interrupted_starts_again(hub, tmp_path, monkeypatch):
    import huggingface_hub.file_download as download

    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    hub.cut = "model.safetensors"
    assert "cannot be reached (" in message_of()
    weights = [path for path in kept(tmp_path) if b"what is in model" in path.read_bytes()]
    assert not weights and not list((tmp_path / "home").rglob("*.incomplete"))
    monkeypatch.setattr(download.constants, "HF_HUB_OFFLINE", True)
    assert "not completely" in message_of()
    monkeypatch.setattr(download.constants, "HF_HUB_OFFLINE", False)
    hub.cut = None
    folder = handles.checkpoint_folder(HANDLE)
    assert (folder / "model.safetensors").read_bytes() == (hub.folder / "model.safetensors").read_bytes()


def test_a_full_disk(hub, tmp_path, monkeypatch):
    opened = io.open

    class Full(io.FileIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def open_full(file, mode="r", *arguments, **options):
        if "w" in mode and str(file).endswith(".incomplete"):
            return Full(file, "w")
        return opened(file, mode, *arguments, **options)

    monkeypatch.setattr(io, "open", open_full)
    message = message_of()
    assert "the disk is full" in message and "HF_HOME" in message
    monkeypatch.undo()
    assert not kept(tmp_path)


@pytest.mark.parametrize(
    ("handle", "package"),
    [(HANDLE, "huggingface_hub"), (HANDLE, "safetensors"), ("kaggle://a/b/keras/c", "kagglehub")],
)
def test_a_package_is_missing(monkeypatch, handle, package):
    if package != "safetensors":
        pytest.importorskip("safetensors")
    monkeypatch.setitem(sys.modules, package, None)
    message = message_of(handle)
    assert f"needs the package {package}, " in message and "requirements-encoders.txt" in message


def test_a_signed_address_is_not_shown():
    error = OSError("500 for http://user:secret@proxy/x and https://cdn.net/file?Signature=secret&Key=secret, sorry")
    message = str(handles._not_downloaded("--encoder hf://a/b", "huggingface_hub", error))
    assert "http://proxy/x and https://cdn.net/file" in message and "secret" not in message


def test_an_error_of_the_checkpoint_names_the_handle(hub):
    assert "config.json is not valid JSON" in message_of()


@pytest.fixture
def kaggle(tmp_path, monkeypatch):
    """Kaggle is a server on this machine, and nothing is downloaded yet."""
    pytest.importorskip("kagglehub")
    from kagglesdk import kaggle_env

    folder = tmp_path / "model"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"a graph " * 100)
    (folder / "variables" / "variables.index").write_bytes(b"index")
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path / "home"))
    monkeypatch.setenv("KAGGLE_CONFIG_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("KAGGLE_USERNAME", "anna")
    monkeypatch.setenv("KAGGLE_KEY", TOKEN)
    monkeypatch.setenv("KAGGLE_API_ENVIRONMENT", "LOCALHOST")
    with kaggle_server.serve(folder) as kaggle:
        monkeypatch.setitem(kaggle_env._env_to_endpoint, kaggle_env.KaggleEnv.LOCAL, kaggle.address)
        yield kaggle


@pytest.mark.parametrize("handle", ["kaggle://a/b", "kaggle://a/b/tensorFlow2/../d", "kaggle://a/b/tensorFlow2/c/1/2"])
def test_a_model_of_another_form_is_refused(handle, kaggle):
    assert "write kaggle://OWNER/MODEL/FRAMEWORK/VARIATION" in message_of(handle)
    assert not kaggle.requests


@pytest.mark.long
def test_a_model_of_kaggle(kaggle, capsys):
    folder = handles.module_folder(MODEL)
    assert folder.name == "3"
    for name in ("saved_model.pb", "variables/variables.index"):
        assert (folder / name).read_bytes() == (kaggle.folder / name).read_bytes()
    assert not capsys.readouterr().out  # that there is a later kagglehub
    kaggle.requests.clear()
    assert handles.module_folder(f"{MODEL}/3") == folder
    assert not kaggle.requests


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "there is no such model, variation or version"),
        (401, "set KAGGLE_USERNAME and KAGGLE_KEY"),
        (403, "its terms to be accepted"),
        (500, "cannot be reached (500 Server Error"),
    ],
)
def test_a_model_that_kaggle_refuses(kaggle, status, message):
    kaggle.refusal = status
    assert message in message_of(MODEL)


def test_a_model_that_does_not_arrive_whole(kaggle):
    kaggle.cut = "saved_model.pb"
    assert "cannot be reached (" in message_of(MODEL)
    kaggle.cut = None
    folder = handles.module_folder(MODEL)
    assert (folder / "saved_model.pb").read_bytes() == (kaggle.folder / "saved_model.pb").read_bytes()


@pytest.mark.long
def test_kaggle_cannot_be_reached(kaggle, monkeypatch):
    from kagglesdk import kaggle_env

    folder = handles.module_folder(MODEL)
    monkeypatch.setitem(kaggle_env._env_to_endpoint, kaggle_env.KaggleEnv.LOCAL, "http://127.0.0.1:1")
    assert "Connection refused" in message_of(MODEL)
    assert handles.module_folder(f"{MODEL}/3") == folder  # the version was downloaded


def test_a_model_on_a_full_disk(kaggle, monkeypatch):
    import kagglehub

    def fail(name):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kagglehub, "model_download", fail)
    message = message_of(MODEL)
    assert "the disk is full" in message and "KAGGLEHUB_CACHE" in message
