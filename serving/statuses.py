"""What both APIs say about models: their versions, their signatures, and why a method does not fit."""

from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from serving.core import Core, Spec
from serving.errors import Code, ServingError, invalid
from serving.servable import DEFAULT_SIGNATURE

_FIELD = "signature_def"
_METHODS = {"classify": "tensorflow/serving/classify", "regress": "tensorflow/serving/regress"}


def status(core: Core, spec: Spec) -> get_model_status_pb2.GetModelStatusResponse:
    """
    Raises:
        ServingError: no such model, version or label.
    """
    response = get_model_status_pb2.GetModelStatusResponse()
    for version in core.manager.status(spec.name, spec.number, spec.label):
        entry = response.model_version_status.add(version=version.number, state=int(version.state))
        entry.status.error_code = (Code.UNKNOWN if version.error else Code.OK).value[0]
        entry.status.error_message = version.error
    return response


def metadata(core: Core, spec: Spec) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """The signatures of a version.

    Raises:
        ServingError: no such model, version or label.
    """
    version = core.manager.version(spec.name, spec.number, spec.label)
    with_definitions = get_model_metadata_pb2.SignatureDefMap()
    try:
        for name, definition in version.servable.definitions.items():
            with_definitions.signature_def[name].CopyFrom(definition)
    finally:
        version.servable.__exit__()
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = version.model
    response.model_spec.version.value = version.number
    response.metadata[_FIELD].Pack(with_definitions)
    return response


def signature_definitions(response) -> get_model_metadata_pb2.SignatureDefMap:
    definitions = get_model_metadata_pb2.SignatureDefMap()
    response.metadata[_FIELD].Unpack(definitions)
    return definitions


def of_another_method(core: Core, spec: Spec, method: str) -> ServingError:
    """Why a signature cannot be asked to classify or regress.

    Raises:
        ServingError: no such model, version or label.
    """
    version = core.manager.version(spec.name, spec.number, spec.label)
    try:
        name = spec.signature or DEFAULT_SIGNATURE
        definition = version.servable.definitions.get(name)
    finally:
        version.servable.__exit__()
    if definition is None:
        return invalid(f"No signature was found with the name: {name}")
    article = {"classify": "classification", "regress": "regression"}[method]
    return invalid(f"Expected {article} signature method_name to be {_METHODS[method]}. Was: {definition.method_name}")


def unsupported(what: str) -> ServingError:
    return ServingError(Code.UNIMPLEMENTED, what)
