"""Whether a statement reverses what its quote says: a "not" that it leaves out, or a wish told as a fact.

The first telling words after a negation, within its clause, are denied. Pure.
"""

from __future__ import annotations

import re

from webapp.memories.rules.likeness import ending_in, is_ending, is_negative, negates_in_cjk
from webapp.memories.rules.phrases import FIRST_PERSON, any_of
from webapp.memories.rules.soundness import is_said, telling
from webapp.text.quotes import Span
from webapp.text.words import stems, words

_NEGATION = re.compile(
    r"(?<!\w)(?:\w+n['’]t|(?:not|nicht|pas|non|não|niet)(?!\s+(?:only|just|nur|seulement|solo|só|alleen)\b)|"
    r"no(?!\s+s[oó]lo\b)|never|cannot|without|"
    r"kein\w*|niemals|nie|jamais|aucune?|nunca|geen|nooit|не|нет|никогда|لا|لم|لن|ليس|ليست|لست)(?!\w)",
    re.IGNORECASE,
)
_CONCORD = re.compile(r"(?<!\w)(?:jamais|aucune?|nunca|никогда)(?!\w)", re.IGNORECASE)
"""Words that, next to another negation, deny once and not twice: "no bebo nunca"."""
_SAYING_NO = re.compile(
    r"^\W*(?:no|nope|nah|nein|non|não|nee|нет)\W+(?=(?:i|i['’]\w+|my|we|ich|mein\w*|je|j['’]\w+|mon|ma|yo|mi|io|eu|ik|я)\b)",
    re.IGNORECASE,
)
_IDIOMS = re.compile(
    r"(?<!\w)(?:(?:do\s+not|don['’]?t|never|please\s+not)\s+(?:ever\s+)?(?:forget|mind)|(?:can['’]?t|cannot)\s+wait|"
    r"vergiss\s+(?:bitte\s+)?nicht|nicht\s+vergessen|n['’]oubli\w+\s+pas|no\s+(?:te\s+)?olvid\w+|non\s+dimenticar\w*|"
    r"n[ãa]o\s+(?:te\s+|se\s+)?esque[çc]\w+|vergeet\s+(?:a\.?u\.?b\.?\s+)?niet|не\s+забуд\w+)(?!\w)|别忘了?|不要忘记|忘れないで",
    re.IGNORECASE,
)
"""What sounds like a "not" but denies nothing: "don't forget that I love Bach"."""
_CLAUSES = re.compile(
    r"[,;:!?…—()。，；：、！？]|[.](?!\w)|(?<!\w)(?:but|aber|sondern|mais|pero|sino|ma|mas|maar|но|while|whereas)(?!\w)",
    re.IGNORECASE,
)
_TRANSPARENT = frozenset(
    stems(words("think believe guess longer anymore more gave give given up quit stopped stop used plus mehr più meer"))
)
_HALVES = re.compile(r"(?<!\w)(?:and|und|et|y|e|en|и)(?!\w)", re.IGNORECASE)
_LIKING = frozenset(
    stems(
        words(
            "like likes liked love loves loved enjoy enjoys enjoyed adore adores dislike dislikes hate hates hated "
            "detest detests loathe loathes mag mögen liebe liebt hasse hasst aime adore déteste gusta gustan encanta "
            "amo ama odio odia piace piacciono adoro adora gosto gosta detesto detesta люблю любит ненавижу ненавидит"
        )
    )
)
_NEAR = 2
_FAR = 4
"""How many telling words after a negation it may apply to, for a statement and for a value: "no vivo en Sevilla"."""
_DOUBT = re.compile(
    r"(?<!\w)(?:maybe|perhaps|might|vielleicht|peut-être|quizás?|tal\s+vez|forse|talvez|misschien|возможно|ربما)(?!\w)|也许|かもしれ",
    re.IGNORECASE,
)
WISH = re.compile(
    r"(?<!\w)"
    + any_of(
        "would_(?:love|like)_to ['’]d_(?:love|like)_to want_to wanna hope_to hoping_to dream(?:ing)?_of wish_to "
        "someday some_day one_day(?!_(?:a|per|each|every)\\b) maybe perhaps might plan(?:ning)?_to "
        "thinking_(?:about|of) considering intend_to möchte würde_gerne? hätte_gerne? hoffe träume vielleicht "
        "eines_Tages irgendwann überlege voudrais aimerais espère rêve_de peut-être envisage quisiera me_gustaría "
        "quiero sueño_con quizás? tal_vez algún_día ojalá vorrei piacerebbe spero sogno forse magari gostaria "
        "quero sonho talvez zou_graag wil_graag misschien ooit хочу хотела? "
        "мечтаю возможно أريد أتمنى ربما"
    ).replace(r"['’]d", r"\w+['’]d")
    + r"(?!\w)|我?(?:想要?|希望|打算|也许)(?!念)|たいです|かもしれ",
    re.IGNORECASE,
)
_MOST_BEFORE = 8


