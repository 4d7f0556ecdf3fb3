"""Screening for secrets: what must never become a memory, whoever asks for it."""

import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum

from stdnum import iban, luhn

from webapp.memories.rules.secret_forms import PRIVATE_KEY, has_national_id, has_token, labels, names


class Secret(StrEnum):
    """The kinds of secret that are recognised."""

    PASSWORD = "password"
    API_KEY = "api_key"
    PRIVATE_KEY = "private_key"
    PAYMENT_CARD = "payment_card"
    BANK_ACCOUNT = "bank_account"
    NATIONAL_ID = "national_id"


def find_secret(*texts: str | None) -> Secret | None:
    """Return the first kind of secret found in any of `texts`, or None.

    Numbers need a valid checksum and a form or words that say what they are.
    """
    for text in texts:
        if not text:
            continue
        plain = _plain(text)
        forms = (plain, re.sub("[_/]", " ", plain)) if _KEY.fullmatch(plain) else (plain,)
        for kind, pattern in _SCREENS:
            if any(pattern(form) for form in forms):
                return kind
    return None


_KEY = re.compile(r"[\w./-]*[a-z]_[\w./-]*", re.ASCII)
"""A fact's key has underscores for spaces."""


_BLANK = "\u115f\u1160\u2800\u3164"
"""Letters and signs that show nothing."""


def _plain(text: str) -> str:
    """Compatibility forms folded, digits of any script as ASCII, and invisible characters and marks removed."""
    if text.isascii():
        return text
    normalized = unicodedata.normalize("NFKC", text)
    seen = (ch for ch in normalized if unicodedata.category(ch) not in ("Cf", "Mn", "Me") and ch not in _BLANK)
    return "".join(str(unicodedata.decimal(ch)) if ch.isdecimal() else ch for ch in seen)


# Passwords ---------------------------------------------------------------------------------------------------------

_GAP = r"[^\n.;!?]{0,40}?"
"""What may stand between a label and its secret, within a sentence: "for the router is"."""
_MARK = r"(?:\s?\([^()\n]{1,30}\))?[*_`|\"]*\s*(?:[:=|→：]|->)[*_`|]*\s*[\"'`“‘]?"
"""A colon or the like after a label, as on a note, in a table or a setting."""
_MIXED = r"(?<![A-Za-z0-9])(?=\S{0,63}\d)(?=\S{0,62}[^\W\d_]{2})[^\s\"'`”’]{6,64}"
"""Letters with digits, as passwords have and names of things seldom."""
_END = r"(?=[\"'`”’)\]*|#]*\s*(?:$|[\n.;,!?]))"
"""The end of a clause: "the door code is 4471", not "the login code is 2000 lines"."""
_DIGITS = rf"(?<!\d)\d(?:[ -]?\d){{2,7}}{_END}"
_JOINED_WORDS = r"(?<![\w-])(?:[^\W\d_]{3,}[-_.]){2,}[^\W\d_]{3,}(?![-_.]?\w*[/@])"
_OPENS = labels("password", "network")
_LOCK_CODE = (
    rf"(?:{labels('lock')}[\s-]?{labels('lock_code')}|{labels('lock_code')}(?:\s+\w+){{1,3}}?\s+{labels('lock')})"
)
_PASSWORDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{labels('password')}{_MARK}[^\s\"'`”’|]{{3,}}",
        rf"{labels('password')}{_GAP}{_MIXED}",
        # A single plain word after a single small one: "my password is swordfish".
        rf"{labels('password')}\s+[^\W\d_]{{1,3}}\s+[\"'`“‘]?[^\W\d_]{{4,}}{_END}",
        rf"{_MIXED},?\s+(?:[^\W\d_]+\s+){{0,4}}?{labels('password')}{_END}",
        # `DB_PASSWORD=…`, `smtp-pass: …`: a program's setting whose name ends in the label.
        rf"(?<!\w)[A-Za-z][\w-]{{0,60}}[_-](?:{names('setting')})\s*[:=]\s*[\"'`]?[^\s\"'`]{{3,}}",
        rf"{labels('login')}[^\n]{{0,80}}?\s[/|,]\s*{_MIXED}",
        rf"{labels('network')}[^.\n]{{0,60}}?{labels('network_key')}{_GAP}{_MIXED}",
        # What routers print on their labels and put into codes to scan.
        r"(?<!\w)WIFI:(?:[STHRU]:[^;\n]*;)*P:[^;\n]",
        r"(?<!\w)(?:WPA[23]?|WEP|PSK)(?:[ /-]?(?:PSK|key|\d))*[*\"']*\s*[:=|]\s*[\"']?\S{8,}",
        # A passphrase of joined words ("tulip-orbit-canyon") on one line with what it opens.
        rf"{_OPENS}[^\n]{{0,60}}?{_JOINED_WORDS}|{_JOINED_WORDS}[^\n]{{0,60}}?{_OPENS}",
        # Google's password for one app: four groups of four letters.
        rf"{labels('password')}\W+(?:is\s+)?[a-z]{{4}} [a-z]{{4}} [a-z]{{4}} [a-z]{{4}}(?![\w ])",
        rf"{labels('spare_code')}\W+(?:\w+\W+)?(?=[a-z-]*\d)[a-z0-9]{{4,8}}-[a-z0-9]{{4,8}}(?!\w)",
        # The words that a wallet is restored from, all of them short and plain.
        rf"{labels('seed')}\W+(?:(?:is|are)\W+)?(?:(?!(?:{names('no_seed')})\s)[a-z]{{3,8}}[\s,]+){{11}}[a-z]{{3,8}}(?!\w)",
        rf"{labels('card_code')}(?:[^\n.;!?\d]{{0,24}}?|{_MARK})(?<!\d)\d{{3,4}}(?!\d)",
        # Six digits without a mark are a postal code in India, and four that look like one are a year.
        rf"{labels('pin')}{_MARK}\d{{4,8}}(?!\d)",
        rf"{labels('pin')}\W{{0,3}}\d{{4,5}}{_END}",
        rf"{labels('pin')}(?:\s+[^\W\d_]+){{1,4}}\s+(?!(?:19|20)\d\d\b)\d{{4,5}}{_END}",
        rf"(?:{_LOCK_CODE}|{labels('one_time')})(?:{_MARK}|(?:['’]s)?(?:\s+[^\W\d_]+){{0,2}}\s+)#?{_DIGITS}",
    )
)


