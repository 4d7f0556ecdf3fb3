"""Whether a quote supports the key, or the ownership, that a model gave a statement, and how to word it if not."""

from __future__ import annotations

import re

from webapp.memories.rules.human_words import speaks_as_another, tells_of_telling
from webapp.memories.rules.keys import canonical_fact_key
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.operations import Action, MemoryOperation
from webapp.memories.rules.soundness import (
    LATIN_OR_CYRILLIC,
    Fit,
    fit,
    is_bare,
    is_complete,
    is_miscounted,
    is_translated,
    own_words,
    places,
    value_stands,
)
from webapp.memories.rules.speech import about_somebody_close, names_somebody, of_them, told_of_them
from webapp.memories.rules.turning import denies, is_turned, is_wish, says_otherwise
from webapp.text.canonical import canonical_statement

NAME_KEYS = frozenset({"identity/name", "identity/preferred_name"})
_PERSONAL = ("identity/", "work/", "health/")
_STATES = frozenset(
    ("identity/location", "identity/relationship", "work/job", "work/employer", "health/diet", "identity/origin")
)
"""What people may wish to be otherwise."""
_BEING = re.compile(
    r"(?<!\w)(?:i['’]?m|i\s+am|ich\s+bin|je\s+suis|soy|sono|sou|ik\s+ben|this\s+is)\W+"
    r"(?:(?:called|named|actually|still|just|der|die|el|la|il|o|a)\s+)?[\"“'‘]?$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?<!\w)(?:my\s+(?:\w+\s+)?name|i\s+(?:\w+\s+)?be\s+called|call(?:s|ed)?\s+me|name['’]s|go(?:es)?\s+by|known\s+as|"
    r"ich\s+hei(?:ß|ss)e|mein\s+(?:\w+\s+)?name|nenn(?:t|en)?\s+mich|m['’]appelle|mon\s+(?:pré)?nom|"
    r"appelle[sz]?[\s-]moi|"
    r"me\s+llamo|mi\s+nombre|llám[ae]n?me|mi\s+chiamo|chiama(?:te)?mi|meu\s+nome|me\s+chamo|chamo-me|"
    r"chame-me|ik\s+heet|اسمي|"
    r"mijn\s+(?:\w+\s+)?naam|noem\s+me|зовут)(?!\w)[^.!?\n]{0,40}$|"
    r"(?:我叫|我是|名字|名前は|私は|저는|제 이름은)[^。！？\n]{0,12}$",
    re.IGNORECASE,
)
_IS = re.compile(r"(?<!\w)(?:is|it['’]s|ist|c['’]est|es|è|é)\W+$", re.IGNORECASE)
_NAMING_AFTER = re.compile(
    r"^\W{0,3}(?:here|is\s+my\s+name|is\s+what|ist\s+mein\s+name|c['’]est\s+moi)\b", re.IGNORECASE
)
_CUE_WORDS = {
    "identity/location": r"liv(?:e|es|ed|ing)\b home house flat apartment place mov(?:e|ed|ing)\b based resid "
    r"settl stay(?:ing)?\b wohn leb zog zieh gezogen umgezogen umzug zuhause habit vis\b vivons déménag install "
    r"viv mud reside casa abit trasfer mor[oa] moram mudei woon verhuis жив переехал",
    "identity/origin": r"from\b born grew raised native originally aus\b geboren aufgewachsen viens originaire né "
    r"grandi soy\b nac[ií] crec[ií] vengo nat[oa] cresciut sou\b nasci cresci kom\b из\b родил",
    "identity/birthday": r"born birthday birth turn(?:ed|ing)?\b geboren geburtstag né anniversaire nac[ií] cumpleaños "
    r"nat[oa] compleanno nasci aniversário verjaar jarig родил день",
    "identity/pronouns": r"pronoun he\b she\b they\b pronomen er\b sie\b pronom elle il\b pronombre ella él",
    "identity/relationship": r"marri single divorc engaged widow dating relationship partner wife husband separated "
    r"split\s+up broke\s+up "
    r"verheiratet ledig geheiratet scheid geschieden verlobt "
    r"verwitwet vergeben marié célibataire divorcé fiancé veu[fv] casa(?:d|mos) cas(?:é|ei|ám) solte "
    r"divorciad comprometid viud sposat celibe nubile fidanzat noiv getrouwd vrijgezel gescheiden",
    "work/job": r"work job career profession occupation trade employ retired student stud(?:y|ying) hired promot "
    r"train(?:ed|ee) (?:i['’]?m|i\s+am|i['’]ve\s+been|being|am|became|become|as)\s+(?:(?:now|still)\s+)?(?:an?|the)\b "
    r"i\s+(?:run|own|teach|mend|drive|manage|lead)\b arbeit beruf bin\b studier rentner travail métier suis\b étudi "
    r"retrait trabaj oficio soy\b estudi jubilad lavor mestiere sono\b studi pensionat trabalh sou\b aposentad werk "
    r"beroep ben\b работа",
    "work/employer": r"work job employ join hired company firm at\b for\b arbeit bei\b firma travail chez entreprise "
    r"trabaj empresa en\b lavor presso azienda trabalh werk bij\b bedrijf работа",
    "health/diet": r"vega vége veget végét veggie pesc eat diet kosher halal gluten lactos dairy keto meat food "
    r"coeliac celiac cook ess\b esse ernähr isst fleisch mang régime viande com[eo] dieta carne alimentación "
    r"eet dieet vlees не\s+ем",
}
CUES = {key: re.compile(rf"(?<!\w)(?:{'|'.join(cues.split())})", re.IGNORECASE) for key, cues in _CUE_WORDS.items()}
_HOME = re.compile(
    r"(?:(?<!\w)(?:i|we)\s+(?:now\s+|currently\s+)?live\s+in|i['’]?m\s+(?:now\s+)?(?:living|based)\s+in|"
    r"home\s+is(?:\s+now)?|"
    r"(?:i|we|i['’]ve|we['’]ve|have)\s+(?:just\s+|now\s+|recently\s+)?(?:moved|relocated)\s+(?:from\s+\S+\s+)?to|"
    r"(?:wohne|lebe|wohnen|leben)\s+(?:wir\s+|ich\s+)?(?:jetzt\s+|nun\s+|inzwischen\s+)?in|"
    r"(?:habite|vis|habitons|vivons)\s+(?:maintenant\s+)?à|(?:vivo|vivimos)\s+(?:ahora\s+)?en|(?:vivo|"
    r"abito|viviamo)\s+(?:ora\s+)?a|"
    r"(?:moro|moramos|vivo)\s+(?:agora\s+)?em|(?:woon|wonen)\s+(?:ik\s+|we\s+)?(?:nu\s+)?in)\s+"
    r"(?P<value>[A-ZÀ-ÞÄÖÜ][\w'’-]*(?:\s+[A-ZÀ-ÞÄÖÜ][\w'’-]*){0,2})",
)


