"""Images sent in a message; pure."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

_DATA_URL = re.compile(r"data:image/(?:png|jpeg|jpg|gif|webp);base64,", re.IGNORECASE)


def picture_in(part: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of an image in a data URL; None for any other part. Nothing is fetched from elsewhere."""
    if part.get("type") not in ("image_url", "input_image"):
        return None
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or (head := _DATA_URL.match(url)) is None:
        return None
    try:
        return base64.b64decode(url[head.end() :], validate=True) or None
    except (binascii.Error, ValueError):
        return None
