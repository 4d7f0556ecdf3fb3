"""The rules for what people say about themselves in languages other than English; pure.

Each has the phrasing, the words in which it is noted, in the same language, and a key if there is one.
"""

from __future__ import annotations

import re

from . import memory_findings as maker
from .memory_findings import Maker

_REST = r"(?P<rest>\S.*)"
_NAME = r"(?P<rest>(?-i:[A-ZÀ-Þ])[\w'’-]+(?:\s+(?-i:[A-ZÀ-Þ])[\w'’-]+)?)"

_DE_ONE = (
    r"Hund|Katze|Kater|Frau|Mann|Sohn|Tochter|Bruder|Schwester|Freundin|Freund|Partnerin|Partner|Mutter|Vater|Pferd"
)
_FR_ONE = r"chien|chienne|chat|chatte|femme|mari|fils|fille|frère|sœur|amie?|compagne|compagnon|mère|père|cheval"
_ES_ONE = r"perr[oa]|gat[oa]|mujer|marido|hij[oa]|herman[oa]|novi[oa]|pareja|madre|padre|amig[oa]|caballo"
_PT_ONE = r"cão|cachorr[oa]|gat[oa]|mulher|marido|esposa|filh[oa]|irmão|irmã|namorad[oa]|mãe|pai|amig[oa]|cavalo"
_IT_ONE = r"cane|gatt[oa]|moglie|marito|figli[oa]|fratello|sorella|ragazz[oa]|madre|padre|amic[oa]|cavallo"
_PLACE = "identity/location"
_JOB, _DIET, _STATE = "work/job", "health/diet", "identity/relationship"

