from pipelines.encoder import trace
from pipelines.pretrained.trace import make_trace


def test_the_trace_is_that_of_all_encoders():
    assert trace.make_trace is make_trace
