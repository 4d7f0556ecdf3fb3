"""Words and phrases of common languages with which people ask, suppose, joke, report and speak of others; data.

Words in a list are separated by spaces, and `_` stands for the space within a phrase. What is missing
for a language only means that a rule holds nothing back in it.
"""

from __future__ import annotations

import re


def any_of(words: str) -> str:
    """A pattern for any of the words."""
    return "(?:" + "|".join(word.replace("_", r"\s+") for word in words.split()) + ")"


FIRST_PERSON = re.compile(
    r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|im|my|me|mine|myself|we|we['’]\w+|our|ours|us|ich|mein\w*|mir|mich|wir|uns\w*|je|"
    r"j['’]\w+|mon|ma|mes|moi|nous|notre|nos|yo|mi|mis|me|nosotros|nuestr\w*|io|mio|mia|noi|eu|meu|minha|nós|ik|mijn|"
    r"wij|ons|onze|я|мой|моя|мы)(?!\w)|我|私|僕|俺|저|나는|제",
    re.IGNORECASE,
)
SUBJECT_I = re.compile(
    r"(?<!\w)(?:i|i['’]\w+|we|we['’]\w+|ich|wir|je|j['’]\w+|nous|yo|nosotros|io|noi|eu|nós|ik|wij|я|мы)(?!\w)|我|私|僕|俺",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?:[^.!?…\n。！？]|[.](?=\w))+[.!?…。！？]*[\"'”’)]*")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
CLAUSE = re.compile(r"[,;:–—(){}，；：]|\s-\s|(?<!\w)(?:and|but|so|und|aber|et|mais|y|pero)(?!\w)", re.IGNORECASE)
ASKING = re.compile(
    r"^\W*(?:(?:so|and|or|but|ok|well|also|oh|now|then|hey|please|und|oder|et|ou|y|o|pues)\W+)*"
    + any_of(
        "what what['’]s which who whom whose when where why how how['’]s do does did is are am was were can "
        "could would "
        "should will shall may might have_you has_it any was_ist wer wie wo wann warum welche[rsn]? kann "
        "können könntest "
        "soll sollte gibt_es hast hat ist sind darf quel\\w* qui que quoi comment où quand pourquoi combien est-ce_que "
        "peux pouvez qué cuál\\w* quién\\w* cómo dónde cuándo cuánt\\w* por_qué puedo puedes hay che cosa "
        "come dove quando "
        "perché posso puoi qual quem onde wat welke hoe waar wanneer waarom wie kun kan"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
WH = re.compile(r"^\W*(?:what|how|who|where|when|why|was|wer|wo|wie|ce|lo|o)\b", re.IGNORECASE)
TASK = re.compile(
    r"^\W*(?:(?:please|can_you|could_you|bitte)\W+)*"
    + any_of(
        "translate rewrite rephrase paraphrase proofread correct summari[sz]e improve compose draft convert "
        "explain list "
        "write make_(?:this|it|that|them) shorten "
        "find suggest recommend tell_me show_me give_me help_me übersetz\\w* schreib\\w* traduis traduce traduci"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
STANDING = re.compile(
    r"(?<!\w)"
    + any_of(
        "always never from_now_on every_time by_default in_general generally whenever immer nie niemals "
        "ab_jetzt künftig "
        "grundsätzlich toujours jamais désormais siempre nunca a_partir_de_ahora sempre mai d['’]ora_in_poi "
        "altijd nooit "
        "voortaan"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
IF = re.compile(
    r"(?<!\w)"
    + any_of(
        "if_i_were if_i_was if_i_had if_i_could if_i_won if_i_ever if_i_lived if_i_became if_i_got "
        "if_we_were if_we_had "
        "suppose supposing imagine imagining pretend let['’]?s_say let_us_say say_i assume_i assuming_i hypothetically "
        "what_if as_if_i as_though in_theory wish_i_were wish_i_had wenn_ich_\\w+_wäre wenn_ich_\\w+_hätte "
        "angenommen stell_dir_vor nehmen_wir_an mal_angenommen si_j['’]étais si_j['’]avais imagine imaginons supposons "
        "si_yo_fuera si_fuera si_tuviera imagina imagínate supón supongamos digamos se_fossi se_avessi immagina "
        "supponiamo se_eu_fosse se_eu_tivesse imagine_que suponha stel_dat als_ik_\\w+_was"
    )
    + r"(?!\w)|如果我|假如|假设|もし",
    re.IGNORECASE,
)
WOULD = re.compile(
    r"(?<!\w)would(?:n['’]t|\s+not)?\s+(?!like|love|prefer|rather|appreciate|be\s+(?:great|nice))", re.IGNORECASE
)
CONDITION = re.compile(
    r"(?<!\w)(?:if|wenn|falls|si|se|als)\s+(?:i|we|my|our|ich|wir|mein\w*|je|j['’]|nous|yo|mi|io|eu|ik)?(?!\w)",
    re.IGNORECASE,
)
WOULD_BE = re.compile(
    r"(?<!\w)(?:would|could|might|\w+['’]d|würde\w*|wäre\w*|hätte\w*|könnte\w*|\w+(?:rais|rait|rions|raient)|\w+r[ií]a[ns]?|"
    r"\w+(?:rei|resti|rebbe|remmo)|zou(?:den)?)(?!\w)",
    re.IGNORECASE,
)
"""The mood of a clause that depends on an unfulfilled condition."""
LANGUAGE = re.compile(
    r"(?<!\w)(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|turkish|arabic|chinese|mandarin|japanese|korean|"
    r"swedish|danish|norwegian|finnish|greek|hindi|ukrainian|czech|romanian|hungarian|englisch|deutsch|französisch|spanisch|italienisch|"
    r"portugiesisch|niederländisch|polnisch|russisch|türkisch|anglais|allemand|français|espagnol|italien|portugais|inglés|alemán|francés|"
    r"español|italiano|portugués|inglese|tedesco|francese|spagnolo|portoghese|inglês|alemão|francês|espanhol|português|engels|duits|frans|"
    r"spaans|nederlands|английск\w+|немецк\w+|русск\w+)(?!\w)|英[语文語]|中文|汉语|德[语文]|法[语文]|日[语文本]語?|한국어|영어",
    re.IGNORECASE,
)
ANSWERING = re.compile(
    r"(?<!\w)(?:answer|repl|respond|response|speak|talk|write|language|antwort|sprich|schreib|sprache|répon|parle|écri|langue|respond|"
    r"contest|habla|escrib|idioma|rispo|parla|scriv|lingua|fala|escrev|língua|antwoord|praat|schrijf|taal|отвеча|ответ|пиши|язык)|回答|回复|答え|返事|대답",
    re.IGNORECASE,
)
JOKE = re.compile(
    r"(?<!\w)"
    + any_of(
        "just_kidding only_kidding kidding just_joking joking only_joking jk not_really nur_spaß kleiner_scherz scherz "
        "je_plaisante je_rigole es_broma es_una_broma scherzo scherzavo brincadeira grapje"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
ROLE = re.compile(
    r"(?<!\w)"
    + any_of(
        "role-?play roleplaying pretend_to_be pretend_you pretend_that pretend_i act_as play_the_role in_character "
        "my_character['’]?s? in_(?:this|my|the)_(?:story|novel|game|film|play|script) rollenspiel "
        "spiel_die_rolle tu_joues "
        "jeu_de_rôle juego_de_rol actúa_como"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
SAID = re.compile(
    r"(?<!\w)"
    + any_of(
        "said says say told tells claims claimed thinks keeps_saying according_to wrote writes reckons "
        "believes sagt sagte "
        "meint behauptet dit disait dice dijo diz disse zegt"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
SOMEBODY = any_of(
    "colleague co-?worker workmate neighbou?r boss supervisor landlord landlady client customer contractor stranger "
    "manager intern tenant "
    "(?:guy|girl|woman|man|lady|person|people|couple|family)_(?:next_door|upstairs|downstairs|opposite|at_work) "
    "applicant candidate sister-in-law brother-in-law mother-in-law father-in-law in-laws flatmate[’']s "
    "kolleg(?:e|in|en) nachbar(?:in|n)? chef(?:in)? vermieter(?:in)? kund(?:e|in|en) schwager schwägerin "
    "schwiegermutter "
    "schwiegervater collègue voisine? patronne? client[e]? propriétaire beau-frère belle-sœur belle-mère "
    "compañer[oa]s? "
    "vecin[oa]s? jef[ea] cliente cuñad[oa] suegr[oa] collega vicin[oa] capo cognat[oa] colega vizinh[oa] chefe buurman "
    "buurvrouw baas"
)
OTHERS_SUBJECT = re.compile(
    r"^\W*(?:(?:and|but|also|oh|btw|by_the_way|und|aber|et|y)\W+)*"
    rf"(?:a|an|the|my|our|his|her|their|some|one_of_my|ein\w*|mein\w*|unser\w*|der|die|un|une|mon|ma|mes|"
    rf"notre|le|la|el|"
    rf"mi|mis|uno?_de_mis|il|lo|o|meu|minha|um|uma|mijn|onze|een|de)\s+(?:\w+\s+){{0,2}}?{SOMEBODY}(?!\w)".replace(
        "_", r"\s+"
    ),
    re.IGNORECASE,
)
THIRD = re.compile(
    r"^\W*(?:(?:and|but|because|that|und|et|y)\W+)*(?:he|she|they|his|her|their|er|sie|ihr\w*|sein\w*|il|elle|son|sa|"
    r"él|ella|su|lui|lei|suo|sua|ele|ela|hij|zij)(?!\w)",
    re.IGNORECASE,
)
SUBJECT_THEY = re.compile(
    r"^\W*(?:(?:and|but|und|et|y)\W+)*(?:he|she|they|er|sie|il|elle|él|ella|lui|lei|ele|ela|hij|zij)(?=\s)",
    re.IGNORECASE,
)
CLOSE = any_of(
    "wife husband spouse partner girlfriend boyfriend fiancée? son daughter sons daughters child "
    "children kid kids baby "
    "twins mother mum mom father dad parents brother sister grandmother grandma grandfather grandpa aunt "
    "uncle cousin niece "
    "nephew friend friends dog dogs puppy cat cats kitten horse pony parrot hamster rabbit pet frau mann "
    "ehefrau ehemann "
    "partnerin freundin freund sohn tochter kind kinder mutter vater bruder schwester oma opa tante "
    "onkel hund katze pferd "
    "femme mari compagne compagnon fils fille enfants mère père frère sœur chien chat cheval ami amie esposa esposo "
    "marido mujer novia novio pareja hijo hija hijos madre padre hermano hermana perro perra gato gata "
    "amigo amiga moglie "
    "marito figlio figlia figli fratello sorella cane gatto filho filha irmão irmã cão cachorro vrouw "
    "zoon dochter moeder "
    "vader broer zus hond kat"
)
POSSESSIVE = any_of(
    "my our mein\\w* unser\\w* mon ma mes notre nos mis? nuestr\\w* mio mia i_miei il_nostro meus? minhas? mijn onze"
)
# Languages in which "my" is part of the word, is left out, or is written together with what follows.
CLOSE_ELSEWHERE = (
    r"(?:我(?:的)?(?:妻子|太太|老婆|爱人|丈夫|老公|先生|儿子|女儿|孩子|妈妈|母亲|爸爸|父亲|哥哥|弟弟|姐姐|妹妹|朋友|男朋友|女朋友|狗|猫)|"
    r"(?:私の|僕の|うちの)?(?:妻|夫|息子|娘|母|父|兄|弟|姉|妹|友人|友達|彼女|彼氏|犬|猫)(?=[はがもの])|"
    r"(?:제|내|우리)\s*(?:아내|남편|아들|딸|어머니|엄마|아버지|아빠|형|누나|언니|오빠|동생|친구|강아지|개|고양이)|"
    r"(?<!\w)(?:زوجتي|زوجي|ابني|ابنتي|أمي|أبي|أخي|أختي|صديقي|صديقتي|كلبي|قطتي)(?!\w)|"
    r"(?<!\w)(?:мо[йяеёи]|наш\w*)\s+(?:жена|муж|сын|дочь|мама|мать|папа|отец|брат|сестра|друг|подруга|собака|кот|кошка|дети|"
    r"реб[её]нок)(?!\w))"
)
CLOSE_WORD = re.compile(rf"(?<!\w){CLOSE}(?!\w)|{CLOSE_ELSEWHERE}", re.IGNORECASE)
CLOSE_NAMED = re.compile(
    rf"(?<!\w){POSSESSIVE}\s+(?:[\w-]+\s+){{0,2}}?{CLOSE}(?!\w|-)|{CLOSE_ELSEWHERE}", re.IGNORECASE
)
CLOSE_SUBJECT = re.compile(
    rf"^\W*(?:(?:and|but|also|oh|und|et|y)\W+)*{POSSESSIVE}\s+(?:[\w-]+\s+){{0,2}}?{CLOSE}(?!\w|"
    rf"-)(?!\s+(?:and|und|et|y)\s+(?:i|ich|moi|yo)\b)|^\W*{CLOSE_ELSEWHERE}(?![和与跟とと와과])",
    re.IGNORECASE,
)
OWNED = re.compile(
    rf"(?<!\w){CLOSE}(?!\w|-)(?:(?!\b(?:i|we|ich|wir|je|nous|yo|io|eu|ik)\b)[^.;!?]){{0,30}}$", re.IGNORECASE
)
MOOD = re.compile(
    r"(?<!\w)"
    + any_of(
        "starving hungry thirsty tired sleepy exhausted sore bored hungover freezing in_a_hurry in_a_rush "
        "running_late müde "
        "hungrig durstig erschöpft gelangweilt fatiguée? épuisée? faim cansad[oa] hambre agotad[oa] stanc[oa] fame "
        "cansad[oa] fome moe honger"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
PASSING_NOW = re.compile(
    r"(?<!\w)"
    + any_of(
        "have_a_(?:cold|headache|fever|hangover|cough|migraine) headache migraine hurts aches feel(?:ing)?_\\w+ "
        "(?:on|in)_(?:the|a)_(?:train|bus|plane|tram|car|taxi|meeting|queue|waiting_room) "
        "at_the_(?:airport|gym|dentist|station) "
        "in_bed stressed nervous annoyed grumpy "
        "Kopfschmerzen erkältet gestresst im_(?:Zug|Bus|Auto|Flugzeug) mal_à_la_tête enrhumée? dans_le_(?:train|bus) "
        "me_duele resfriad[oa] en_el_(?:tren|autobús) mal_di_testa raffreddat[oa] dor_de_cabeça "
        "constipad[oa] hoofdpijn verkouden"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
"""What is soon over, if it is said about today."""
NOW = re.compile(
    r"(?<!\w)"
    + any_of(
        "today tonight this_morning this_afternoon this_evening right_now at_the_moment just_now for_now this_time "
        "just_this_once this_once for_once "
        "(?:for|in)_this_(?:answer|reply|question|message|one) für_diese_(?:antwort|frage) "
        "pour_cette_(?:réponse|question) para_esta_(?:respuesta|pregunta|resposta|pergunta) "
        "per_questa_(?:risposta|domanda) "
        "heute heute_\\w+ gerade jetzt_gerade im_moment diesmal dieses_mal "
        "aujourd['’]hui "
        "ce_matin ce_soir cette_fois en_ce_moment hoy esta_mañana esta_noche ahora_mismo esta_vez oggi "
        "stasera stavolta "
        "adesso hoje agora desta_vez vandaag vanavond deze_keer"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)
FENCED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>.*?$|^[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*$.*?(?:^[ \t]*(?:-{3,}|"
    r"\*{3,}|_{3,}|={3,})[ \t]*$|\Z)"
    r"|<(?!/)([a-z][\w-]*)\b[^<>]*>.*?</\1\s*>",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
QUOTED = re.compile(
    r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){12,}'(?!\w)|‘(?:[^’\n]|(?<=\w)’(?=\w)){12,}’(?!\w)|"
    r"“[^”]{12,}”|„[^“”]{12,}[“”]|«[^»]{12,}»|\"[^\"\n]{12,}\"|「[^」]{6,}」"
)
LETTER = re.compile(
    r"^[ \t]*(?:dear\b|hi\s+\w+,|hello\s+\w+,|sehr\s+geehrte|liebe[rs]?\b|cher\b|chère\b|madame|monsieur|"
    r"estimad[oa]|querid[oa]|"
    r"gentile|egregio|caro\b|cara\b|prezad[oa]|geachte|beste\b|subject:|betreff:|from:|"
    r"von:).*?(?=^[ \t]*$\s*(?:[^\n]*\?)|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
TEXT_WORK = re.compile(
    r"^\W*(?:please\s+|can\s+you\s+|could\s+you\s+|bitte\s+)*(?:translate|rewrite|rephrase|paraphrase|"
    r"proofread|correct|"
    r"summari[sz]e|improve|edit|übersetze?|korrigiere?|traduis|corrige|traduce|traduci|"
    r"(?:write|tell|continue|schreib|erzähl|écris|raconte|escribe|cuenta|escreve|conta)\w*\s+(?:[\w']+\s+){0,4}"
    r"(?:story|tale|poem|song|scene|dialogue|novel|geschichte|gedicht|märchen|histoire|conte|poème|cuento|poema|história))"
    r"\b[^:\n]{0,80}(?::|\n)",
    re.IGNORECASE,
)
