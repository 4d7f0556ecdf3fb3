"""Whether a message tells a statement that the assistant wants to keep, or asks to keep it. Pure.

The message also has the words of questions, of tasks, of parts that somebody plays and of other people: from those a
document could have anything remembered.
"""

from __future__ import annotations

import re

from webapp.memories.rules.carrying import is_carried, names_it
from webapp.memories.rules.phrases import (
    FIRST_PERSON,
    POSSESSIVE,
    SAID,
    SENTENCE,
    STANDING,
    SUBJECT_I,
    TASK,
    UNSPACED,
    any_of,
)
from webapp.memories.rules.speech import Speech, about_somebody_close, speech_of
from webapp.text.languages import ENGLISH
from webapp.text.quotes import Span
from webapp.text.vocabulary import query_language
from webapp.text.words import words

_KEEP = any_of(
    "remember memori[sz]e note keep_in_mind bear_in_mind don['’]?t_forget do_not_forget fyi merk\\w*_dir denk_daran "
    "vergiss_(?:bitte_)?nicht notier\\w* souviens-toi rappelle-toi retiens n['’]oublie_pas recuerda no_olvides "
    "ten_en_cuenta apunta ricorda\\w* non_dimenticare tieni_a_mente lembra lembre-se não_esque\\w* onthoud "
    "vergeet_niet запомни не_забудь تذكر تذكّر"
)
_OPEN = any_of("what which how where who when whether was wie wo wer ce_que lo_que qué quoi che_cosa o_que wat")
_POLITELY = any_of(
    "please also and but so oh ok okay hey actually yes thanks bitte und can_you could_you would_you will_you "
    "you_should i_want_you_to s['’]il_te_plaît por_favor per_favore"
)
_TO_KEEP = re.compile(
    rf"^\W*(?:{_POLITELY}\W+)*{_KEEP}(?!\w)(?!\W+{_OPEN}(?!\w))|"
    r"(?<!\w)(?:remember|merk\w*\W+dir)(?:\W+(?:that|this|it|das|bitte|please))*\W*$|"
    "记住|记得|記得|別忘|别忘|覚えて|忘れないで",
    re.IGNORECASE,
)
"""What asks to keep something, before or after it; "remember what the page says" does not say what, and "the note of
Mallory" asks for nothing."""
_TASKS = re.compile(
    r"^\W*(?:(?:please|bitte|now|then|ok|okay|hey|so|and)\W+)*"
    + any_of(
        "read look continue use answer see open check compare search fetch review analy[sz]e describe count "
        "calculate tell show give help play pretend imagine act ignore forget go let\\w* "
        "make_(?:me|us|a|an|the) turn plan sketch quote compute fass\\w* lies les lis lee leggi leia "
        "résume\\w* resume\\w* riassumi traduis traduce traduci traduz übersetz\\w* schreib\\w* écris escribe "
        "scrivi escreve such\\w* recherche cherche busca cerca procura prüf\\w* vérifie comprueba controlla "
        "vergleich\\w* compara explique explica spiega erklär\\w* zeig\\w* montre muestra mostra samenvat\\w* "
        "vat lees vertaal прочитай переведи найди расскажи расскажите объясни сделай"
    )
    + r"(?!\w)|^\W*(?:请|請|帮我?|给我|把|将)|(?:て|で)(?:ください|下さい|くれ|ほしい)?\W*$",
    re.IGNORECASE,
)
_FOR_ME = re.compile(
    r"(?<!\w)(?:for|to|tell|give|show|send|help|let|für|sag|zeig|gib|pour|dis|para|per|dime|dimmi)\W+"
    r"(?:me|us|mich|mir|uns|moi|nous|mí|noi|mim)(?!\w)",
    re.IGNORECASE,
)
_RETOLD = re.compile(
    r"^\W*(?:he|she|they|it|er|sie|il|elle|él|ella|lui|lei|ele|ela|hij|он|она)\s+\w+\s*[:,\"“«„]|"
    rf"(?<!i ){SAID.pattern}|(?<!\w)(?:states|stated|whether|wonder(?:ed|ing)?\s+if)(?!\w)",
    re.IGNORECASE,
)
"""After these words comes what somebody or something else said, or what is not yet known."""
_ORDERS = re.compile(
    r"(?<!\w)i(?:\s+(?:need|want|would\s+like)|['’]d\s+like)\s+(?:you\s+to|(?:\w+\s+){0,2}(?:summary|"
    r"translation|overview|list|table|explanation|review|answer|version|draft)(?!\w))",
    re.IGNORECASE,
)
"""What somebody wants written rather than to have: "I need a summary of the page about Zurich"."""
_WHOSE = re.compile(rf"(?<!\w)(?:{POSSESSIVE})\s+(?P<who>\w+(?:\s+\w+)?)", re.IGNORECASE)


def is_told(statement: str, message: str) -> bool:
    """Whether the sentences of a message that support a statement tell it of the speaker, or ask to keep it."""
    sentences = [(Span(found.start(), found.end()), found.group()) for found in SENTENCE.finditer(message)]
    carriers = [(span, text) for span, text in sentences if is_carried(statement, [text])]
    carriers = carriers or [(span, text) for span, text in sentences if names_it(text, statement)]
    keeps = any(_TO_KEEP.search(text) for _, text in sentences)
    return any(_tells(span, text, message, statement, keeps=keeps) for span, text in carriers)


def _tells(span: Span, sentence: str, message: str, statement: str, *, keeps: bool) -> bool:
    if _TO_KEEP.search(sentence):
        return True
    if (retold := _RETOLD.search(sentence)) and not is_carried(statement, [sentence[: retold.start()]]):
        return _is_of(sentence, statement)
    is_task = (TASK.match(sentence) or _TASKS.search(sentence)) is not None and not STANDING.search(sentence)
    asks = sentence.rstrip().endswith(("?", "？", "؟"))
    says_i = SUBJECT_I.search(sentence) is not None
    if is_task and (not says_i or ":" in sentence or UNSPACED.search(sentence)):
        return False
    meant = speech_of(span, message)
    if meant in (Speech.OF_OTHERS, Speech.REPORTED):
        return _is_of(sentence, statement)
    asked = re.split(r"[:;,–—：；，]", sentence)[-1]  # "I don't remember: is Mallory the boss?"
    if meant is not Speech.TOLD or (asks and not SUBJECT_I.search(asked) and is_carried(statement, [asked])):
        return False
    if asks and not says_i:
        return False
    if says_i:
        return not _ORDERS.search(sentence)
    if about_somebody_close(sentence):
        return _is_of(sentence, statement)
    if query_language(words(sentence)) != ENGLISH or UNSPACED.search(sentence):
        return True  # a verb alone may show who does it: "vivo en Lima"
    return keeps or STANDING.search(sentence) is not None or bool(FIRST_PERSON.search(_FOR_ME.sub(" ", sentence)))


def _is_of(sentence: str, statement: str) -> bool:
    """Whether a statement names the relative or possession that its sentence is about: "my boss is Eve"."""
    named = any(names_it(found["who"], statement) for found in _WHOSE.finditer(sentence))
    return named or about_somebody_close(statement)
