from tests.pipelines.labelled.conftest import exported

__all__ = ["exported"]
