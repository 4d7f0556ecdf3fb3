"""The forms of secrets: keys and tokens by their look, national ids and cards by their checksums."""

import json
import math
import re
from importlib import import_module
from pathlib import Path

_LABELS: dict[str, list[str]] = json.loads(Path(__file__).with_name("secret_labels.json").read_text("utf-8"))
# Labels in scripts without spaces stand within a run of letters.
_BEGIN = "(?<![^\\W_一-鿿぀-ヿ가-힯])"
_END = "(?![a-z\u00e0-\u024f\u0370-\u052f])"


def labels(*groups: str) -> str:
    """Return a pattern, for use without regard to case, of the labels of some groups as whole words."""
    return f"{_BEGIN}(?:{names(*groups)}){_END}"


def names(*groups: str) -> str:
    """Return the labels of some groups as alternatives, the longest first; a space may be a hyphen, or missing."""
    labels = sorted({label for group in groups for label in _LABELS[group]}, key=lambda label: (-len(label), label))
    return "|".join(re.escape(label).replace("\\ ", r"[\s_-]?") for label in labels)


PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\b(?i:AGE-SECRET-KEY-1[0-9A-Z]{20,})")
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
    | (?:bot)?\d{8,10}:A[A-Za-z0-9_-]{33,}                # Telegram
    | [\w~.-]{3}[78]Q~[\w~.-]{31,34}                      # Azure
    | SK[0-9a-f]{32}                                       # Twilio
    | [MNO][A-Za-z\d_-]{23,25}\.[\w-]{6}\.[\w-]{27,}      # Discord
    | key-[0-9a-f]{32}                                     # Mailgun
    | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32} | sq0(?:atp|csp)-[\w-]{22,}
    | do[opr]_v1_[a-f0-9]{64} | dapi[a-f0-9]{32} | gl(?:dt|rt|ptt|ft|soat|agent)-[\w-]{16,}
    | whsec_[A-Za-z0-9+/=]{24,} | xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{16,} | GOCSPX-[\w-]{20,} | dckr_pat_[\w-]{20,}
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
_WALLET = re.compile(
    r"\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{80,}|\b[5KL](?=[a-zA-Z]*\d)[1-9A-HJ-NP-Za-km-z]{50,51}\b|"
    rf"(?i:{labels('wallet_key')})\W+(?:\w+\s+)?(?:0x)?[0-9a-fA-F]{{64}}\b"
)
# What an app for one-time codes is set up with.
_ONE_TIME = re.compile(rf"(?i:{labels('one_time_seed')})\W+(?:\w+\W+){{0,3}}?[A-Z2-7]{{16,}}(?!\w)")
# Anyone who knows such a URL can post to where it leads.
_WEBHOOK = re.compile(
    r"hooks\.slack\.com/(?:services|workflows)/[\w/]{16,}|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}|"
    r"webhook\.office\.com/webhookb2/\S{30,}",
    re.IGNORECASE,
)
_BASIC = re.compile(r"(?<!\w)Authorization:\s*Basic\s+[A-Za-z0-9+/]{8,}={0,2}", re.IGNORECASE)
_LABELLED_TOKEN = re.compile(
    rf"{labels('token')}(?:\s+\S{{1,40}}){{0,3}}?[\s:=]*[\"'`]?(?P<value>[A-Za-z0-9_\-+/=.~]{{12,}})", re.IGNORECASE
)
_URL_CREDENTIALS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,64}:[^\s/@]{3,}@\S", re.IGNORECASE)


# An AWS secret has no marker: forty base64 characters in both cases, unlike hashes and paths.
_FORTY = re.compile(
    r"(?<![A-Za-z0-9/+=_.-])(?=[A-Za-z0-9/+]*[a-z])(?=[A-Za-z0-9/+]*[A-Z])(?=[A-Za-z0-9/+]*\d)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])"
)


def has_token(text: str) -> bool:
    """Return whether a text contains the key of a service, or a token, or a URL that works like one."""
    if any(_entropy(match.group()) >= 4.2 for match in _FORTY.finditer(text)):
        return True
    if any(
        pattern.search(text)
        for pattern in (_KNOWN_TOKENS, _URL_CREDENTIALS, _AZURE, _WIREGUARD, _BASIC, _WEBHOOK, _WALLET, _ONE_TIME)
    ):
        return True
    return any(_looks_random(match["value"].rstrip(".")) for match in _LABELLED_TOKEN.finditer(text))


def _looks_random(value: str) -> bool:
    """Letters mixed with digits, and an entropy that words and identifiers do not reach."""
    if not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    return _entropy(value) >= 3.0


def _entropy(value: str) -> float:
    """Return bits per character."""
    counts = [value.count(ch) for ch in set(value)]
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


