import os
from pathlib import Path

import pytest

from serving.logs import logger
from serving.models_config import Model, find_models, find_versions, format_config, parse_config
from tests.serving.conftest import serving

PLATFORM = 'model_platform: "tensorflow"'


def make_versions(root, name, *versions):
    for version in versions:
        (root / name / str(version)).mkdir(parents=True)
        (root / name / str(version) / "saved_model.pb").touch()


def test_only_folders_with_a_number_and_a_saved_model_are_versions(tmp_path):
    make_versions(tmp_path, "upper", 2, 10, 1, "latest", ".tmp-3", 2**63)
    (tmp_path / "upper" / "4").mkdir()
    assert find_versions(tmp_path / "upper") == [1, 2, 10]
    assert find_versions(tmp_path / "nowhere") == []


def test_numbers_that_tf_serving_does_not_take_are_logged_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    make_versions(tmp_path, "upper", 0, 7, "007", 2**63, "\u0663")
    with caplog.at_level("INFO", logger.name):
        for _ in range(2):
            assert find_versions(tmp_path / "upper") == [0, 7]
    logged = sorted(Path(record.fields["path"]).name for record in caplog.records)
    assert logged == ["007", str(2**63), "\u0663"]


def test_a_model_whose_name_is_not_utf8_is_logged_once_and_breaks_nothing(tmp_path, models, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    try:
        make_versions(tmp_path, os.fsdecode(b"caf\xe9"), 1)
    except OSError:
        pytest.skip("the file system takes only names in UTF-8")
    (tmp_path / "upper").symlink_to(models / "upper")
    with caplog.at_level("INFO", logger.name), serving(tmp_path, poll_seconds=0.01) as client:
        client.http("/v1/models/caf%E9:predict", {"inputs": ["a"]})
        for path in ("/", "/monitoring/prometheus/metrics", "/readyz", "/v1/models/upper"):
            assert client.http(path)[0] == 200
        assert client.server.manager.readiness() == {"upper": True}
    (record,) = [each for each in caplog.records if each.message == "ignored folder"]
    assert "UTF-8" in record.fields["reason"] and record.fields["path"].endswith("caf\\udce9")


def test_only_folders_with_a_version_are_models(tmp_path):
    make_versions(tmp_path, "upper", 1)
    make_versions(tmp_path, ".hidden", 1)
    (tmp_path / "empty").mkdir()
    (tmp_path / "README.md").touch()
    assert find_models(tmp_path) == {"upper": Model("upper", tmp_path / "upper")}
    assert find_models(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({}, [10, 3]),
        ({"num_latest": 1}, [10]),
        ({"num_latest": None}, [10, 3, 2, 1]),
        ({"specific": frozenset([1, 3, 7])}, [3, 1]),
    ],
)
def test_the_policy_selects_the_versions(options, selected):
    assert Model("upper", Path("upper"), **options).select([1, 10, 2, 3]) == selected


def test_the_newest_version_is_canary_and_the_previous_one_stable():
    model = Model("upper", Path("upper"))
    assert model.assign_labels([1, 3, 2]) == {"canary": 3, "stable": 2}
    assert model.assign_labels([1]) == {"canary": 1, "stable": 1}
    assert model.assign_labels([]) == {}


def test_own_labels_count_only_for_versions_that_are_served():
    model = Model("upper", Path("upper"), labels=(("tested", 1), ("new", 5)))
    assert model.assign_labels([1, 2]) == {"tested": 1}


def test_a_config_that_is_written_can_be_parsed(tmp_path):
    make_versions(tmp_path, "upper", 1, 2)
    make_versions(tmp_path, "lower", 7)
    models = parse_config(format_config(tmp_path, "/models/"))
    assert {name: str(model.path) for name, model in models.items()} == {
        "lower": "/models/lower",
        "upper": "/models/upper",
    }
    assert dict(models["upper"].labels) == {"canary": 2, "stable": 1} and models["upper"].num_latest == 2


@pytest.mark.parametrize(
    ("policy", "num_latest", "specific"),
    [
        ("", 1, []),
        ("model_version_policy { all {} }", None, []),
        ("model_version_policy { latest { num_versions: 3 } }", 3, []),
        ("model_version_policy { latest {} }", 1, []),
        ("model_version_policy { specific { versions: 4 versions: 6 } }", None, [4, 6]),
    ],
)
def test_every_policy_of_tf_serving_is_understood(policy, num_latest, specific):
    text = f'model_config_list {{ config {{ name: "upper" base_path: "/upper" {PLATFORM} {policy} }} }}'
    (model,) = parse_config(text).values()
    assert model == Model("upper", Path("/upper"), num_latest, frozenset(specific), ())


def test_the_old_field_of_the_platform_is_understood():
    text = 'model_config_list { config { name: "upper" base_path: "/upper" model_type: TENSORFLOW } }'
    assert set(parse_config(text)) == {"upper"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not a models.config"),
        ("", "needs a model_config_list"),
        ('model_config_list { config { name: "upper" } }', "needs a name and a base_path"),
        (
            f'model_config_list {{ config {{ name: "a" base_path: "/1" {PLATFORM} }} '
            f'config {{ name: "a" base_path: "/2" {PLATFORM} }} }}',
            "Illegal to list model a multiple times in config list",
        ),
        (
            f'model_config_list {{ config {{ name: "a" base_path: "models/a" {PLATFORM} }} }}',
            "Expected model a to have an absolute path; got base_path\\(\\)=models/a",
        ),
        (
            f'model_config_list {{ config {{ name: "a" base_path: "gs://a" {PLATFORM} }} }}',
            "Expected model a to have an absolute path",
        ),
        ('model_config_list { config { name: "a" base_path: "/a" } }', 'model a: .* model_platform: "tensorflow"'),
        (
            'model_config_list { config { name: "a" base_path: "/a" model_platform: "pytorch" } }',
            "Model a requests unsupported platform pytorch",
        ),
        ('model_config_list { config { name: "a" base_path: "/a" model_type: OTHER } }', "model_type .* not supported"),
        (
            f'model_config_list {{ config {{ name: "a" base_path: "/a" model_type: TENSORFLOW {PLATFORM} }} }}',
            "Illegal setting both",
        ),
        (
            f'model_config_list {{ config {{ name: "a" base_path: "/a" {PLATFORM} '
            "model_version_policy { specific {} } } }",
            "model a: .*specific.* names no version",
        ),
    ],
)
def test_an_invalid_config_is_an_error(text, message):
    with pytest.raises(ValueError, match=message):
        parse_config(text)
