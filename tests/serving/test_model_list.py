"""GET /v1/models."""

from tests.serving.conftest import serving


def test_the_list_of_models_has_the_form_of_openai(tmp_path, models):
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"nonsense")
    (tmp_path / "upper").symlink_to(models / "upper")
    with serving(tmp_path) as client:
        status, answer = client.http("/v1/models")
        assert status == 200 and answer["object"] == "list"
        broken, upper = answer["data"]
        assert upper["versions"] == client.http("/v1/models/upper")[1]["model_version_status"]
        assert [version["state"] for version in upper["versions"]] == ["AVAILABLE"] * 2
        assert broken["versions"] == client.http("/v1/models/broken")[1]["model_version_status"]
        assert [version["state"] for version in broken["versions"]] == ["LOADING"]
        assert broken["versions"][0]["status"]["error_message"]
        newest = int((models / "upper" / "2" / "saved_model.pb").stat().st_mtime)
        for entry, name in ((broken, "broken"), (upper, "upper")):
            assert {key: entry[key] for key in ("id", "object", "owned_by")} == {
                "id": name,
                "object": "model",
                "owned_by": "unroll",
            }
        assert newest <= upper["created"] <= newest + 60
        manager = client.server.manager
        manager.serve({})
        assert client.http("/v1/models") == (200, {"object": "list", "data": []})


def test_the_list_of_models_names_those_that_are_not_loaded_yet(client, monkeypatch):
    monkeypatch.setattr(client.server.manager, "readiness", lambda: {"later": False})
    data = client.http("/v1/models")[1]["data"]
    assert [(entry["id"], entry["created"], entry["versions"]) for entry in data] == [("later", 0, [])]
