"""Draws pictures of a file, in a separate process: `python -m webapp.files.previews PATH MEDIA_TYPE REQUESTS`.

REQUESTS is a JSON list of {"page", "edge", "words"}. Writes {"pictures": [{"data", "width", "height"}]} with base64
JPEGs, or {"error": "..."}. Encoding a picture again leaves only what can be seen: no location, no camera.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webapp.files.kinds import HEIC, PDF
from webapp.files.readers.result import Unreadable, write_result
from webapp.i18n.marks import N_

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 80_000_000
QUALITY = 85
MARK = (255, 214, 10, 96)


def main(path: str, media_type: str, requests: str) -> None:
    """Draw the requested pictures and write them."""
    write_result(
        "pictures",
        lambda: draw(Path(path).read_bytes(), media_type, json.loads(requests)),
        N_("The picture needs too much memory to be shown."),
    )


def draw(data: bytes, media_type: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pictures as JPEGs. Raises Unreadable, and anything libraries raise for broken files."""
    if media_type == PDF:
        return _pages(data, requests)
    import PIL.Image  # noqa: PLC0415 - in this process only
    import PIL.ImageOps  # noqa: PLC0415

    if media_type == HEIC:
        import pillow_heif  # noqa: PLC0415

        pillow_heif.register_heif_opener()
    PIL.Image.MAX_IMAGE_PIXELS = None  # pictures that are too large are refused below, in words
    with PIL.Image.open(io.BytesIO(data)) as image:
        if image.width * image.height > MAX_PIXELS:
            raise Unreadable("The picture is too large: it can have at most 80 megapixels.")
        image.draft("RGB", (max(request["edge"] for request in requests),) * 2)
        flat = _flat(PIL.ImageOps.exif_transpose(image))
    return [_jpeg(flat, request["edge"]) for request in requests]


def _flat(picture: Image) -> Image:
    """Return the picture on white where it is transparent."""
    import PIL.Image  # noqa: PLC0415

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        clear = picture.convert("RGBA")
        return PIL.Image.alpha_composite(PIL.Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
    return picture.convert("RGB")


def _jpeg(picture: Image, edge: int) -> dict[str, Any]:
    small = picture.copy()
    small.thumbnail((edge, edge))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=QUALITY, optimize=True)
    return {"data": base64.b64encode(out.getvalue()).decode(), "width": small.width, "height": small.height}


def _pages(data: bytes, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    import pypdfium2  # noqa: PLC0415

    document = pypdfium2.PdfDocument(data)
    drawn = []
    for request in requests:
        if not 1 <= request["page"] <= len(document):
            raise Unreadable("There is no such page.")
        page = document[request["page"] - 1]
        width, height = page.get_size()
        scale = min(request["edge"] / max(width, height, 1), 8.0)
        picture = page.render(scale=scale).to_pil().convert("RGB")
        if request.get("words"):
            picture = _highlight(picture, _places(page, request["words"]), height, scale)
        drawn.append(_jpeg(picture, request["edge"]))
    return drawn


def _places(page: Any, words: str) -> list[tuple[float, float, float, float]]:
    """Return where certain words are on a page, ignoring white space and case: boxes, with the origin at the bottom."""
    text = page.get_textpage()
    count = text.count_chars()
    content = text.get_text_range(0, count) if count else ""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    match = re.search(pattern, content, re.IGNORECASE) if pattern else None
    if match is None:
        return []
    return [text.get_rect(index) for index in range(text.count_rects(match.start(), match.end() - match.start()))]


def _highlight(picture: Image, places: list[tuple[float, float, float, float]], height: float, scale: float) -> Image:
    import PIL.Image  # noqa: PLC0415
    import PIL.ImageDraw  # noqa: PLC0415

    overlay = PIL.Image.new("RGBA", picture.size, (0, 0, 0, 0))
    pen = PIL.ImageDraw.Draw(overlay)
    for left, bottom, right, top in places:
        box = (left * scale - 2, (height - top) * scale - 2, right * scale + 2, (height - bottom) * scale + 2)
        pen.rectangle(box, fill=MARK)
    return PIL.Image.alpha_composite(picture.convert("RGBA"), overlay).convert("RGB")


if __name__ == "__main__":
    main(*sys.argv[1:4])
