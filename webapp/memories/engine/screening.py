"""Screening of secrets: what must never become a memory, whoever asks for it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum


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

    Numbers count only when their checksum holds and their form or the words around them say what they are, so that
    phone numbers, dates, order numbers and other long numbers pass.
    """
    for text in texts:
        if not text:
            continue
        plain = unicodedata.normalize("NFKC", text)
        for kind, found in _SCREENS:
            if found(plain):
                return kind
    return None


# Passwords ---------------------------------------------------------------------------------------------------------

_PASSWORD_WORDS = (
    r"password|passwd|passphrase|passcode|pass\s?code|pwd|pin(?:\s?(?:code|number))?|cvv|cvc|security code|seed phrase|"
    r"recovery phrase|passwort|kennwort|geheimzahl|mot de passe|code secret|contraseña|clave secreta|senha|"
    r"password di accesso|parola d'ordine|wachtwoord|hasło|пароль|密码|密碼|パスワード|暗証番号|비밀번호|كلمة السر"
)
_COPULA = r"(?:\s+(?:is|was|are|ist|lautet|est|es|é|è)\b|\s*[:=]|是|は|：|은|는)"
_PASSWORD = re.compile(
    rf"(?<![^\W一-鿿぀-ヿ가-힯])(?P<word>{_PASSWORD_WORDS})(?:\s+(?:for|to|of|für|pour|de|para)\s+[^:=]{{1,40}}?)?{_COPULA}\s*[\"'`“‘]?"
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


def _has_password(text: str) -> bool:
    for match in _PASSWORD.finditer(text):
        value = match["value"].rstrip(".,;!?")
        digits_only = match["word"].lower().startswith(("pin", "cv", "security", "geheim"))
        if _TALK.match(value) or (digits_only and not re.search(r"\d{3}", value)):
            continue
        return True
    return False


# Keys and tokens ---------------------------------------------------------------------------------------------------

_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}")
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
    | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}   # JSON web token
    )
    """,
    re.VERBOSE,
)
_LABELLED_TOKEN = re.compile(
    r"(?<!\w)(?:api[\s_-]?key|api[\s_-]?token|access[\s_-]?(?:key|token)|auth[\s_-]?token|bearer|secret[\s_-]?key|"
    r"client[\s_-]?secret|refresh[\s_-]?token|token|secret)(?:\s+(?:for|to|of)\s+\S{1,40})?(?:\s+is\b|\s*[:=])?\s*"
    r"[\"'`]?(?P<value>[A-Za-z0-9_\-+/=.]{12,})",
    re.IGNORECASE,
)
_URL_CREDENTIALS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,64}:[^\s/@]{3,}@\S", re.IGNORECASE)


def _has_token(text: str) -> bool:
    if _KNOWN_TOKENS.search(text) or _URL_CREDENTIALS.search(text):
        return True
    return any(_looks_random(match["value"].rstrip(".")) for match in _LABELLED_TOKEN.finditer(text))


def _looks_random(value: str) -> bool:
    """Letters mixed with digits and an entropy that words and identifiers do not reach."""
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    counts = [value.count(ch) for ch in set(value)]
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts) >= 3.0


# Numbers with a checksum -------------------------------------------------------------------------------------------

_CARD = re.compile(r"(?<![\d.,+/-])\d(?:[ -]?\d){12,18}(?![\d]|[.,]\d)")
_CARD_PREFIX = re.compile(r"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|3(?:0[0-5]|[68])|6(?:011|4[4-9]|5|2)|35")
_CARD_LENGTHS = {"3": {14, 15, 16}, "4": {13, 16, 19}, "5": {16}, "2": {16}, "6": {16, 17, 18, 19}}
_IBAN = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Z0-9])")
_IBAN_LENGTHS = {
    "AD": 24,
    "AE": 23,
    "AT": 20,
    "BE": 16,
    "BG": 22,
    "CH": 21,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DK": 18,
    "EE": 20,
    "ES": 24,
    "FI": 18,
    "FR": 27,
    "GB": 22,
    "GR": 27,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IS": 26,
    "IT": 27,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "MC": 27,
    "MT": 31,
    "NL": 18,
    "NO": 15,
    "PL": 28,
    "PT": 25,
    "RO": 24,
    "SA": 24,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "SM": 27,
    "TR": 26,
    "UA": 29,
}


def _has_card(text: str) -> bool:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        in_form = _CARD_PREFIX.match(digits) and len(digits) in _CARD_LENGTHS.get(digits[0], ())
        if in_form and len(set(digits)) > 1 and luhn_holds(digits):
            return True
    return False


def luhn_holds(digits: str) -> bool:
    """Whether a string of ASCII digits passes the Luhn check (ISO/IEC 7812-1)."""
    doubled = [int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _has_iban(text: str) -> bool:
    for match in _IBAN.finditer(text.upper()):
        compact = match.group().replace(" ", "")
        length = _IBAN_LENGTHS.get(compact[:2])
        # The pattern may have run on into the words behind the number.
        if length and len(compact) >= length:
            candidate = compact[:length]
            if int("".join(str(int(ch, 36)) for ch in candidate[4:] + candidate[:4])) % 97 == 1:
                return True
    return False


def _us_social_security(match: re.Match[str]) -> bool:
    area, group, serial = match.groups()
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


def _french_social_security(match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match.group())
    return 97 - int(digits[:13]) % 97 == int(digits[13:])


def _spanish_dni(match: re.Match[str]) -> bool:
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(match.group(1)) % 23] == match.group(2).upper()


def _italian_fiscal_code(match: re.Match[str]) -> bool:
    code = match.group().upper()
    odd = dict(
        zip(
            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            [
                1,
                0,
                5,
                7,
                9,
                13,
                15,
                17,
                19,
                21,
                1,
                0,
                5,
                7,
                9,
                13,
                15,
                17,
                19,
                21,
                2,
                4,
                18,
                20,
                11,
                3,
                6,
                8,
                12,
                14,
                16,
                10,
                22,
                25,
                24,
                23,
            ],
            strict=True,
        )
    )
    even = {ch: int(ch) if ch.isdigit() else ord(ch) - 65 for ch in odd}
    total = sum(even[ch] if i % 2 else odd[ch] for i, ch in enumerate(code[:15]))
    return chr(65 + total % 26) == code[15]


def _brazilian_cpf(match: re.Match[str]) -> bool:
    digits = [int(ch) for ch in match.group() if ch.isdigit()]
    checks = [sum(d * (n + 1 - i) for i, d in enumerate(digits[:n])) * 10 % 11 % 10 for n in (9, 10)]
    return len(set(digits)) > 1 and checks == digits[9:]


_NATIONAL_IDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    (re.compile(r"(?<![\d-])(\d{3})-(\d{2})-(\d{4})(?![\d-])"), _us_social_security),
    (re.compile(r"(?<!\d)[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2}(?!\d)"), _french_social_security),
    (re.compile(r"(?<![\w])(\d{8})-?([A-Za-z])(?!\w)"), _spanish_dni),
    (re.compile(r"(?<!\w)[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z](?!\w)"), _italian_fiscal_code),
    (re.compile(r"(?<!\d)\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)"), _brazilian_cpf),
)


def _has_national_id(text: str) -> bool:
    return any(holds(match) for pattern, holds in _NATIONAL_IDS for match in pattern.finditer(text))


_SCREENS: tuple[tuple[Secret, Callable[[str], object]], ...] = (
    (Secret.PRIVATE_KEY, _PRIVATE_KEY.search),
    (Secret.API_KEY, _has_token),
    (Secret.PASSWORD, _has_password),
    (Secret.BANK_ACCOUNT, _has_iban),
    (Secret.PAYMENT_CARD, _has_card),
    (Secret.NATIONAL_ID, _has_national_id),
)
