"""The fonts for PDFs, subset to the characters a text needs; no database, no web.

PDFs cannot contain variable fonts: each is subset first, then set to one weight, in a tenth of the time of the other
order. What no font has is left out.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer
from fpdf import FPDF

T = TypeVar("T")

_FEATURES = ["liga", "calt", "ccmp", "locl", "mark", "mkmk", "init", "medi", "fina", "isol", "rlig"]


@dataclass(frozen=True, slots=True)
class Face:
    """A font file and its position on the axes, with the family and style under which the PDF uses it."""

    family: str
    style: str
    package: str
    file: str
    axes: tuple[tuple[str, float], ...] = ()

    @property
    def path(self) -> Path:
        """Return where the file is."""
        return Path(str(files(self.package).joinpath(self.file)))


_SANS = "fontpkg_source_sans_3", "files/SourceSans3[wght].ttf"
_SERIF = "fontpkg_literata", "files/Literata[opsz,wght].ttf"
_SERIF_ITALIC = "fontpkg_literata", "files/Literata-Italic[opsz,wght].ttf"
_ARABIC = "fontpkg_noto_sans_arabic", "files/NotoSansArabic[wdth,wght].ttf"
_CJK = "noto_cjk_sans_jp_regular", "NotoSansCJKjp-Regular.otf"

MAIN = (
    Face("sans", "", *_SANS, (("wght", 400),)),
    Face("sans", "B", *_SANS, (("wght", 600),)),
    Face("serif", "", *_SERIF, (("opsz", 24), ("wght", 500))),
    Face("serif", "I", *_SERIF_ITALIC, (("opsz", 12), ("wght", 400))),
)
FALLBACKS = (
    Face("arabic", "", *_ARABIC, (("wdth", 100), ("wght", 400))),
    Face("cjk", "", *_CJK),
)


@cache
def coverage(package: str, file: str) -> frozenset[int]:
    """Return the code points in a font file."""
    with TTFont(str(files(package).joinpath(file)), lazy=True) as font:
        return frozenset(font.getBestCmap())


def printable(text: str) -> str:
    """Return the text as the fonts can show it: composed, without control characters, emoji by name."""
    composed = _describe_emoji(unicodedata.normalize("NFC", text.replace("\t", " ")))
    characters = _all_characters()
    chars = [char for char in composed if char == "\n" or (char.isprintable() and ord(char) in characters)]
    text_shown = "".join(chars)
    while len(chars) != len(composed) and "  " in text_shown:
        text_shown = text_shown.replace("  ", " ")
    return text_shown


def printable_texts(value: T) -> T:
    """Return a value with every text in it as `printable` returns it: a text, a list, or a dataclass of such."""
    result: Any = value
    if isinstance(value, str):
        result = printable(value)
    elif isinstance(value, list | tuple):
        result = type(value)(map(printable_texts, value))
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{name: printable_texts(part) for name, part in _fields_of(value)})
    return cast(T, result)


def texts_of(value: object) -> Iterator[str]:
    """Yield every text in such a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(texts_of, value))
    elif is_dataclass(value):
        yield from chain.from_iterable(texts_of(part) for _, part in _fields_of(value))


def _fields_of(value: Any) -> Iterator[tuple[str, Any]]:
    return ((field.name, getattr(value, field.name)) for field in fields(value))


def _describe_emoji(text: str) -> str:
    """Return emoji that no font has as words in brackets: [party popper]."""
    characters = _all_characters()
    names: list[str] = []
    is_joined = False
    for char in text:
        is_picture = unicodedata.category(char) in ("So", "Sk") and ord(char) > 0x2000 and ord(char) not in characters
        is_modifier = 0x1F3FB <= ord(char) <= 0x1F3FF
        if is_picture and not is_modifier and not is_joined:
            name = unicodedata.name(char, "picture").removeprefix("REGIONAL INDICATOR SYMBOL ").lower()
            names.append(f"[{name}]")
        elif not is_picture:
            names.append(char)
        is_joined = char == "\u200d"
    return "".join(names)


@cache
def _all_characters() -> frozenset[int]:
    joiners = {0x200C, 0x200D, 0xFE0E, 0xFE0F}
    faces = {(face.package, face.file) for face in (*MAIN, *FALLBACKS)}
    # The fonts must agree on what can be shown, in every style: a character of the body may occur in a heading.
    main = frozenset.intersection(*(coverage(face.package, face.file) for face in MAIN))
    others = [coverage(*face) for face in faces if face in {(item.package, item.file) for item in FALLBACKS}]
    return main.union(*others) - joiners


def add_fonts(pages: FPDF, texts: Iterable[str], folder: Path) -> None:
    """Add the fonts for its texts to a PDF, subset and written to a folder that has to outlive `pages`."""
    faces, points = required_faces(texts)
    for face, path in write_subsets(faces, points, folder):
        for style in ("", "B", "I") if face in FALLBACKS else (face.style,):
            pages.add_font(face.family, style, str(path))
    pages.set_fallback_fonts([face.family for face in faces if face in FALLBACKS])
    pages.set_text_shaping(use_shaping_engine=True)


def required_faces(texts: Iterable[str]) -> tuple[list[Face], set[int]]:
    """Return the faces that texts need, and their code points."""
    points = {ord(char) for text in texts for char in text} | set(range(0x20, 0x7F)) | {0x2026, 0x2013, 0x201C, 0x201D}
    beyond = points - frozenset.intersection(*(coverage(face.package, face.file) for face in MAIN))
    return [*MAIN, *(face for face in FALLBACKS if beyond & coverage(face.package, face.file))], points


def write_subsets(faces: Iterable[Face], points: set[int], folder: Path) -> Iterator[tuple[Face, Path]]:
    """Write each face, subset to the code points, to a folder."""
    for number, face in enumerate(faces):
        path = folder / f"{number}{face.path.suffix}"
        with TTFont(str(face.path), lazy=True) as font:
            options = subset.Options(layout_features=_FEATURES, notdef_outline=True, name_IDs=["*"], hinting=False)
            cutter = subset.Subsetter(options)
            cutter.populate(unicodes=points)
            cutter.subset(font)
            if face.axes:
                instancer.instantiateVariableFont(font, dict(face.axes), inplace=True)
            font.save(str(path))
        yield face, path