_IS_HOME = re.compile(
    r"^\W*(?P<value>[A-ZÀ-ÞÄÖÜ][\w'’-]*(?:\s+[A-ZÀ-ÞÄÖÜ][\w'’-]*){0,2})\s+is\s+(?:now\s+)?(?:my\s+|our\s+)?(?:new\s+)?home(?:\s+now)?(?!\w)"
)
_STATUS = re.compile(
    r"(?:(?<!\w)(?:i['’]?m|i\s+am|i['’]ve\s+been|we['’]?re|we\s+are|i|we)\s+(?:just\s+|now\s+|finally\s+|recently\s+|happily\s+|newly\s+|still\s+|"
    r"got\s+|have\s+)*|"
    r"(?<!\w)ich\s+bin\s+(?:\w+\s+)?|j(?:e\s+suis|['’]ai)\s+|(?<!\w)(?:estoy|soy)\s+|(?<!\w)sono\s+|(?<!\w)(?:sou|estou)\s+|ik\s+ben\s+)"
    r"(?P<value>married|single|divorced|engaged|widowed|separated|split\s+up|broke\s+up|verheiratet|ledig|single|geschieden|verlobt|"
    r"verwitwet|mariée?|célibataire|divorcée?|fiancée?|casad[oa]|solter[oa]|divorciad[oa]|viud[oa]|sposat[oa]|celibe|nubile|"
    r"divorziat[oa]|solteir[oa]|divorciad[oa]|getrouwd|vrijgezel|gescheiden)(?!\w)(?!\s+(?:child|mother|father|mum|mom|dad|to\s+finding))",
    re.IGNORECASE,
)


