"""The texts of scripts: their translations into a language, as a script that is loaded before them."""

import json
import re
from functools import cache
from pathlib import Path

from babel import Locale
from babel.support import Translations

from webapp.i18n import LANGUAGES, SOURCE

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT.parent / "static" / "js"
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_SINGLE, _PLURAL = re.compile(r"\bt\(\s*" + _TEXT), re.compile(r"\btn\(\s*" + _TEXT + r",\s*" + _TEXT)


def texts_of(script: str) -> list[tuple[str, ...]]:
    """Return the texts of a script, each with one form, or with two if it is about a number."""
    texts: list[tuple[str, ...]] = [(json.loads(f'"{text}"'),) for text in _SINGLE.findall(script)]
    return texts + [
        (json.loads(f'"{singular}"'), json.loads(f'"{plural}"')) for singular, plural in _PLURAL.findall(script)
    ]


@cache
def script_words(code: str) -> str:
    """Return the script with the translations into a language."""
    words: dict[str, str | list[str]] = {}
    forms = ["one", "other"]
    if code != SOURCE:
        catalog = Translations.load(str(ROOT / "translations"), [code])
        forms = [*sorted(Locale.parse(LANGUAGES[code].tag, sep="-").plural_form.tags, key=_ORDER.index), "other"]
        messages = getattr(catalog, "_catalog", {})
        for path in sorted(SCRIPTS.glob("*.js")):
            for text in texts_of(path.read_text(encoding="utf-8")):
                if len(text) == 1:
                    words[text[0]] = catalog.gettext(text[0])
                else:
                    variants = [messages[text[0], index] for index in range(6) if messages.get((text[0], index))]
                    words[text[0]] = variants or list(text)
        forms = (
            forms[: max(len(variants) for variants in words.values() if isinstance(variants, list))] if words else forms
        )
    return f"globalThis.commonplaceWords = {json.dumps({'forms': forms, 'texts': words}, ensure_ascii=False)};\n"


_ORDER = ("zero", "one", "two", "few", "many", "other")
