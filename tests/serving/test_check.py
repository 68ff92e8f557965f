import pytest
from tensorflow.core.protobuf import saved_model_pb2

from serving import check
from tests.serving import small_models


def problems(findings):
    return {finding.check: finding.problem for finding in findings if finding.problem}


@pytest.mark.long
@pytest.mark.parametrize("server", [pytest.param("2.19.1", marks=pytest.mark.long), "2.20.0"])
def test_a_valid_model_has_no_problem(models, server):
    findings = check.check(models / "upper" / "1", server)
    assert not problems(findings)
    assert findings[-1].check == "1 warm-up requests, with XLA disabled"


def add_node(op, **attributes):
    def change(graph):
        node = graph.graph_def.node.add(op=op, name="x")
        for name, value in attributes.items():
            node.attr[name].i = value

    return change


def remove_default_signature(graph):
    del graph.signature_def["serving_default"]


def rename_method(graph):
    graph.signature_def["add"].method_name = "other"


def fix_batch_size(graph):
    graph.signature_def["add"].inputs["flag"].tensor_shape.dim[0].size = 4


def make_scalar(name):
    def change(graph):
        (info, *_) = graph.signature_def[name].inputs.values()
        del info.tensor_shape.dim[:]

    return change


def remove_outputs(graph):
    graph.signature_def["add"].outputs.clear()


def add_path(graph):
    graph.meta_info_def.tags.append("/home/somebody/model")


def remove_tag(graph):
    graph.meta_info_def.tags.remove("serve")


@pytest.mark.parametrize(
    ("change", "name", "problem"),
    [
        (add_node("FlyToTheMoon"), "ops of TF Serving 2.20.0", "FlyToTheMoon"),
        (add_node("XlaDynamicUpdateSlice"), "no op needs XLA, which TF Serving disables", "XlaDynamicUpdateSlice"),
        (add_node("Identity", wings=2), "attributes of these ops", "Identity.wings"),
        (remove_default_signature, "signature serving_default", "missing"),
        (rename_method, "signature add", "'other'"),
        (fix_batch_size, "signature add", "input flag has no batch axis of unknown size"),
        (make_scalar("serving_default"), "signature serving_default", "which REST's row format needs"),
        (remove_outputs, "signature add", "no inputs or no outputs"),
        (add_path, "no path of another machine in the graph", "/home/somebody/model"),
        (remove_tag, "graph for serving", "serve"),
    ],
)
def test_a_problem_is_named(tmp_path, monkeypatch, change, name, problem):
    monkeypatch.setattr(check, "_check_warm_up", lambda folder: check.Finding("warm-up"))  # has tests of its own
    folder = small_models.save(tmp_path, "upper", 1)
    path = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    change(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())
    assert problem in problems(check.check(folder))[name]


def test_a_signature_beside_serving_default_may_have_one_value_for_the_request(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "_check_warm_up", lambda folder: check.Finding("warm-up"))
    folder = small_models.save(tmp_path, "upper", 1)
    path = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    make_scalar("add")(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())
    assert not problems(check.check(folder))


@pytest.mark.long
def test_a_warm_up_request_that_fails_is_a_problem(tmp_path):
    folder = small_models.save(tmp_path, "upper", 1)
    small_models.write_warm_up(folder, b"\xff\xff")
    assert "Error" in problems(check.check(folder))["warm-up requests, with XLA disabled"]


def test_a_folder_without_a_readable_saved_model_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="contains no saved_model.pb"):
        check.check(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be parsed"):
        check.check(tmp_path)


def test_the_ops_of_functions_are_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "_check_warm_up", lambda folder: check.Finding("warm-up"))
    graph = saved_model_pb2.SavedModel()
    meta_graph = graph.meta_graphs.add()
    meta_graph.meta_info_def.tags.append("serve")
    function = meta_graph.graph_def.library.function.add()
    function.signature.name = "inner"
    function.node_def.add(op="FlyToTheMoon", name="x")
    meta_graph.graph_def.node.add(op="inner", name="call")  # a call of a function is not an unknown op
    (tmp_path / "saved_model.pb").write_bytes(graph.SerializeToString())
    assert problems(check.check(tmp_path))["ops of TF Serving 2.20.0"] == "unknown to it: FlyToTheMoon"