# (how it is said, with the part to note as `rest`; how it is noted; key)
_Said = tuple[tuple[str, str, str | None], ...]
_GERMAN: _Said = (
    (r"\bich\s+habe\s+(?P<rest>(?:\w+\s+)?\w*schmerzen\b.*)", "Hat {value}", None),
    (r"\bmir\s+tut\s+(?P<rest>(?:der|die|das)\s+\w+)\s+weh\b", "{value} tut weh", None),
    (r"\bmeine?\s+(?P<rest>\w+)\s+tut\s+(?:\w+\s+)?weh\b", "{value} tut weh", None),
    (rf"\b(?:ich\s+)?(?:wohne|lebe)\s+(?:jetzt\s+)?in\s+{_REST}", "Wohnt in {value}", _PLACE),
    (r"\bich\s+bin\s+nach\s+(?P<rest>\S.{0,80}?)\s+(?:um)?gezogen", "Wohnt in {value}", _PLACE),
    (rf"\b(?:ich\s+)?arbeite\s+als\s+{_REST}", "Arbeitet als {value}", _JOB),
    (r"\bich\s+bin\s+(?P<rest>(?:vegetarier|veganer)(?:in)?|vegetarisch|vegan)\b", "Ist {value}", _DIET),
    (r"\bich\s+ernähre\s+mich\s+(?P<rest>vegetarisch|vegan)", "Ernährt sich {value}", _DIET),
    (r"\bich\s+bin\s+(?P<rest>ledig|verheiratet|geschieden|verlobt|verwitwet)\b", "Ist {value}", _STATE),
    (
        (
            r"\bich\s+habe\s+(?P<rest>(?:ein|zwei|drei|vier|fünf|\d+)e?n?\s+(?:Kind|Kinder|Sohn|Söhne|Tochter|Töchter|"
            r"Katzen?|Hunde?|Hühner|Geschwister)\b.*)"
        ),
        "Hat {value}",
        None,
    ),
    (rf"\bmeine?\s+(?P<who>{_DE_ONE})\s+heißt\s+{_NAME}", "{who} heißt {value}", None),
    (rf"\b(?:ich\s+)?lerne\s+{_REST}", "Lernt {value}", None),
    (rf"\b(?:ich\s+)?spreche\s+{_REST}", "Spricht {value}", None),
    (rf"\b(?:ich\s+)?spiele\s+{_REST}", "Spielt {value}", None),
    (rf"\b(?:ich\s+)?studiere\s+{_REST}", "Studiert {value}", None),
    (r"\bich\s+esse\s+(?P<rest>(?:keine?n?|nie)\s.*)", "Isst {value}", None),
    (rf"\bich\s+mag\s+{_REST}", "Mag {value}", None),
    (rf"\bich\s+liebe\s+{_REST}", "Liebt {value}", None),
    (rf"\bich\s+hasse\s+{_REST}", "Hasst {value}", None),
    (r"\bich\s+bin\s+(?P<rest>Rentner(?:in)?|in\s+Rente|pensioniert|im\s+Ruhestand)\b", "Ist {value}", _JOB),
)
_FRENCH: _Said = (
    (r"\bj['’]ai\s+(?P<rest>mal\s+(?:au|aux|à\s+la|à\s+l['’])\s*\w+.*)", "A {value}", None),
    (r"\bmon\s+(?P<rest>\w+)\s+me\s+fait\s+mal\b", "A mal au {value}", None),
    (r"\bma\s+(?P<rest>\w+)\s+me\s+fait\s+mal\b", "A mal à la {value}", None),
    (r"\bmes\s+(?P<rest>\w+)\s+me\s+font\s+mal\b", "A mal aux {value}", None),
    (r"\b(?:j['’]habite|je\s+vis)\s+(?:maintenant\s+)?(?P<rest>(?:à|en|au|aux)\s.*)", "Habite {value}", _PLACE),
    (rf"\bje\s+travaille\s+comme\s+{_REST}", "Travaille comme {value}", _JOB),
    (r"\bje\s+suis\s+(?P<rest>végétarien(?:ne)?|végane?|vegan)\b", "Est {value}", _DIET),
    (r"\bje\s+suis\s+(?P<rest>célibataire|mariée?|divorcée?|fiancée?|veu(?:f|ve))\b", "Est {value}", _STATE),
    (
        r"\bj['’]ai\s+(?P<rest>(?:une?|deux|trois|quatre|cinq|\d+)\s+(?:enfants?|fils|filles?|chats?|chiens?|frères?|sœurs?)\b.*)",
        "A {value}",
        None,
    ),
    (rf"\b(?:mon|ma)\s+(?P<who>{_FR_ONE})\s+s['’]appelle\s+{_NAME}", "{who} s’appelle {value}", None),
    (rf"\bj['’]apprends\s+{_REST}", "Apprend {value}", None),
    (rf"\bje\s+parle\s+{_REST}", "Parle {value}", None),
    (rf"\bje\s+joue\s+{_REST}", "Joue {value}", None),
    (rf"\bj['’]étudie\s+{_REST}", "Étudie {value}", None),
    (rf"\bje\s+n['’]aime\s+pas\s+{_REST}", "N’aime pas {value}", None),
    (rf"\bje\s+ne\s+mange\s+pas\s+{_REST}", "Ne mange pas {value}", None),
    (rf"\bj['’]aime\s+{_REST}", "Aime {value}", None),
    (rf"\bj['’]adore\s+{_REST}", "Adore {value}", None),
    (rf"\bje\s+déteste\s+{_REST}", "Déteste {value}", None),
    (r"\bje\s+suis\s+(?P<rest>retraitée?|à\s+la\s+retraite)\b", "Est {value}", _JOB),
)
_SPANISH: _Said = (
    (r"\bamo\s+(?P<rest>a\s+\S.*)", "Ama {value}", None),
    (r"\bme\s+(?P<rest>duelen?\s+\S.*)", "Le {value}", None),
    (r"\btengo\s+(?P<rest>(?:\w+\s+)?dolor(?:es)?\b.*)", "Tiene {value}", None),
    (rf"\b(?:yo\s+)?vivo\s+(?:ahora\s+)?en\s+{_REST}", "Vive en {value}", _PLACE),
    (rf"\btrabajo\s+(?:como|de)\s+{_REST}", "Trabaja como {value}", _JOB),
    (r"\bsoy\s+(?P<rest>vegetarian[oa]|vegan[oa])\b", "Es {value}", _DIET),
    (r"\b(?:soy|estoy)\s+(?P<rest>solter[oa]|casad[oa]|divorciad[oa]|viud[oa]|prometid[oa])\b", "Está {value}", _STATE),
    (
        r"\btengo\s+(?P<rest>(?:una?|dos|tres|cuatro|cinco|\d+)\s+(?:hij[oa]s?|perr[oa]s?|gat[oa]s?|herman[oa]s?)\b.*)",
        "Tiene {value}",
        None,
    ),
    (rf"\bmi\s+(?P<who>{_ES_ONE})\s+se\s+llama\s+{_NAME}", "{who} se llama {value}", None),
    (rf"\b(?:estoy\s+aprendiendo|aprendo)\s+{_REST}", "Está aprendiendo {value}", None),
    (r"\bhablo\s+(?P<rest>(?!de\b|con\b)\S.*)", "Habla {value}", None),
    (rf"\bestudio\s+{_REST}", "Estudia {value}", None),
    (rf"\btoco\s+{_REST}", "Toca {value}", None),
    (r"\bno\s+me\s+(?P<rest>gustan?\s.*)", "No le {value}", None),
    (rf"\bno\s+como\s+{_REST}", "No come {value}", None),
    (r"\bme\s+(?P<rest>(?:gustan?|encantan?)\s.*)", "Le {value}", None),
    (rf"\bodio\s+{_REST}", "Odia {value}", None),
    (r"\bestoy\s+(?P<rest>jubilad[oa])\b", "Está {value}", _JOB),
)
_PORTUGUESE: _Said = (
    (r"\b(?:estou\s+com|tenho)\s+(?P<rest>dor(?:es)?\b.*)", "Tem {value}", None),
    (r"\bdói-me\s+(?P<rest>\S.*)", "Dói-lhe {value}", None),
    (r"\b(?:eu\s+)?moro\s+(?:agora\s+)?(?P<rest>(?:em|no|na)\s.*)", "Mora {value}", _PLACE),
    (rf"\btrabalho\s+como\s+{_REST}", "Trabalha como {value}", _JOB),
    (r"\bsou\s+(?P<rest>vegetarian[oa]|vegan[oa])\b", "É {value}", _DIET),
    (r"\bsou\s+(?P<rest>solteir[oa]|casad[oa]|divorciad[oa]|viúv[oa])\b", "É {value}", _STATE),
    (
        r"\btenho\s+(?P<rest>(?:uma?|dois|duas|três|quatro|cinco|\d+)\s+(?:filh[oa]s?|cães|cachorr[oa]s?|gat[oa]s?|irmãos?|irmãs?)\b.*)",
        "Tem {value}",
        None,
    ),
    (rf"\b(?:meu|minha)\s+(?P<who>{_PT_ONE})\s+(?:chama-se|se\s+chama)\s+{_NAME}", "{who} chama-se {value}", None),
    (rf"\b(?:estou\s+a\s+aprender|estou\s+aprendendo|aprendo)\s+{_REST}", "Aprende {value}", None),
    (r"\bfalo\s+(?P<rest>(?!de\b|com\b)\S.*)", "Fala {value}", None),
    (rf"\bestudo\s+{_REST}", "Estuda {value}", None),
    (rf"\bnão\s+gosto\s+de\s+{_REST}", "Não gosta de {value}", None),
    (rf"\bnão\s+como\s+{_REST}", "Não come {value}", None),
    (rf"\bgosto\s+de\s+{_REST}", "Gosta de {value}", None),
    (r"\badoro\s+(?P<rest>(?!(?:mi[aeo]|miei|il|lo|la|gli)\b|l['’])\S.*)", "Adora {value}", None),
    (rf"\beu\s+amo\s+{_REST}", "Ama {value}", None),
    (r"\b(?:sou|estou)\s+(?P<rest>reformad[oa]|aposentad[oa])\b", "Está {value}", _JOB),
)
_ITALIAN: _Said = (
    (r"\bho\s+(?P<rest>mal\s+d(?:i|['’]\w*)\s*\w*.*)", "Ha {value}", None),
    (r"\bmi\s+(?P<rest>f(?:a|anno)\s+male\s+\S.*)", "{value}", None),
    (rf"\bamo\s+{_REST}", "Ama {value}", None),
    (rf"\badoro\s+{_REST}", "Adora {value}", None),
    (rf"\b(?:abito|vivo)\s+(?:ora\s+)?a\s+{_REST}", "Abita a {value}", _PLACE),
    (rf"\blavoro\s+come\s+{_REST}", "Lavora come {value}", _JOB),
    (r"\bsono\s+(?P<rest>vegetarian[oa]|vegan[oa])\b", "È {value}", _DIET),
    (rf"\b(?:mio|mia)\s+(?P<who>{_IT_ONE})\s+si\s+chiama\s+{_NAME}", "{who} si chiama {value}", None),
    (
        r"\bho\s+(?P<rest>(?:un[oa']?|due|tre|quattro|cinque|\d+)\s*(?:figl[ioa]+|gatt[ioae]|can[ei]|fratelli|sorelle)\b.*)",
        "Ha {value}",
        None,
    ),
    (rf"\bsto\s+imparando\s+{_REST}", "Sta imparando {value}", None),
    (rf"\bnon\s+mi\s+piac(?:e|ciono)\s+{_REST}", "Non ama {value}", None),
    (rf"\bmi\s+piac(?:e|ciono)\s+{_REST}", "Ama {value}", None),
)
# Languages that do not separate words by spaces, or leave out the word for "I".
_CHINESE: _Said = (
    (
        r"我(?:的)?(?P<rest>(?:头|背|腰|膝盖|牙|胃|肚子|脖子|肩膀|喉咙|脚|手)(?:很|有点)?(?:疼|痛)[^，。！,.!\s]{0,8})",
        "{value}",
        None,
    ),
    (r"我(?P<rest>爱(?!好)[^，。！,.!\s吗]{1,12})", "{value}", None),
    (r"我(?:现在)?住在(?P<rest>[^，。！,.!\s]{1,12})", "住在{value}", _PLACE),
    (r"我对(?P<rest>[^，。！,.!\s]{1,8})过敏", "对{value}过敏", None),
    (r"我(?:吃素|是素食者|是素食主义者)(?P<rest>)", "吃素", None),
    (r"我(?:是|当)(?:一名|一个|个)?(?P<rest>[^，。！,.!\s]{1,6}(?:师|生|员|工|医|手))", "是{value}", _JOB),
    (r"我(?P<rest>已经退休|退休)了?", "{value}", _JOB),
    (r"我有(?P<rest>[一两二三四五\d]个?(?:孩子|儿子|女儿|只?猫|只?狗)[^。！.!]{0,10})", "有{value}", None),
    (r"我在学(?P<rest>[^，。！,.!\s]{1,10})", "在学{value}", None),
    (r"我(?P<rest>不?喜欢[^，。！,.!\s吗]{1,12})", "{value}", None),
    (r"我(?P<rest>讨厌[^，。！,.!\s]{1,12})", "{value}", None),
)
_ARABIC: _Said = (
    (r"(?:عندي|لدي)\s+(?P<rest>(?:ألم|صداع|آلام)(?:\s+\S+){0,3})", "لديه {value}", None),
    (r"(?P<rest>(?:رأس|ظهر|بطن|كتف|حلق))ي\s+يؤلمني", "{value}ه يؤلمه", None),
    (r"(?P<rest>(?:ركبت|رقبت|معدت|قدم|يد))ي\s+تؤلمني", "{value}ه تؤلمه", None),
    (r"(?:أعيش|أسكن)\s+في\s+(?P<rest>\S+)", "يعيش في {value}", _PLACE),
    (r"أعمل\s+(?P<rest>\S+)", "يعمل {value}", _JOB),
    (r"(?:عندي|لدي)\s+حساسية\s+(?:من|تجاه)\s+(?P<rest>\S+)", "حساسية من {value}", None),
    (r"أنا\s+(?P<rest>نباتية?)\b", "{value}", _DIET),
    (r"أنا\s+(?P<rest>متقاعدة?)\b", "{value}", _JOB),
    (r"(?:أتعلم)\s+(?P<rest>\S+)", "يتعلم {value}", None),
    (r"(?:عندي|لدي)\s+(?P<rest>(?:طفلان|طفلين|ولدان|ثلاثة\s+أطفال|ابنة|ابن|قطة|كلب)(?:\s+\S+)?)", "لديه {value}", None),
    (r"لا\s+أحب\s+(?P<rest>\S+(?:\s+\S+)?)", "لا يحب {value}", None),
    (r"أحب\s+(?P<rest>\S+(?:\s+\S+)?)", "يحب {value}", None),
)

