import pytest

from serving import engine
from serving.models_config import parse_config


def put_on_path(monkeypatch, folder, *programs):
    for name in programs:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def start_command(models, configs, host="127.0.0.1"):
    return engine.start_command(models, configs, rest_port=8601, grpc_port=8600, host=host)


def test_the_three_configs_are_complete(models, tmp_path):
    paths = engine.write_configs(models, tmp_path, "/models/")
    assert [path.name for path in paths] == ["models.config", "batching.config", "monitoring.config"]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    (model,) = parse_config(paths[0].read_text()).values()
    assert str(model.path) == "/models/upper" and dict(model.labels) == {"stable": 1, "canary": 2}
    assert model.num_latest == 2
    assert "max_batch_size" in paths[1].read_text() and "enable: true" in paths[2].read_text()


def test_a_folder_without_models_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="there is no model in"):
        engine.write_configs(tmp_path, tmp_path, "/models")
    assert not list(tmp_path.iterdir())


def test_the_program_is_preferred_to_docker(monkeypatch, tmp_path):
    put_on_path(monkeypatch, tmp_path, "tensorflow_model_server", "docker")
    command = start_command(tmp_path / "models", tmp_path / "configs")
    assert command[:3] == [str(tmp_path / "tensorflow_model_server"), "--port=8600", "--rest_api_port=8601"]
    assert f"--model_config_file={tmp_path}/configs/models.config" in command and not engine.uses_docker(command)


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", "127.0.0.1:8601:8501"), ("::1", "[::1]:8601:8501")])
def test_docker_gets_ports_models_and_configs(monkeypatch, tmp_path, host, port):
    put_on_path(monkeypatch, tmp_path, "docker")
    command = start_command(tmp_path / "models", tmp_path / "configs", host)
    assert engine.uses_docker(command) and port in command and engine.IMAGE in command
    assert f"{tmp_path}/models:/models:ro" in command
    image = command.index(engine.IMAGE)
    assert "--model_config_file=/models/models.config" in command[image:]
    assert not any("configs" in argument for argument in command)


def test_without_both_programs_there_is_no_command(monkeypatch, tmp_path):
    put_on_path(monkeypatch, tmp_path)
    assert start_command(tmp_path, tmp_path) is None
