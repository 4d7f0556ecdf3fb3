"""A small journey of two points, loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from tests.journeys.rows import load, write_fixture


@pytest.fixture
def garden(app: Flask, tmp_path: Path) -> Path:
    """The folder from which the small journey was loaded."""
    folder = write_fixture(tmp_path / "fixtures")
    load(app, folder)
    return folder
