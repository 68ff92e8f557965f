import pytest

from tests.pipelines.language_model import models


# One model of hoisted layers, one whose cell runs in `keras.layers.RNN`, and one without recurrence.
@pytest.fixture(scope="package", params=["lstm", pytest.param("peephole", marks=pytest.mark.exhaustive), "transformer"])
def made(request):
    return models.make(request.param)


@pytest.fixture(scope="package")
def lstm():
    return models.make()
