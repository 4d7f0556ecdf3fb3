"""Schemas of what is nested in the lines of an export; pure."""

from __future__ import annotations

from typing import Any

DOCUMENTS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "document_id": {"type": "integer"},
            "title": {"type": "string"},
            "content": {"type": "string", "description": "Its text; a form feed ends each page but the last."},
            "pages": {"type": "integer", "description": "0 for a text without pages."},
            "digest": {
                "type": ["string", "null"],
                "description": "The SHA-256 of the file it was read from, and its name below files/; null for a text.",
            },
            "media_type": {"type": ["string", "null"]},
            "file_name": {"type": ["string", "null"]},
            "created_at": {"type": "string"},
            "parts": {"type": "array", "description": "The numbers of its parts in receipts."},
        },
    },
}
"""The documents in a space."""