# Numbers with a checksum -------------------------------------------------------------------------------------------

# Not a decimal, but a date may follow: "4111…1111,12/29".
_CARD = re.compile(r"(?<![\d+/-])(?<!\d[.,])\d(?:[ -]{0,2}\d){12,18}(?!\d|[.,]\d(?!\d/\d))")
_BETWEEN = r"\s?[._/·–—*|,;:]\s?"
_CARD_IN_GROUPS = re.compile(
    rf"(?<![\w.])\d{{4}}(?:({_BETWEEN})\d{{4}}\1\d{{4}}\1\d{{4}}|({_BETWEEN})\d{{6}}\2\d{{5}})(?!\w)"
)
_CARD_PREFIX = re.compile(r"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|[68])|6(?:011|4[4-9]|5|2)|35")
_CARD_LENGTHS = {"3": {14, 15, 16}, "4": {13, 16, 19}, "5": {16}, "2": {16}, "6": {16, 17, 18, 19}}
_IBAN = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\d{2}(?:[ .-]?[A-Z0-9]{4}){2,7}(?:[ .-]?[A-Z0-9]{1,4})?(?![A-Z0-9])")


def _has_card(text: str) -> bool:
    for match in (*_CARD.finditer(text), *_CARD_IN_GROUPS.finditer(text)):
        digits = re.sub(r"\D", "", match.group())
        in_form = _CARD_PREFIX.match(digits) and len(digits) in _CARD_LENGTHS.get(digits[0], ())
        if in_form and len(set(digits)) > 1 and luhn.is_valid(digits):
            return True
    return False


_ACCOUNT = re.compile(rf"{labels('account')}\.?(?:\W+\w+)?\W{{0,3}}(?<!\d)\d(?:[ -]?\d){{5,}}", re.IGNORECASE)


def _has_iban(text: str) -> bool:
    if _ACCOUNT.search(text):
        return True
    for match in _IBAN.finditer(text.upper()):
        compact = re.sub(r"[ .-]", "", match.group())
        # The pattern may have extended into the words after the number.
        if any(iban.is_valid(compact[:length], check_country=False) for length in range(15, len(compact) + 1)):
            return True
    return False


_SCREENS: tuple[tuple[Secret, Callable[[str], object]], ...] = (
    (Secret.PRIVATE_KEY, PRIVATE_KEY.search),
    (Secret.API_KEY, has_token),
    (Secret.PASSWORD, lambda text: any(pattern.search(text) for pattern in _PASSWORDS)),
    (Secret.BANK_ACCOUNT, _has_iban),
    (Secret.PAYMENT_CARD, _has_card),
    (Secret.NATIONAL_ID, has_national_id),
)
