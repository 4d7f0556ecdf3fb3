"""What is not a statement because of its form: a request without a question mark, a daydream, a name in jest; data.

As in `phrases`, words are separated by spaces and `_` is the space within a phrase.
"""

from __future__ import annotations

import re

from webapp.memories.rules.phrases import any_of

REQUEST = re.compile(
    r"^\W*(?:(?:so|and|but|ok|well|also|oh|basically|now|please|hi|hey|hello|und|et|y|e)\W+)*"
    + any_of(
        "i(?:['’]d_like|_would_like|_want|_need)_(?:you|to_(?:know|ask|understand|hear|see)) "
        "(?:i|we)_(?:just_)?need_(?:your_|some_|a_(?:bit|little)_of_|more_)?(?:help|advice|ideas|tips) "
        "i_have_(?:a|one|some|another|two)_(?:quick_|short_|more_)?questions? i_was_wondering i_wonder "
        "i(?:['’]m|_am)_(?:just_)?(?:wondering|curious|asking|looking_for_(?:tips|ideas|advice|help)) "
        "ich_brauche_(?:\\w+_)?(?:hilfe|rat|tipps) ich_habe_(?:eine|noch_eine)_frage "
        "ich_(?:möchte|will)_(?:gerne?_)?wissen "
        "j['’]ai_besoin_(?:d['’]aide|de_conseils|de_ton_aide) j['’]ai_une_question j['’]aimerais_savoir "
        "necesito_(?:tu_)?(?:ayuda|consejos?) tengo_una_pregunta (?:quiero|quisiera)_saber "
        "ho_bisogno_di_(?:aiuto|consigli) mi_serve_aiuto ho_una_domanda (?:vorrei|voglio)_sapere "
        "preciso_de_(?:ajuda|conselhos?) tenho_uma_pergunta (?:quero|gostaria_de)_saber "
        "ik_heb_(?:hulp_nodig|een_vraag) ik_wil(?:_graag)?_weten"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
"""The user wants something from this reply."""
DAYDREAM = re.compile(
    r"(?<!\w)"
    + any_of(
        "(?:when|once)_(?:i|we)(?:['’]m|_am|_become)_(?:(?:a|the|an)_)?"
        "(?:president|king|queen|emperor|pope|rich|famous|prime_minister|[mb]illionaire|dictator|god|grown|astronaut) "
        "wenn_ich_(?:\\w+_)?"
        "(?:präsident(?:in)?|könig(?:in)?|kaiser(?:in)?|papst|reich|berühmt|groß|millionär(?:in)?)_(?:bin|werde) "
        "quand_je_serai_(?:président\\w*|roi|reine|riche|célèbre|grande?|pape) "
        "cuando_(?:yo_)?sea_(?:president\\w|rey|reina|ric\\w|famos\\w|mayor|papa) "
        "quando_sarò_(?:president\\w+|re|regina|ricc\\w|famos\\w|grande|papa) "
        "quando_(?:eu_)?for_(?:president\\w|rei|rainha|ric\\w|famos\\w|grande|papa) "
        "als_ik_(?:\\w+_)?(?:president|koning(?:in)?|rijk|beroemd|groot|paus)_ben"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
"""What people will do once they become what hardly anybody becomes."""
IN_JEST = re.compile(
    r"^\W*(?:(?:hi|hello|hey|hallo|hola|ciao)\W+)?"
    r"(?:i['’]?m|i\s+am|my\s+name(?:\s+is|['’]s)|call\s+me|ich\s+bin|ich\s+heiße|je\s+suis|soy|me\s+llamo|sono|mi\s+chiamo|"
    r"sou|chamo-me|ik\s+ben)\s+(?:the\s+|der\s+|die\s+|le\s+|la\s+|el\s+|il\s+|o\s+|a\s+)?"
    r"(?:(?:batman|superman|spider-?man|iron\s+man|wonder\s+woman|santa(?:\s+claus)?|darth\s+vader|james\s+bond|"
    r"sherlock\s+holmes|harry\s+potter|gandalf|god|jesus\s+christ|napoleon(?:\s+bonaparte)?|elvis\s+presley|shrek|yoda|"
    r"(?:king|queen)\s+of\s+england|pope|papst|weihnachtsmann|père\s+noël|papá\s+noel|babbo\s+natale|pai\s+natal)"
    r"(?![\w'’-])|"
    r"[^\W\d_][\w'’-]*(?:\s+[\w'’-]+){0,2}\W+(?:lol|lmao|rofl|ha(?:ha)+h?|jaja|mdr|kkk+|😂|🤣|😜)(?!\w))",
    re.IGNORECASE,
)
"""Famous names that nobody really has, and what people call themselves with a laugh."""
ON_CONDITION = re.compile(
    r"^\W*(?:(?:and|but|so|also|und|aber|et|y|e)\W+)*(?:if|unless|in\s+case|falls|wenn|sofern|si|se|als)(?!\w)",
    re.IGNORECASE,
)
WILL_DO = re.compile(
    r"^\W*(?:then\s+)?(?:i['’]ll|i\s+will|i['’]m\s+going\s+to|we['’]ll|we\s+will|(?:bleibe?|werde|gehe?|kaufe?)\s+ich|"
    r"je\s+(?:vais|resterai|ferai)|voy\s+a|me\s+quedo|vou|fico)(?!\w)",
    re.IGNORECASE,
)
"""The beginning of a condition, and of what somebody would do under it."""