_WEDDING = re.compile(
    r"(?<!\w)(?:(?:i|we|we['’]ve|i['’]ve)\s+(?:have\s+|finally\s+|just\s+|recently\s+)*(?P<en>tied\s+the\s+knot|wed|got\s+divorced|got\s+engaged)|"
    r"(?:ich\s+habe|wir\s+haben|hab(?:e|en)?\s+(?:ich|wir)?)\s+(?:\w+\s+){0,4}?(?P<de>geheiratet)|"
    r"(?:ich\s+habe|wir\s+haben|haben\s+wir|habe\s+ich)\s+(?:mich|uns)\s+(?:\w+\s+){0,3}?(?P<de2>scheiden\s+lassen|verlobt|getrennt)|"
    r"(?:je\s+me\s+suis|nous\s+nous\s+sommes|on\s+s['’]est)\s+(?P<fr>mariée?s?|fiancée?s?|séparée?s?)|(?:j['’]ai|nous\s+avons)\s+(?P<fr2>divorcé)|"
    r"(?:me|nos)\s+(?:he\s+|hemos\s+)?(?P<es>casé|casado|casamos|divorcié|divorciado|divorciamos|comprometí|comprometido|casei|divorciei|"
    r"casámos|divorciámos)|(?P<pt>casei-me|divorciei-me|casámo-nos)|"
    r"(?:mi\s+sono|ci\s+siamo)\s+(?P<it>sposat[oaie]|fidanzat[oaie]|separat[oaie])|(?:ho|abbiamo)\s+(?P<it2>divorziato)|"
    r"(?:ik\s+ben|wij?\s+zijn|we\s+zijn)\s+(?:\w+\s+){0,3}?(?P<nl>getrouwd|gescheiden|verloofd))(?!\w)",
    re.IGNORECASE,
)
_STATES_OF_LIFE = tuple(
    re.compile(rf"(?<!\w)(?:{stems})", re.IGNORECASE)
    for stems in (
        r"married|wed\b|tied\s+the\s+knot|verheirat|geheirat|marié|casad|casé|casamos|casei|casámo|sposat|getrouwd",
        r"divorc|geschied|gescheid|scheiden|divorzi",
        r"engaged|verlob|fianc|comprometi|fidanz|noiv|verloofd",
        r"single|ledig|célibat|solter|solteir|celibe|nubile|vrijgezel",
        r"widow|verwitw|veuf|veuve|viud|vedov|viúv|weduw",
        r"separat|getrennt|sépar|split\s+up|broke\s+up",
    )
)


def _same_state(value: str, quote: str) -> bool:
    """Whether a value and a quote name one marital status in different forms: "verheiratet", "ich habe geheiratet"."""
    return any(state.search(value) and state.search(quote) for state in _STATES_OF_LIFE)


def key_holds(key: str, value: str | None, quote: str, *, is_known: bool = False) -> bool:
    """Whether a quote really gives the user a value of a key.

    The quote must contain the value, and it must be the user's: not that of somebody close to them and, for a name,
    with words by which people say who they are. A new value for a known value of that key (`is_known`) needs no such
    words: "Scheveningen it is" is enough for somebody whose home is known.
    """
    if value is None:
        return key not in NAME_KEYS
    in_another_form = key == "identity/relationship" and _same_state(value, quote)
    if not (value_stands(value, quote) or in_another_form) or denies(value, quote):
        return False
    if key in _STATES and is_wish(quote):
        return False
    if not key.startswith(_PERSONAL):
        return True
    cue = CUES.get(key)
    if not is_known and cue is not None and LATIN_OR_CYRILLIC.search(quote) and not cue.search(quote):
        return False
    if about_somebody_close(quote, value):
        return False
    if key in NAME_KEYS:
        return canonical_statement(quote) == canonical_statement(value) or any(
            _is_named(quote, start, end) or (is_known and _IS.search(quote[:start]) is not None)
            for start, end in places(value, quote)
        )
    return True


def _is_named(quote: str, start: int, end: int) -> bool:
    """Whether the words around a name say that it is the speaker's; after a bare "I'm" it must be capitalised."""
    before = quote[:start]
    if _NAMED.search(before) or _NAMING_AFTER.search(quote[end:]):
        return True
    return bool(_BEING.search(before)) and not quote[start].islower()


def home_in(quote: str) -> str | None:
    """Where a quote says that the speaker lives, in the most common words for it; otherwise None."""
    found = _HOME.search(quote[:1].lower() + quote[1:]) or _HOME.search(quote) or _IS_HOME.search(quote)
    return found["value"] if found else None


