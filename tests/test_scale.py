"""docs/scale.md: its commands can be parsed, its manifest has the fields of KubeRay, and its code runs in Spark."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from pipelines.task import TASKS
from tests.command_line import ROOT

TEXT = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
REQUIRED = "UNROLL_REQUIRE_JAVA"  # set to 1, a missing Java is a failure


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def commands():
    """The arguments of the commands of the document."""
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    entry = re.search(r"entrypoint: >-\n((?: {4}.*\n)+)", TEXT)[1].replace("/home/ray/unroll/main.py", "main.py")
    found = [shlex.split(line.partition("python ")[2], comments=True) for line in (*lines, " ".join(entry.split()))]
    return [arguments[1:] for arguments in found if arguments[:1] == ["main.py"]]


def test_the_commands_exist():
    import main

    assert len(commands()) >= 8
    for arguments in commands():
        command = main.parse(arguments)
        assert command.task in TASKS
        if arguments[0] == "predict":
            command.check() if hasattr(command, "check") else command._check()
            assert command.distributed.ray


def test_the_files_that_it_names_exist():
    names = set(re.findall(r"requirements[a-z-]*\.(?:txt|lock)", TEXT))
    assert names and all((ROOT / name).is_file() for name in names)
    assert re.search(r"rayproject/ray:([\d.]+)-", TEXT)[1] in (ROOT / "requirements-ray.txt").read_text()


def test_the_manifest_is_a_ray_job():
    import yaml

    (block,) = blocks("yaml")
    job = yaml.safe_load(block)
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob") and job["metadata"]["name"]
    assert f"ray[data,train]=={job['spec']['rayClusterSpec']['rayVersion']}" in (
        ROOT / "requirements-ray.txt"
    ).read_text(encoding="utf-8")
    cluster = job["spec"]["rayClusterSpec"]
    head, *workers = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    assert workers and all(group["groupName"] and group["replicas"] == group["minReplicas"] for group in workers)
    for group in (head, *workers):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"] and container["resources"]["limits"] == container["resources"]["requests"]
        volumes = {volume["name"] for volume in group["template"]["spec"].get("volumes", ())}
        assert {mount["name"] for mount in container.get("volumeMounts", ())} == volumes
    mounted = [mount["mountPath"] for mount in head["template"]["spec"]["containers"][0]["volumeMounts"]]
    words = shlex.split(job["spec"]["entrypoint"])
    for flag in ("--saved-models", "--output"):
        assert words[words.index(flag) + 1].startswith(tuple(mounted))


@pytest.mark.long
def test_the_code_runs_in_spark(tmp_path):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        reason = "no Java is installed (Debian: apt install openjdk-17-jre-headless)"
        (pytest.fail if os.environ.get(REQUIRED) == "1" else pytest.skip)(reason)
    import numpy as np
    import pandas as pd

    from pipelines.labelled.predict import predict_texts
    from tests.pipelines.labelled.conftest import write_export

    exported = write_export(tmp_path / "saved_models")
    texts = ["good", "bad", "", "G\u00f6ttingen g"] * 20
    pd.DataFrame({"id": range(80), "text": texts}).to_parquet(tmp_path / "reviews.parquet")
    (block,) = blocks("python")
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--master local[1] --conf spark.ui.enabled=false pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-c", block]
    process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr[-3000:]
    rows = pd.read_parquet(tmp_path / "labelled.parquet").sort_values("id")
    expected = predict_texts(exported, texts)
    assert rows["text"].tolist() == texts and rows["label"].tolist() == [each["label"] for each in expected]
    np.testing.assert_allclose(rows["score"], [each["score"] for each in expected], atol=1e-5)
