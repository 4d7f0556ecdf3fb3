"""Images sent in a message; pure."""

from collections.abc import Mapping
from typing import Any

from webapp.files.picture import read_data_url


def picture_in(part: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of an image in a data URL; None for any other part. Nothing is fetched from elsewhere."""
    if part.get("type") not in ("image_url", "input_image"):
        return None
    image = part.get("image_url")
    picture = read_data_url(image.get("url") if isinstance(image, dict) else image)
    return (picture[1] or None) if picture else None
