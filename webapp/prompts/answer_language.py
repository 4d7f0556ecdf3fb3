"""The language in which a background call must answer, stated in that language: small models need that. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webapp.text.language_detection import language_of
from webapp.text.words import words

_ASKED = {
    "german": "Schreibe die Zusammenfassung auf Deutsch.",
    "french": "Écris le résumé en français.",
    "spanish": "Escribe el resumen en español.",
    "portuguese": "Escreve o resumo em português.",
    "italian": "Scrivi il riassunto in italiano.",
    "dutch": "Schrijf de samenvatting in het Nederlands.",
    "turkish": "Özeti Türkçe yaz.",
    "russian": "Напиши краткое изложение по-русски.",
    "greek": "Γράψε την περίληψη στα ελληνικά.",
    "arabic": "اكتب الملخّص بالعربية.",
    "hindi": "सारांश हिन्दी में लिखो।",
}
_JAPANESE, _KOREAN, _CHINESE = (
    re.compile("[\u3040-\u30ff]"),
    re.compile("[\uac00-\ud7af]"),
    re.compile("[\u4e00-\u9fff]"),
)


def summary_line(texts: Iterable[str]) -> str:
    """The request for a summary in the language of what the user said; empty for English, which the prompt is in."""
    text = " ".join(texts)
    least = len(text) // 4  # names and quotes in it may be in another script
    if len(_KOREAN.findall(text)) > least:
        return "요약은 한국어로 써 주세요."
    if len(_JAPANESE.findall(text)) + len(_CHINESE.findall(text)) > least:
        return "要約は日本語で書いてください。" if _JAPANESE.search(text) else "请用中文写摘要。"
    return _ASKED.get(language_of(words(text)), "")
