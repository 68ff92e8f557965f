import os
import shutil

from serving.versions import State, Version, stamp_of


def test_the_stamp_changes_with_a_file_and_its_newest_time_is_that_of_the_version(tmp_path):
    (tmp_path / "variables").mkdir()
    for name, seconds in (("saved_model.pb", 100), ("variables/variables.index", 200)):
        (tmp_path / name).write_text("a")
        os.utime(tmp_path / name, (seconds, seconds))
    stamp = stamp_of(tmp_path)
    assert Version("upper", 1, stamp).time == 200
    assert stamp_of(tmp_path) == stamp
    (tmp_path / "variables" / "variables.index").write_text("ab")
    assert stamp_of(tmp_path) != stamp
    shutil.rmtree(tmp_path)
    assert stamp_of(tmp_path) == () and Version("upper", 1).time == 0


def test_the_states_have_the_numbers_of_tf_serving():
    from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus

    assert {state.name: int(state) for state in State} == {
        name: number for name, number in ModelVersionStatus.State.items() if number
    }