def status_in(quote: str) -> str | None:
    """The speaker's marital status in a quote (married, single, divorced …), in the most common words for it."""
    if found := _STATUS.search(quote):
        return found["value"]
    wedding = _WEDDING.search(quote)
    return next((value for value in wedding.groupdict().values() if value), None) if wedding else None


def _unfiled(content: str, quote: str) -> tuple[str | None, str | None]:
    """The key and value of something said explicitly but not filed: without its key, a move would leave two homes, and
    a wedding somebody who is single."""
    for key, value in (("identity/location", home_in(quote)), ("identity/relationship", status_in(quote))):
        if value and value_stands(value, content) and key_holds(key, value, quote):
            return key, value
    return None, None


def is_users_own(key: str | None) -> bool:
    """Whether a key, or none, files a statement as being about the user; others say themselves whom they are about."""
    return key is None or key.startswith(_PERSONAL)


def reworded(operation: MemoryOperation, quote: str, known_key: str | None = None) -> MemoryOperation:
    """An operation whose key, kind and words match its quote; a retraction, or one that is already sound, is unchanged.

    `known_key` is the key of the known memory that it changes.
    """
    if operation.action is Action.RETRACT or not operation.content:
        return operation
    key, value = canonical_fact_key(operation.fact_key, operation.category), operation.fact_value
    kind, content = operation.memory_type, operation.content
    if value and not value_stands(value, content) and is_translated(content, quote):
        content = own_words(quote)  # in the language in which it was said, which contains the value too
    if tells_of_telling(content, quote) or speaks_as_another(content, quote):
        content = own_words(quote, value if value_stands(value, quote) else None)
    if key is not None and value and not value_stands(value, content) and not is_bare(content, value):
        key = key if about_somebody_close(quote, value) else None  # filed under something it does not say
    if key is not None and not key_holds(key, value, quote, is_known=key == known_key):
        # What was filed as the user's own name or home is somebody else's: the words themselves say whose.
        if value_stands(value, quote) and (key in NAME_KEYS or about_somebody_close(quote, value)):
            content = own_words(quote, value)
        key = None
    if value and is_bare(content, value):
        content = own_words(quote, value)
    elif (
        is_turned(content, quote)
        or says_otherwise(content, quote)
        or is_miscounted(content, quote)
        or (kind is not MemoryType.INSTRUCTION and key not in NAME_KEYS and is_wish(quote) and not is_wish(content))
    ):
        content, key = own_words(quote), None
    elif _gives_way(
        content, _without_old(operation, quote), value if key else None, key in NAME_KEYS, operation.beside
    ):
        content = own_words(quote)
    if key is None and kind is not MemoryType.INSTRUCTION:
        key, value = _unfiled(content, quote)
    if is_users_own(key) and about_somebody_close(quote) and not about_somebody_close(content):
        key, kind = None, MemoryType.ENTITY
        if not names_somebody(content, quote):
            content = own_words(of_them(quote) if told_of_them(quote) else quote)
    return operation.model_copy(
        update={"fact_key": key, "fact_value": value if key else None, "memory_type": kind, "content": content}
    )


_OLD = re.compile(
    r"(?<!\w)(?:from|instead\s+of|rather\s+than|no\s+longer(?:\s+(?:in|at|with))?|von|statt|nicht\s+mehr(?:\s+(?:in|bei))?|"
    r"au\s+lieu\s+de|en\s+vez\s+de|invece\s+di)\s+(?:the\s+|my\s+)?(?-i:[A-ZÀ-ÞА-Я0-9])[\w'’-]*(?:\s+(?-i:[A-ZÀ-ÞА-Я])[\w'’-]*)*",
    re.IGNORECASE,
)


def _without_old(operation: MemoryOperation, quote: str) -> str:
    """The part of a quote to keep: a replacement need not name what it replaces, "I switched from A to B"."""
    if operation.action is not Action.SUPERSEDE:
        return quote
    return _OLD.sub(" ", quote)


def _gives_way(content: str, quote: str, value: str | None, is_name: bool, beside: tuple[str, ...]) -> bool:
    """Whether the user's own words are better than a statement: they hold everything that no other statement of the
    same words (`beside`) says, and are in the user's language."""
    if is_translated(content, quote):
        return True
    if is_name and value_stands(value, content):
        return False
    return not is_complete(content, quote, value, is_name=is_name, beside=beside) and fit(content, quote) is Fit.SAYS_IT
