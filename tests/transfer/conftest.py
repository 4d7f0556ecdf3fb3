"""Fixtures of the tests of importers."""

import json

import pytest

from webapp.transfer.readers import recognise
from webapp.transfer.sources import Upload


@pytest.fixture
def read(tmp_path):
    """`read(content, filename)`: the name of the reader that fits, and the parts it finds."""

    def work(content, filename="export.zip"):
        path = tmp_path / "upload"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with Upload(path, filename) as upload:
            reader = recognise(upload)
            parts = list(reader.read(upload))
        return reader.name, parts

    return work
