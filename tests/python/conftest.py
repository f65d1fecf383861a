"""The package as it was built: PYTHONPATH names build/bindings/python."""
import os
import pathlib

import pytest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])


@pytest.fixture
def source():
    return SOURCE


@pytest.fixture
def tool():
    """The command weir, for files exchanged with the package."""
    return os.environ["WEIR"]