def denied_in(quote: str, near: int = _NEAR) -> list[tuple[set[str], str]]:
    """What a quote denies: the `near` telling words after the negation in each clause with one (two deny nothing)."""
    found = []
    for clause in _CLAUSES.split(_IDIOMS.sub(" ", _SAYING_NO.sub("", quote))):
        negations = list(_NEGATION.finditer(clause))
        ending = ending_in(clause)
        count = 1 if _CONCORD.search(clause) else len(negations)
        if (count % 2 == 0 and ending is None) or not clause.strip():
            continue
        place = min([match.start() for match in negations] + ([ending.start()] if ending else []))
        terms = [term for term in telling(_NEGATION.sub(" ", clause[place:])) if term not in _TRANSPARENT]
        if not terms:  # "Fleisch esse ich nicht"
            terms = [term for term in telling(clause[:place]) if term not in _TRANSPARENT][-near:]
        if terms:
            found.append((set(terms[:near]), clause))
    return found


def denies(value: str | None, quote: str) -> bool:
    """Whether a quote says that a value is not, or no longer, the speaker's."""
    if not value or is_negative(value) or _NEGATION.search(value):
        return False
    held = set(stems(words(value)))
    if negates_in_cjk(quote):
        return any(value in clause and negates_in_cjk(clause) for clause in _CLAUSES.split(quote))
    return any(any(is_said(term, held) for term in denied) for denied, _ in denied_in(quote, _FAR))


def is_turned(content: str, quote: str) -> bool:
    """Whether a statement leaves out the "not" of its quote, but otherwise uses the quote's own words."""
    if is_negative(content) or is_ending(content) or _NEGATION.search(content):
        return False
    held, said = set(telling(content)), set(stems(words(quote)))
    if negates_in_cjk(quote):
        clauses = [clause for clause in _CLAUSES.split(quote) if negates_in_cjk(clause)]
        return any(held & set(stems(words(clause))) for clause in clauses)
    if sum(not is_said(term, said) for term in held) > 1:
        return False  # it is in other words
    for denied, clause in denied_in(quote):
        own = set(stems(words(clause)))
        elsewhere = any(is_said(term, said) and not is_said(term, own) for term in held)
        if not elsewhere and any(is_said(term, held) for term in denied):
            return True
    return False


def says_otherwise(content: str, quote: str) -> bool:
    """Whether a statement denies what a quote says, or says what it denies, using only the quote's words.

    "Loves coriander" contradicts "I hate coriander": words of liking and of disliking count as one word here.
    """
    named = set(telling(_NEGATION.sub(" ", content))) - _TRANSPARENT - _LIKING
    if not named:
        return False
    parts = [(part, set(stems(words(part)))) for part in _CLAUSES.split(_IDIOMS.sub(" ", quote)) if part.strip()]
    clauses = [(part, said) for part, said in parts if any(is_said(term, said) for term in named)]
    said_in_all = set().union(*(said for _, said in clauses))
    if not clauses or not all(is_said(term, said_in_all) for term in named):
        return False
    denial, likes = _denies(content), not _LIKING.isdisjoint(stems(words(content)))
    return all(_denies(_narrowest(clause, named, likes=likes)) is not denial for clause, _ in clauses)


def _narrowest(clause: str, named: set[str], *, likes: bool) -> str:
    """The half of a clause that contains it all, as in "I love tea and hate coffee"; the clause if neither does."""
    for half in _HALVES.split(clause):
        said = set(stems(words(half)))
        if all(is_said(term, said) for term in named) and (not likes or said & _LIKING):
            return half
    return clause


def _denies(text: str) -> bool:
    return is_negative(text) or is_ending(text) or (_NEGATION.search(text) is not None and len(denied_in(text)) > 0)


def is_wish(quote: str) -> bool:
    """Whether a quote says what somebody would like, plans or thinks possible."""
    return WISH.search(quote) is not None


def is_longing(quote: str) -> bool:
    """Whether a quote says what somebody would like or plans, which is not so yet."""
    return WISH.search(_DOUBT.sub(" ", quote)) is not None


def governed(span: Span, message: str) -> Span:
    """A quote extended by preceding words in its clause that reverse it: "I would love to", "I never said"."""
    start = max((found.end() for found in _CLAUSES.finditer(message, 0, span.start)), default=0)
    start = max(start, message.rfind("\n", 0, span.start) + 1)
    before = message[start : span.start]
    turned = list(_NEGATION.finditer(before)) + list(WISH.finditer(before))
    if not before.strip() or len(before.split()) > _MOST_BEFORE or not FIRST_PERSON.search(before):
        return span
    if not any(len(before[match.end() :].split()) <= 2 for match in turned):
        return span
    return Span(start + len(before) - len(before.lstrip()), span.end)