_BY_LANGUAGE = {
    "de": _GERMAN,
    "fr": _FRENCH,
    "es": _SPANISH,
    "pt": _PORTUGUESE,
    "it": _ITALIAN,
    "zh": _CHINESE,
    "ar": _ARABIC,
}

RULES: tuple[tuple[re.Pattern[str], Maker], ...] = (
    (
        re.compile(
            r"(?<!\w)(?:allergisch\s+gegen|allergique\s+(?:aux?|à\s+la|à)|al[ée]rgic[oa]\s+(?:a\s+los|a\s+las|a\s+la|al|aos?|às?|a)|"
            rf"allergic[oa]\s+(?:alle|agli|alla|ai|al|a))\s+{_REST}",
            re.IGNORECASE,
        ),
        maker.allergy_as_said,
    ),
    (
        re.compile(
            r"^\W*(?:bitte\s+)?(?P<rest>(?:antworte|répond(?:s|ez)|responde|responda|contesta|rispondi)\s+(?:\w+\s+){0,2}?"
            r"(?:kurz|knapp|ausführlich|bri[eè]vement|court\w*|brevemente|en\s+breve|auf\s+\w+|en\s+\w+|in\s+\w+|em\s+\w+)\b.*)",
            re.IGNORECASE,
        ),
        maker.wish,
    ),
    *(
        (re.compile(pattern, re.IGNORECASE), maker.noted(told, key, language))
        for language, rules in _BY_LANGUAGE.items()
        for pattern, told, key in rules
    ),
)
