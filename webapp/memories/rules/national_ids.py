"""National identity numbers: recognised by form and checksum, or by the words before them (python-stdnum)."""

import re
from types import ModuleType

from stdnum.ar import dni as ar_dni
from stdnum.at import vnr
from stdnum.au import tfn
from stdnum.be import nn
from stdnum.bg import egn
from stdnum.br import cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ch_ssn
from stdnum.cl import rut
from stdnum.cn import ric
from stdnum.cz import rc
from stdnum.de import idnr as de_idnr
from stdnum.dk import cpr
from stdnum.ee import ik
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.hr import oib
from stdnum.ie import pps
from stdnum.il import idnr as il_idnr
from stdnum.in_ import aadhaar, pan
from stdnum.is_ import kennitala
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.mx import curp
from stdnum.my import nric
from stdnum.nl import bsn
from stdnum.no import fodselsnummer
from stdnum.pl import pesel
from stdnum.pt import cc
from stdnum.ro import cnp
from stdnum.se import personnummer
from stdnum.si import emso
from stdnum.tr import tckimlik
from stdnum.us import ssn
from stdnum.za import idnr as za_idnr

from webapp.memories.rules.key_forms import labels

# Distinctive forms that hardly anything else has: these count wherever they occur.
_TELLING: tuple[tuple[re.Pattern[str], ModuleType], ...] = (
    (re.compile(r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])"), ssn),
    (re.compile(r"(?<!\d)[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2}(?!\d)"), nir),
    (re.compile(r"(?<!\w)\d{8}-?[A-Za-z](?!\w)"), dni),
    (re.compile(r"(?<!\w)[XYZxyz]-?\d{7}-?[A-Za-z](?!\w)"), nie),
    (re.compile(r"(?<!\w)[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z](?!\w)"), codicefiscale),
    (re.compile(r"(?<!\d)\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)"), cpf),
    (re.compile(r"(?<!\w)\d{6}[-+A]\d{3}[0-9A-FHJ-NPR-Y](?!\w)"), hetu),
    (re.compile(r"(?<!\d)(?:19|20)\d{6}[-+]\d{4}(?!\d)"), personnummer),
    (re.compile(r"(?<!\d)\d{17}[\dXx](?!\w)"), ric),
    (re.compile(r"(?<!\d)\d{6}-[1-8]\d{6}(?!\d)"), rrn),
    (re.compile(r"(?<!\w)[A-Za-z]{4}\d{6}[HMhm][A-Za-z]{5}[A-Za-z0-9]\d(?!\w)"), curp),
    (re.compile(r"(?<!\d)756\.\d{4}\.\d{4}\.\d{2}(?!\d)"), ch_ssn),
    (re.compile(r"(?<!\d)\d{1,2}\.\d{3}\.\d{3}-[\dkK](?!\w)"), rut),
)
_UK_INSURANCE = re.compile(
    r"(?<!\w)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)"
)
# Plain digits alone mean nothing; after one of these words, any one of these checksums is enough.
_LABEL = re.compile(labels("national_id"), re.IGNORECASE)
_LABELLED = (
    *(ssn, sin, tfn, nhs, aadhaar, pan, pesel, bsn, cpr, personnummer, fodselsnummer, kennitala, hetu, ik, rc),
    *(de_idnr, vnr, nn, nir, dni, nie, cpf, curp, rut, cc, codicefiscale, cnp, egn, oib, emso, tckimlik, pps),
    *(nric, il_idnr, ric, rrn, ch_ssn, za_idnr, ar_dni),
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
    if any(module.is_valid(match.group()) for pattern, module in _TELLING for match in pattern.finditer(text)):
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
        module.is_valid(candidate)
        for candidate in candidates
        for module in ((ssn,) if _AMERICAN.fullmatch(candidate) else _LABELLED)
    )
