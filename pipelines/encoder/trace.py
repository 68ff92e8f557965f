"""The signature `trace` of an encoder, which encoders of every origin share."""

from pipelines.pretrained.trace import make_trace  # noqa: F401
