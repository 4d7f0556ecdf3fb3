"""Recognises what somebody says about being asked: skip this, later, stop asking, go on; pure.

Only a message that says little else counts as a wish: "I skip breakfast" is an answer.
"""

from __future__ import annotations

import re
from typing import Literal

Wish = Literal["skip", "later", "stop", "resume"]
MAX_WORDS = 14

_STOP = (
    r"(please )?(stop|quit) asking( me)?( questions| things| anything)?",
    r"no more questions",
    r"(do not|don t|dont) ask( me)?( any| anything)?( more| anymore| any more)?( questions)?",
    r"hör( bitte)? auf( mich)?( zu fragen)?|keine (weiteren )?fragen( mehr)?|frag( bitte)? nicht mehr",
    r"deja de preguntar(me)?|no más preguntas|no me preguntes más",
    r"arrête( de)?( me)?( poser)?( des)? questions|plus de questions|smettila di chiedere|basta domande",
)
_LATER = (
    r"(maybe |ask me |we can do (this|that) )?later|not now|another time",
    r"(let s |can we )?(come|get) back to (this|that|it)( later| another time)?",
    r"(let s |can we )?(leave|skip|park) (this|that|it)( one| question| point| topic)? for (now|later)",
    r"später|nicht jetzt|ein andermal|más tarde|luego|ahora no|plus tard|pas maintenant|più tardi|non ora",
)
_SKIP = (
    r"(let s |can we )?(skip|pass)( on)?( this| that| it| the)?( one| question| point| topic)?",
    r"next( one| question| point| topic)?( please)?",
    r"(i )?(d |would )?rather not( say| answer| talk about (this|that|it))?",
    r"i (do not|don t|dont) (want|wish|like) to (answer|say|talk about|discuss)( (this|that|it|the))?( \w+)?",
    r"stop asking( me)?( about)? (this|that|it)( one| question| point| topic)?",
    r"stop asking( me)? about .+|(do not|don t|dont) ask( me)? about .+",
    r"überspringen|(das )?überspringen wir|nächste frage",
    r"(siguiente|saltar)( pregunta)?|(passer|passons|suivant(e)?)( question)?",
)
_RESUME = (
    r"(you can|you may|please)? ?ask( me)? (again|on|more)",
    r"(go on|continue|carry on) with (the|your) (questions|points|journey)",
    r"ask me( the next question)?|du kannst wieder fragen|frag weiter|puedes preguntar",
)
_POLITE = re.compile(
    r"^(?:ok(?:ay)?|well|hm+|please|sorry|thanks)\s+|(?<!\s)\s+(?:please|thanks|thank you|bitte|gracias|merci)$"
)


def wish_of(message: str) -> Wish | None:
    """The wish that a message expresses, if it is one."""
    words = " ".join(re.findall(r"[\w]+", message.casefold()))
    if not words or words.count(" ") >= MAX_WORDS:
        return None
    while (shorter := _POLITE.sub("", words)) != words and shorter:
        words = shorter
    kinds: tuple[tuple[Wish, tuple[str, ...]], ...] = (
        ("skip", _SKIP),
        ("later", _LATER),
        ("stop", _STOP),
        ("resume", _RESUME),
    )
    return next((kind for kind, patterns in kinds if any(re.fullmatch(text, words) for text in patterns)), None)
