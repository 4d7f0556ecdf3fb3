"""Pages of the administration."""

from __future__ import annotations

from flask import Blueprint

blueprint = Blueprint("admin_pages", __name__)
