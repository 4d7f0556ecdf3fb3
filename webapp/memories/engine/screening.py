"""Screening for secrets: what must never become a memory, whoever asks for it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum

from stdnum import iban, luhn

from webapp.memories.engine.national_ids import has_national_id


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
        for kind, found in _SCREENS:
            if found(plain):
                return kind
    return None


def _plain(text: str) -> str:
    """Compatibility forms folded, digits of any script as ASCII, and invisible characters removed."""
    if text.isascii():
        return text
    seen = (ch for ch in unicodedata.normalize("NFKC", text) if unicodedata.category(ch) != "Cf")
    return "".join(str(unicodedata.decimal(ch)) if ch.isdecimal() else ch for ch in seen)


# Passwords ---------------------------------------------------------------------------------------------------------

_PASSWORD_WORDS = (
    r"password|passwd|passphrase|passcode|pass\s?code|pwd?|pin(?:\s?(?:code|number))?|cvv|cvc|security code|"
    r"seed phrase|"
    r"recovery phrase|passwort|kennwort|geheimzahl|mot de passe|code secret|contraseña|clave secreta|senha|"
    r"password di accesso|parola d'ordine|wachtwoord|hasło|пароль|密码|密碼|パスワード|暗証番号|비밀번호|비번|"
    r"كلمة (?:السر|المرور)|şifrem?|parolam?"
)
_COPULA = r"(?:\s+(?:is|was|are|ist|lautet|est|es|é|è|هي|هو)\b|\s*[:=]|是|は|：|은|는)"
_PASSWORD = re.compile(
    rf"(?<![^\W一-鿿぀-ヿ가-힯])(?P<word>{_PASSWORD_WORDS})(?:\s+(?:for|to|of|für|vom|von|zum|pour|de|du|del|della|para|do|da|van)\s+[^:=]{{1,40}}?)?{_COPULA}\s*[\"'`“‘]?"
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
    r"prüfnummer|cryptogramme)\D{0,16}\d{3,4}(?!\d)",
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
# Google's password for one app: four groups of four letters.
_APP_PASSWORD = re.compile(
    r"(?<!\w)pass(?:word)?s?\W+(?:is\s+)?[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4}(?![\w ])", re.IGNORECASE
)
_SPARE_CODES = re.compile(
    r"(?<!\w)(?:recovery|backup)[ -]codes?\W+(?:(?:is|are)\W+)?(?=[a-z-]*\d)[a-z0-9]{4,8}-[a-z0-9]{4,8}(?!\w)",
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


def _is_mixed(value: str) -> bool:
    """Whether a word of six or more characters has a digit and two letters in a row, as passwords do."""
    value = value.strip(".,;!?()")
    return len(value) >= 6 and bool(re.search(r"\d", value) and re.search(r"[^\W\d_]{2}", value))


def _has_password(text: str) -> bool:
    if any(pattern.search(text) for pattern in (_CARD_CODE, _LOCK_CODE, _APP_PASSWORD, _SPARE_CODES)):
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


# Keys and tokens ---------------------------------------------------------------------------------------------------

_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\b(?i:AGE-SECRET-KEY-1[0-9A-Z]{20,})")
_KNOWN_TOKENS = re.compile(
    r"""
    (?<![A-Za-z0-9])(?:
      sk-(?:proj-|ant-|live-|or-)?[A-Za-z0-9_-]{16,}       # OpenAI and the like
    | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}          # Stripe
    | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,} | glpat-[A-Za-z0-9_-]{16,}
    | (?:AKIA|ASIA)[A-Z0-9]{16}                            # AWS
    | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,}    # Google
    | xox[abposr]-[A-Za-z0-9-]{10,}                        # Slack
    | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{40,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | cmp[lrsw]_[A-Za-z0-9_-]{30,}                           # our own
    | \d{8,10}:AA[A-Za-z0-9_-]{32,}                        # Telegram
    | SK[0-9a-f]{32}                                       # Twilio
    | [MNO][A-Za-z\d_-]{23,25}\.[\w-]{6}\.[\w-]{27,}      # Discord
    | key-[0-9a-f]{32}                                     # Mailgun
    | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32} | sq0(?:atp|csp)-[\w-]{22,}
    | do[opr]_v1_[a-f0-9]{64} | dapi[a-f0-9]{32} | gl(?:dt|rt|ptt|ft|soat|agent)-[\w-]{16,}
    | gsk_[A-Za-z0-9]{40,} | xai-[A-Za-z0-9]{40,} | pplx-[A-Za-z0-9]{40,} | lin_api_[A-Za-z0-9]{30,}
    | ntn_[A-Za-z0-9]{40,} | figd_[\w-]{30,} | dp\.(?:pt|st)\.[\w.-]{30,} | hv[sb]\.[\w-]{20,}
    | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}   # JSON web token
    )
    """,
    re.VERBOSE,
)
_AZURE = re.compile(
    r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{20,}={0,2}|[?&]sig=[A-Za-z0-9%+/]{20,}", re.IGNORECASE
)
_WIREGUARD = re.compile(r"(?<!\w)(?:Private|Preshared)Key\s*=\s*[A-Za-z0-9+/]{43}=", re.IGNORECASE)
# A wallet's root key, or a key in the form that wallets import.
_WALLET = re.compile(r"\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{80,}|private key\W+(?:is\s+)?[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b")
# Anyone who knows such an address can post to where it leads.
_WEBHOOK = re.compile(
    r"hooks\.slack\.com/(?:services|workflows)/[\w/]{16,}|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}|"
    r"webhook\.office\.com/webhookb2/\S{30,}",
    re.IGNORECASE,
)
_BASIC = re.compile(r"(?<!\w)Authorization:\s*Basic\s+[A-Za-z0-9+/]{8,}={0,2}", re.IGNORECASE)
_LABELLED_TOKEN = re.compile(
    r"(?<![^\W_])(?:account[\s_-]?key|signing[\s_-]?key|encryption[\s_-]?key|secret[\s_-]?access[\s_-]?key|api[\s_-]?key|api[\s_-]?token|access[\s_-]?(?:key|token)|auth[\s_-]?token|bearer|secret[\s_-]?key|"
    r"client[\s_-]?secret|refresh[\s_-]?token|token|secret)(?:\s+(?:for|to|of)\s+\S{1,40})?(?:\s+is\b|\s*[:=])?\s*"
    r"[\"'`]?(?P<value>[A-Za-z0-9_\-+/=.~]{12,})",
    re.IGNORECASE,
)
_URL_CREDENTIALS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,64}:[^\s/@]{3,}@\S", re.IGNORECASE)


# An AWS secret has no marker: forty base64 characters in both cases, unlike hashes and paths.
_FORTY = re.compile(
    r"(?<![A-Za-z0-9/+=_.-])(?=[A-Za-z0-9/+]*[a-z])(?=[A-Za-z0-9/+]*[A-Z])(?=[A-Za-z0-9/+]*\d)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])"
)


def _has_token(text: str) -> bool:
    if any(_entropy(match.group()) >= 4.2 for match in _FORTY.finditer(text)):
        return True
    if any(
        pattern.search(text)
        for pattern in (_KNOWN_TOKENS, _URL_CREDENTIALS, _AZURE, _WIREGUARD, _BASIC, _WEBHOOK, _WALLET)
    ):
        return True
    return any(_looks_random(match["value"].rstrip(".")) for match in _LABELLED_TOKEN.finditer(text))


def _looks_random(value: str) -> bool:
    """Letters mixed with digits, and an entropy that words and identifiers do not reach."""
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    return _entropy(value) >= 3.0


def _entropy(value: str) -> float:
    """Bits per character."""
    counts = [value.count(ch) for ch in set(value)]
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


# Numbers with a checksum -------------------------------------------------------------------------------------------

_CARD = re.compile(r"(?<![\d.,+/-])\d(?:[ -]?\d){12,18}(?![\d]|[.,]\d)")
_CARD_IN_GROUPS = re.compile(r"(?<![\w.])\d{4}([._/·–—*])\d{4}\1\d{4}\1\d{4}(?!\w)")
_CARD_PREFIX = re.compile(r"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|[68])|6(?:011|4[4-9]|5|2)|35")
_CARD_LENGTHS = {"3": {14, 15, 16}, "4": {13, 16, 19}, "5": {16}, "2": {16}, "6": {16, 17, 18, 19}}
_IBAN = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Z0-9])")


def _has_card(text: str) -> bool:
    for match in (*_CARD.finditer(text), *_CARD_IN_GROUPS.finditer(text)):
        digits = re.sub(r"\D", "", match.group())
        in_form = _CARD_PREFIX.match(digits) and len(digits) in _CARD_LENGTHS.get(digits[0], ())
        if in_form and len(set(digits)) > 1 and luhn_holds(digits):
            return True
    return False


def luhn_holds(digits: str) -> bool:
    """Whether a string of ASCII digits passes the Luhn check (ISO/IEC 7812-1)."""
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
        compact = match.group().replace(" ", "")
        # The pattern may have extended into the words after the number.
        if any(iban.is_valid(compact[:length], check_country=False) for length in range(15, len(compact) + 1)):
            return True
    return False


_SCREENS: tuple[tuple[Secret, Callable[[str], object]], ...] = (
    (Secret.PRIVATE_KEY, _PRIVATE_KEY.search),
    (Secret.API_KEY, _has_token),
    (Secret.PASSWORD, _has_password),
    (Secret.BANK_ACCOUNT, _has_iban),
    (Secret.PAYMENT_CARD, _has_card),
    (Secret.NATIONAL_ID, has_national_id),
)
