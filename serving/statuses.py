"""What both APIs report about models: states of the versions, signatures, and errors of unsupported methods."""

from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from serving.core import Core, ModelSpec
from serving.errors import Code, ServingError, invalid
from serving.servable import DEFAULT_SIGNATURE

_SIGNATURE_FIELD = "signature_def"
_NOUNS = {"classify": "classification", "regress": "regression"}


def status(core: Core, spec: ModelSpec) -> get_model_status_pb2.GetModelStatusResponse:
    """The state of a model's versions.

    Raises:
        ServingError: there is no such model, version or label.
    """
    response = get_model_status_pb2.GetModelStatusResponse()
    for version in core.manager.versions(spec.name, spec.number, spec.label):
        entry = response.model_version_status.add(version=version.number, state=int(version.state))
        entry.status.error_code = (Code.UNKNOWN if version.error else Code.OK).value[0]
        entry.status.error_message = version.error
    return response


def metadata(core: Core, spec: ModelSpec) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """The signatures of a version.

    Raises:
        ServingError: there is no such model, version or label.
    """
    definitions = get_model_metadata_pb2.SignatureDefMap()
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    with core.manager.hold(spec.name, spec.number, spec.label) as version:
        for name, definition in version.loaded().definitions.items():
            definitions.signature_def[name].CopyFrom(definition)
        response.model_spec.name = version.model
        response.model_spec.version.value = version.number
    response.metadata[_SIGNATURE_FIELD].Pack(definitions)
    return response


def signature_definitions(
    response: get_model_metadata_pb2.GetModelMetadataResponse,
) -> get_model_metadata_pb2.SignatureDefMap:
    """The signatures in a response of `metadata`."""
    definitions = get_model_metadata_pb2.SignatureDefMap()
    response.metadata[_SIGNATURE_FIELD].Unpack(definitions)
    return definitions


def wrong_method(core: Core, spec: ModelSpec, method: str) -> ServingError:
    """The error for a signature that cannot classify or regress.

    Args:
        core: the server.
        spec: the model, version and signature.
        method: classify or regress.

    Raises:
        ServingError: there is no such model, version or label.
    """
    name = spec.signature or DEFAULT_SIGNATURE
    with core.manager.hold(spec.name, spec.number, spec.label) as version:
        definition = version.loaded().definitions.get(name)
    if definition is None:
        return invalid(f"No signature was found with the name: {name}")
    return invalid(
        f"Expected {_NOUNS[method]} signature method_name to be tensorflow/serving/{method}. "
        f"Was: {definition.method_name}"
    )
