"""Keeps the catalogs: `python -m webapp.i18n.catalogs update|compile|missing CODE|add CODE FILE.json`.

Texts are sorted, without places, so that two people's changes seldom meet.
"""

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.extraction import Texts, all_texts

FOLDER = Path(__file__).resolve().parent.parent / "translations"
CATALOG_DATE = datetime(2026, 11, 22, tzinfo=UTC)
"""The date of all compiled catalogs, so that the same texts give the same bytes."""
CODES = [code for code in LANGUAGES if code != SOURCE]


def place(code: str, ending: str = "po") -> Path:
    return FOLDER / code / "LC_MESSAGES" / f"messages.{ending}"


def read(code: str) -> Catalog:
    """Return the catalog of a language as it is; an empty one if there is none."""
    path = place(code)
    if not path.exists():
        return Catalog(locale=LANGUAGES[code].code)
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGES[code].code)


def update_catalog(catalog: Catalog, texts: Iterable[Texts]) -> Catalog:
    """Return a catalog with exactly those texts, and the translations that are known already."""
    result = Catalog(locale=catalog.locale, fuzzy=False)
    for text in texts:
        message = catalog.get(text[0])
        translation: Any = message.string if message is not None else ""
        if len(text) == 1:
            result.add(text[0], translation if isinstance(translation, str) else translation[-1])
        else:
            forms = translation if isinstance(translation, tuple | list) else (translation,) * result.num_plurals
            result.add(text[:2], tuple(forms) + ("",) * (result.num_plurals - len(forms)))
    return result


def as_po(catalog: Catalog) -> bytes:
    """Return a catalog as a .po file: the same bytes for the same translations."""
    out = BytesIO()
    write_po(out, catalog, width=0, sort_output=True, no_location=True, omit_header=True, ignore_obsolete=True)
    head = f'msgid ""\nmsgstr ""\n"Language: {catalog.locale}\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    head += f'"Plural-Forms: {catalog.plural_forms}\\n"\n\n'
    return head.encode() + out.getvalue()


def as_mo(catalog: Catalog) -> bytes:
    """Return a catalog as a .mo file, without untranslated messages."""
    compiled = Catalog(locale=catalog.locale, creation_date=CATALOG_DATE, revision_date=CATALOG_DATE)
    for message in catalog:
        if message.id and (all(message.string) if isinstance(message.string, tuple | list) else message.string):
            compiled.add(message.id, message.string)
    out = BytesIO()
    write_mo(out, compiled)
    return out.getvalue()


def write(code: str, catalog: Catalog) -> None:
    """Write a catalog, and its compiled form."""
    place(code).parent.mkdir(parents=True, exist_ok=True)
    place(code).write_bytes(as_po(catalog))
    place(code, "mo").write_bytes(as_mo(read(code)))


def missing_translations(catalog: Catalog) -> list[Any]:
    """Return the texts that are not translated, or not in every plural form."""
    missing = []
    for message in catalog:
        translation = message.string if isinstance(message.string, tuple | list) else (message.string,)
        if message.id and not all(translation):
            missing.append(message.id if isinstance(message.id, str) else list(message.id))
    return missing


def add(code: str, translations: dict[str, Any]) -> list[str]:
    """Add translations to a catalog: a text, or a list of plural forms, by (singular) source; returns unknown ones."""
    catalog = update_catalog(read(code), all_texts())
    unknown = []
    for text, translation in translations.items():
        message = catalog.get(text)
        if message is None:
            unknown.append(text)
        elif isinstance(message.id, str):
            message.string = translation
        else:
            forms = [translation] if isinstance(translation, str) else translation
            message.string = tuple((forms + [forms[-1]] * catalog.num_plurals)[: catalog.num_plurals])
    write(code, catalog)
    return unknown


def main(arguments: list[str]) -> None:
    """Run the command given on the command line."""
    match arguments:
        case [] | ["update"]:
            texts = all_texts()
            for code in CODES:
                write(code, update_catalog(read(code), texts))
                print(f"{code}: {len(texts)} texts, {len(missing_translations(read(code)))} not translated")
        case ["compile"]:
            for code in CODES:
                write(code, read(code))
        case ["missing", code] if code in CODES:
            catalog = update_catalog(read(code), all_texts())
            print(json.dumps(missing_translations(catalog), ensure_ascii=False, indent=0))
        case ["add", code, file] if code in CODES:
            unknown = add(code, json.loads(Path(file).read_text(encoding="utf-8")))
            print(f"{code}: {len(missing_translations(read(code)))} not translated; not in the sources: {unknown}")
        case _:
            raise SystemExit(f"{__doc__}\nCodes: {', '.join(CODES)}")


if __name__ == "__main__":
    main(sys.argv[1:])
