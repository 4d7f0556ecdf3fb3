"""Languages of the interface: which ones there are, and translating into them what is English in the sources."""

from dataclasses import dataclass
from typing import Literal, get_args

LanguageCode = Literal["en", "de", "es", "fr", "pt", "zh", "ar"]
SOURCE: LanguageCode = "en"
"""The language of the sources, which has no catalog."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language as its readers know it; `tag` is what browsers and assistive technology call it."""

    code: LanguageCode
    name: str
    tag: str
    direction: Literal["ltr", "rtl"] = "ltr"


LANGUAGES: dict[str, Language] = {
    language.code: language
    for language in (
        Language("en", "English", "en"),
        Language("de", "Deutsch", "de"),
        Language("es", "Español", "es"),
        Language("fr", "Français", "fr"),
        Language("pt", "Português", "pt-BR"),
        Language("zh", "中文", "zh-Hans"),
        Language("ar", "العربية", "ar", "rtl"),
    )
}
assert tuple(LANGUAGES) == get_args(LanguageCode)
