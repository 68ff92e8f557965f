"""Object storage: the rest is tested by its readers (tests/pipelines/predicting/test_input_files.py)."""

import pytest

from pipelines.support import object_storage
from pipelines.support.errors import UserError


@pytest.mark.parametrize("address", ["s3:///key", "ftp://bucket/key", "s3://"])
def test_an_address_without_a_bucket_or_of_another_kind_is_refused(address):
    with pytest.raises(UserError, match="object storage has addresses such as"):
        object_storage.find(address)
