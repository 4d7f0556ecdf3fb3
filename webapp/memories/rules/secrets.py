"""Screening for secrets: what must never become a memory, whoever asks for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum

from stdnum import iban, luhn

from webapp.memories.rules.key_forms import PRIVATE_KEY, has_token
from webapp.memories.rules.national_ids import has_national_id


class Secret(StrEnum):
    """The kinds of secret that are recognised."""

    PASSWORD = "password"
    API_KEY = "api_key"
    PRIVATE_KEY = "private_key"
    PAYMENT_CARD = "payment_card"
    BANK_ACCOUNT = "bank_account"
    NATIONAL_ID = "national_id"


def find_secret(*texts: str | None) -> Secret | None:
    """The first kind of secret found in any of `texts`, or None.

    Numbers count only if their checksum is valid and their form or the words around them say what they are, so that
    phone numbers, dates, order numbers and other long numbers pass.
    """
    for text in texts:
        if not text:
            continue
        plain = _plain(text)
        forms = (plain, re.sub("[_/]", " ", plain)) if _KEY.fullmatch(plain) else (plain,)
        for kind, found in _SCREENS:
            if any(found(form) for form in forms):
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
    folded = unicodedata.normalize("NFKC", text)
    seen = (ch for ch in folded if unicodedata.category(ch) not in ("Cf", "Mn", "Me") and ch not in _BLANK)
    return "".join(str(unicodedata.decimal(ch)) if ch.isdecimal() else ch for ch in seen)


# Passwords ---------------------------------------------------------------------------------------------------------

_PASSWORD_WORDS = (
    r"password|passwd|passphrase|passcode|pass\s?code|pwd?|pin(?:\s?(?:code|number))?|cvv|cvc|security code|"
    r"seed phrase|"
    r"recovery phrase|passwort|kennwort|geheimzahl|mot de passe|code secret|contraseña|clave secreta|senha|"
    r"password di accesso|parola d'ordine|wachtwoord|hasło|пароль|密码|密碼|パスワード|暗証番号|비밀번호|비번|"
    r"كلمة (?:السر|المرور)|şifrem?|parolam?"
)
_COPULA = r"(?:\s\([^()\n]{1,30}\))?[*_`|]*(?:\s+(?:is|was|are|ist|lautet|est|es|é|è|هي|هو)\b|\s*[:=|→]|是|は|：|은|는)"
_PASSWORD = re.compile(
    rf"(?<![^\W一-鿿぀-ヿ가-힯])(?P<word>{_PASSWORD_WORDS})(?:\s+(?:for|to|of|für|vom|von|zum|pour|de|du|del|della|para|do|da|van)\s+[^:=]{{1,40}}?)?{_COPULA}[*_`]*\s*[\"'`“‘]?"
    r"(?P<value>[^\s\"'`”’]{3,})",
    re.IGNORECASE,
)
# What may follow "my password is …" in talk about passwords.
_TALK = re.compile(
    r"(?:too|not|very|never|always|only|the|a|an|my|in|on|at|stored|saved|kept|managed|wrong|weak|strong|old|new|safe|"
    r"secure|expired|required|forgotten|lost|gone|long|short|changed|reset|broken|incorrect|missing|being|hard|easy|"
    r"needed|zu|nicht|im|in|trop|pas|dans|muy|no|en|same|different|something|important|about|used|what|that|"
    r"manager|protected|based|like|unique|hashed|encrypted|rotated|asked|one|fun)\W*$",
    re.IGNORECASE,
)


# `DB_PASSWORD=…`, `smtp-pass: …`: a program's setting whose name ends in the word.
_ASSIGNED = re.compile(
    r"(?<!\w)[A-Za-z][\w-]{0,60}[_-](?:password|passwd|passphrase|pwd|pass)\s*[:=]\s*[\"'`]?(?P<value>[^\s\"'`]{3,})",
    re.IGNORECASE,
)
_CARD_CODE = re.compile(
    r"(?<!\w)(?:cvv2?|cvc2?|card (?:verification|security) (?:code|value|number)|card code|security code|"
    r"prüfnummer|cryptogramme|(?:three|3|four|4)\s(?:digits|numbers)\son\sthe\sback)\D{0,16}\d{3,4}(?!\d)",
    re.IGNORECASE,
)


# "the password's hunter2", "hunter2 is my password", "login: ana / hunter2": without a verb in between, a word counts
# if it mixes letters with digits, as names of things seldom do.
_BARE_PASSWORD = re.compile(
    r"(?<![^\W_])(?:password|passwd|passphrase|passcode|pwd?|passwort|kennwort|wachtwoord|contraseña|senha|"
    r"mot de passe|hasło|пароль|şifrem?|parolam?|كلمة (?:السر|المرور)|(?:recovery|backup)[ -]codes?|"
    r"wiederherstellungscodes?|codes? de secours)"
    r"(?:['’]s)?\s+[\"'`“‘]?(?P<value>[^\s\"'`”’]{6,64})",
    re.IGNORECASE,
)
_PASSWORD_AFTER = re.compile(
    r"(?<!\S)[\"'`“‘]?(?P<value>[^\s\"'`”’]{6,64})[\"'`”’]?,?\s+(?:(?:is|as|for|ist|als|es|est)\s+)?(?:my|the|our|mein|das|unser|mi|la|mon|le)\s+"
    r"(?:[\w-]+\s+){0,2}?(?:password|passphrase|passcode|passwort|kennwort|contraseña|mot de passe)"
    r"(?!\w|[\s-]+(?:manager|safe|vault|app|tool|generator|keeper|store|protected|free))",  # 1Password is no password
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?<!\w)(?:log-?in|credentials|zugangsdaten|identifiants|credenciales)\b[^\n]{0,80}?\s[/|,]\s*(?P<value>\S{6,})",
    re.IGNORECASE,
)
_PASS_IS = re.compile(
    r"(?<!\w)(?:the|my|our|with|and)\s+(?:pass|pw)(?:\s+(?:is|was)\b|['’]s|\s*[:=])\s*[\"'`“‘]?(?P<value>[^\s\"'`”’]{6,64})",
    re.IGNORECASE,
)
_WIFI = re.compile(
    r"(?<!\w)(?:wi-?fi|wlan|hotspot)\b[^.\n]{0,60}?\b(?:key|code|schlüssel|clave|clé)(?:\s+(?:is|ist|es|est)\b|\s*[:=])\s*(?P<value>\S{6,})",
    re.IGNORECASE,
)
# What routers print on their labels and put into codes to scan.
_ROUTER = re.compile(
    r"(?<!\w)WIFI:(?:[STHRU]:[^;\n]*;)*P:[^;\n]|"
    r"(?<!\w)(?:WPA[23]?|WEP|PSK)(?:[ /-]?(?:PSK|key|\d))*[*\"']*\s*[:=|]\s*[\"']?\S{8,}",
    re.IGNORECASE,
)
# A passphrase of joined words ("tulip-orbit-canyon") on one line with what it opens.
_JOINED = r"(?<![\w-])(?:[^\W\d_]{3,}[-_.]){2,}[^\W\d_]{3,}(?![-_.]?\w*[/@])"
_OPENS = rf"(?<![^\W_])(?:{_PASSWORD_WORDS}|wi-?fi|wlan|hotspot)(?!\w)"
_JOINED_PHRASE = re.compile(rf"{_OPENS}[^\n]{{0,60}}?{_JOINED}|{_JOINED}[^\n]{{0,60}}?{_OPENS}", re.IGNORECASE)
# Google's password for one app: four groups of four letters.
_APP_PASSWORD = re.compile(
    r"(?<!\w)pass(?:word)?s?\W+(?:is\s+)?[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4}(?![\w ])", re.IGNORECASE
)
_SPARE_CODES = re.compile(
    r"(?<!\w)(?:recovery|backup)[ -]codes?\W+(?:(?:is|are)\W+)?(?=[a-z-]*\d)[a-z0-9]{4,8}-[a-z0-9]{4,8}(?!\w)",
    re.IGNORECASE,
)
# Without a verb, as it is written on a note: "PIN code 4821". Six digits are a postal code in India.
_PIN = re.compile(
    r"(?<!\w)(?:pin[\s-]?(?:code|number|nummer)|(?:my|the|our|atm|sim|bank|card|phone)(?:['’]s)?\s+pin)\W{0,3}"
    r"\d{4,5}(?![\w/]|[.,:-]\d)|^\W*pin\W{0,3}\d{4,8}\W*$",
    re.IGNORECASE,
)
# The words that a wallet is restored from, all of them short and plain.
_SEED = re.compile(
    r"(?<!\w)(?:(?:seed|recovery|backup|mnemonic|wallet)(?:\sseed)?\s(?:words?|phrase)|mnemonic)\W+(?:(?:is|are)\W+)?"
    r"(?:(?!(?:the|and|for|are|was|with|not|but|has)\s)[a-z]{3,8}[\s,]+){11}[a-z]{3,8}(?!\w)",
    re.IGNORECASE,
)
_LOCK_CODE = re.compile(
    r"(?<!\w)(?:(?:alarm|door|gate|vault|safe|lock|padlock|locker|lockbox|keypad|entry|garage|unlock|phone|access|one-time|verification|"
    r"confirmation|2fa|login|tür|tresor|zugangs)[\s-]?(?:code|combination|combo)|otp|(?:code|combination|combo)\s+(?:to|for|of)\s+"
    r"(?:the|my|our)\s+(?:\w+\s+)?(?:alarm|door|gate|vault|safe|lock|padlock|locker|lockbox|garage|phone|house|office|building))"
    r"(?:\s+(?:is|was|ist)\b|['’]s|\s*[:=])?\s*#?\d(?:[ -]?\d){2,}"
    r"(?![ -]?\d|\s*(?:%|mg|ml|lines?|loc|words|pages|times|people|years|zeilen|euros?|dollars?|calories)(?!\w))",
    re.IGNORECASE,
)


_STANDING_ALONE = (_CARD_CODE, _LOCK_CODE, _PIN, _SEED, _APP_PASSWORD, _SPARE_CODES, _ROUTER, _JOINED_PHRASE)


def _is_mixed(value: str) -> bool:
    """Return whether a word of six or more characters has a digit and two letters in a row, as passwords do."""
    value = value.strip(".,;!?()")
    return len(value) >= 6 and bool(re.search(r"\d", value) and re.search(r"[^\W\d_]{2}", value))


def _has_password(text: str) -> bool:
    if any(pattern.search(text) for pattern in _STANDING_ALONE):
        return True
    for pattern in (_BARE_PASSWORD, _PASSWORD_AFTER, _PASS_IS, _LOGIN, _WIFI):
        if any(_is_mixed(match["value"]) for match in pattern.finditer(text)):
            return True
    if any(not _TALK.match(match["value"].rstrip(".,;!?")) for match in _ASSIGNED.finditer(text)):
        return True
    for match in _PASSWORD.finditer(text):
        value = match["value"].rstrip(".,;!?")
        digits_only = match["word"].lower().startswith(("pin", "cv", "security", "geheim"))
        if _TALK.match(value) or (digits_only and not re.search(r"\d{3}", value)):
            continue
        return True
    return False


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
        if in_form and len(set(digits)) > 1 and luhn_holds(digits):
            return True
    return False


def luhn_holds(digits: str) -> bool:
    """Return whether a string of ASCII digits passes the Luhn check (ISO/IEC 7812-1)."""
    return luhn.is_valid(digits)


_ACCOUNT = re.compile(
    r"(?<!\w)(?:(?:bank\s+)?account\s+(?:number|no\.?|nr\.?|#)|acct\.?\s*(?:number|no\.?|#)?|sort\s+code|routing(?:\s+number)?|"
    r"kontonummer|konto-?nr\.?|bankleitzahl|blz|numéro\s+de\s+compte|número\s+de\s+cuenta|rekeningnummer)"
    r"(?:\s+(?:is|ist|est|es)\b|\s*[:=#])?\s*\d(?:[ -]?\d){5,}",
    re.IGNORECASE,
)


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
    (Secret.PASSWORD, _has_password),
    (Secret.BANK_ACCOUNT, _has_iban),
    (Secret.PAYMENT_CARD, _has_card),
    (Secret.NATIONAL_ID, has_national_id),
)
