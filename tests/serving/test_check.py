import tensorflow as tf
import pytest

from serving import check
from tests.serving import small_models


def wrong(findings):
    return {finding.what: finding.wrong for finding in findings if finding.wrong}


@pytest.mark.parametrize("server", check.SERVERS)
def test_what_is_fine(shouter, server):
    findings = check.check(shouter / "shouter" / "1", server)
    assert not wrong(findings) and any("1 warm-up requests" in finding.what for finding in findings)


def planted(folder, change):
    from tensorflow.core.protobuf import saved_model_pb2

    path = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    change(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("change", "what", "said"),
    [
        (lambda graph: graph.graph_def.node.add(op="FlyToTheMoon", name="x"), "ops of TF Serving 2.20.0", "FlyToTheMoon"),
        (lambda graph: graph.graph_def.node.add(op="XlaDynamicUpdateSlice", name="x"), "nothing needs XLA, which TF Serving turns off", "XlaDynamic"),
        (lambda graph: graph.graph_def.node.add(op="Identity", name="x").attr["wings"].CopyFrom(tf.compat.v1.AttrValue(i=2)), "attributes of these ops", "Identity.wings"),
        (lambda graph: graph.signature_def.pop("serving_default"), "signature serving_default", "there is none"),
        (lambda graph: setattr(graph.signature_def["add"], "method_name", "other"), "signature add", "'other'"),
        (lambda graph: setattr(graph.signature_def["add"].inputs["flag"].tensor_shape.dim[0], "size", 4), "signature add", "input flag has no free batch"),
        (lambda graph: graph.meta_info_def.tags.append("/home/somebody/model"), "no path of another machine inside", "/home/somebody/model"),
        (lambda graph: graph.meta_info_def.tags.remove("serve"), "a graph for serving", "serve"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, change, what, said):
    folder = small_models.save(tmp_path, "shouter", 1)
    planted(folder, change)
    found = wrong(check.check(folder))
    assert said in found[what]


def test_a_warm_up_that_fails(tmp_path):
    folder = small_models.save(tmp_path, "shouter", 1)
    with tf.io.TFRecordWriter(str(folder / "assets.extra" / "tf_serving_warmup_requests")) as writer:
        writer.write(b"\xff\xff")
    assert "Error" in wrong(check.check(folder))["warm-up requests, with XLA disabled"]


def test_no_saved_model(tmp_path):
    with pytest.raises(ValueError, match="holds no saved_model.pb"):
        check.check(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be read"):
        check.check(tmp_path)