# The numbers of countries, by their modules in stdnum. Forms that hardly anything else has count wherever they occur.
_DISTINCTIVE = {
    "us.ssn": re.compile(r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])"),
    "fr.nir": re.compile(r"(?<!\d)[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2}(?!\d)"),
    "es.dni": re.compile(r"(?<!\w)\d{8}-?[A-Za-z](?!\w)"),
    "es.nie": re.compile(r"(?<!\w)[XYZxyz]-?\d{7}-?[A-Za-z](?!\w)"),
    "it.codicefiscale": re.compile(r"(?<!\w)[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z](?!\w)"),
    "br.cpf": re.compile(r"(?<!\d)\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)"),
    "fi.hetu": re.compile(r"(?<!\w)\d{6}[-+A]\d{3}[0-9A-FHJ-NPR-Y](?!\w)"),
    "se.personnummer": re.compile(r"(?<!\d)(?:19|20)\d{6}[-+]\d{4}(?!\d)"),
    "cn.ric": re.compile(r"(?<!\d)\d{17}[\dXx](?!\w)"),
    "kr.rrn": re.compile(r"(?<!\d)\d{6}-[1-8]\d{6}(?!\d)"),
    "mx.curp": re.compile(r"(?<!\w)[A-Za-z]{4}\d{6}[HMhm][A-Za-z]{5}[A-Za-z0-9]\d(?!\w)"),
    "ch.ssn": re.compile(r"(?<!\d)756\.\d{4}\.\d{4}\.\d{2}(?!\d)"),
    "cl.rut": re.compile(r"(?<!\d)\d{1,2}\.\d{3}\.\d{3}-[\dkK](?!\w)"),
}
_UK_INSURANCE = re.compile(
    r"(?<!\w)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)"
)
# Plain digits alone mean nothing; after one of these words, any one of these checksums is enough.
_LABEL = re.compile(labels("national_id"), re.IGNORECASE)
_LABELLED = (
    "us.ssn ca.sin au.tfn gb.nhs in_.aadhaar in_.pan pl.pesel nl.bsn dk.cpr se.personnummer no.fodselsnummer "
    "is_.kennitala fi.hetu ee.ik cz.rc de.idnr at.vnr be.nn fr.nir es.dni es.nie br.cpf mx.curp cl.rut pt.cc "
    "it.codicefiscale ro.cnp bg.egn hr.oib si.emso tr.tckimlik ie.pps my.nric il.idnr cn.ric kr.rrn ch.ssn "
    "za.idnr ar.dni"
)
_AMERICAN = re.compile(r"\d{3}-\d{2}-\d{4}")
# After its label, nine digits in the American form are one, issued or not: people show examples, and mistype.
_AMERICAN_LABELLED = re.compile(
    rf"{labels('american_id')}\W{{0,3}}(?:\w+\W+){{0,2}}?\d{{3}}[- .]?\d{{2}}[- .]?\d{{4}}(?!\d)", re.IGNORECASE
)
# The same for the British one, whose examples begin with QQ.
_BRITISH_LABELLED = re.compile(
    rf"{labels('british_id')}\W{{0,3}}(?:\w+\W+)?[A-Z]{{2}} ?\d{{2}} ?\d{{2}} ?\d{{2}} ?[A-D](?!\w)", re.IGNORECASE
)
_BRITISH_LICENCE = re.compile(r"(?<!\w)[A-Z9]{5}\d{6}[A-Z9]{2}\d[A-Z]{2}(?!\w)")
_AFTER_LABEL = 60
_NUMBER = re.compile(r"(?<!\w)[A-Za-z]{0,6}\d[\dA-Za-z ./+-]{4,22}")
# Documents without a public checksum: the word identifies them, and most of what follows is digits.
_PAPERS = re.compile(
    rf"{labels('papers')}(?:\W+[^\W\d_]+){{0,3}}?\W{{0,3}}(?P<value>[A-Za-z]{{0,3}}\d[\dA-Za-z]{{5,14}})(?!\w)",
    re.IGNORECASE,
)


def has_national_id(text: str) -> bool:
    """Return whether a text contains a national identity number, or the number of a passport or driving licence."""
    if any(_is_valid(kind, match.group()) for kind, form in _DISTINCTIVE.items() for match in form.finditer(text)):
        return True
    if _UK_INSURANCE.search(text.upper()) or _BRITISH_LICENCE.search(text.upper()):
        return True
    if _AMERICAN_LABELLED.search(text) or _BRITISH_LABELLED.search(text):
        return True
    if any(sum(map(str.isdigit, match["value"])) >= 6 for match in _PAPERS.finditer(text)):
        return True
    return any(_starts_with_number(text[label.end() : label.end() + _AFTER_LABEL]) for label in _LABEL.finditer(text))


def _starts_with_number(after: str) -> bool:
    match = _NUMBER.search(after)
    if match is None:
        return False
    parts = match.group().split(" ")
    # The pattern may have extended into the words after the number.
    candidates = [" ".join(parts[:count]).strip(" .-/+") for count in range(len(parts), 0, -1)]
    return any(
        _is_valid(kind, candidate)
        for candidate in candidates
        for kind in (("us.ssn",) if _AMERICAN.fullmatch(candidate) else _LABELLED.split())
    )


def _is_valid(kind: str, number: str) -> bool:
    return bool(import_module(f"stdnum.{kind}").is_valid(number))
