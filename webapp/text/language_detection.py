"""The language of a text, by its script and its most common words: enough to choose a stemmer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

ENGLISH = "english"
# Common words, folded like `webapp.text.words` does; they are also what is not indexed in that language.
_COMMON = {
    "german": """
        der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ist sind war waren bin
        bist hat habe haben hatte wird werden wurde ich du er sie es wir ihr mich mir dich dir ihn ihm uns euch mein
        meine meinen meinem meiner dein deine sein seine unser unsere zu zum zur von vom mit auf in im an am bei fur
        aus nach uber um als wie wer wann wo warum welche welcher welches wenn dass weil auch nur noch schon sehr so
        dann da hier es man sich konnen kann muss soll will
    """,
    "french": """
        le la les un une des du de d l et ou mais pas ne n est sont suis etait ai as avons avez ont avait je j tu il
        elle on nous vous ils elles me m te t se s mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs a au
        aux en dans sur avec pour par sans sous chez qui que qu quoi quel quelle quels quelles quand comment pourquoi
        combien ce cet cette ces si plus tres aussi y ete etre avoir fait
    """,
    "spanish": """
        el la los las un una unos unas y o pero no es son soy era fue esta estan he ha han habia yo tu el ella nosotros
        ellos me te se nos mi mis tu tus su sus nuestro nuestra a al de del en con por para sin sobre que quien cual
        cuando como donde cuanto cuantos cuantas lo le les este esta esto ese esa si muy mas tambien hay ser tengo tiene
        desde
    """,
    "portuguese": """
        o a os as um uma uns umas e ou mas nao é sao sou era foi esta estao tenho tem eu tu voce ele ela nos eles me te
        se meu minha meus minhas teu seu sua seus suas nosso nossa ao aos do da dos das de em no na nos nas com por para
        pelo pela sem sobre que quem qual quando como onde quanto quantos quantas isto isso este esta esse essa muito
        mais tambem ha ser desde
    """,
    "italian": """
        il lo la i gli le un uno una e o ma non è sono sei era ho hai ha abbiamo hanno io tu lui lei noi voi loro mi ti
        si ci vi mio mia miei mie tuo tua suo sua suoi sue nostro nostra a al alla allo ai agli di del della dello dei
        degli delle da dal dalla in nel nella nei con su sul sulla per tra fra che chi quale quali quando come dove
        quanto quanti quante questo questa quello molto piu anche c
    """,
    "dutch": """
        de het een en of maar niet geen is zijn was waren ben bent heb heeft hebben had wordt worden ik jij je hij zij
        ze wij we u hen mij me mijn jouw zijn haar ons onze hun te van met op in aan bij voor uit naar over om als hoe
        wie wat wanneer waar waarom welke dat dit die deze er ook nog al heel zo dan kan moet zal wil
    """,
    "turkish": """
        ve veya ama degil bir bu su o ben sen biz siz onlar benim senin onun bizim bana sana ona beni seni onu mi mı mu
        da de ki icin ile gibi kadar cok daha en ne kim hangi nerede ne zaman nasil neden kac var yok olan olarak
    """,
    "russian": """
        и или но не нет да в во на с со к ко у о об от до за из по для при без под над я ты он она оно мы вы они меня
        мне мной тебя тебе его ему ей ее их нам нас вас мой моя мое мои моего моей твой свой наш ваш это этот эта эти
        тот та те что кто как где когда куда почему зачем какой какая какое какие сколько чей был была было были есть
        быть же ли бы так уже еще очень
    """,
    "arabic": """
        في من الى إلى على عن مع هذا هذه ذلك تلك الذي التي انا أنا انت هو هي نحن هم كان كانت يكون لا ما لم لن هل متى أين
        اين كيف لماذا كم أي اي و أو او ثم قد كل بعد قبل عند لدي لي
    """,
    "hindi": """
        का के की को में से पर है हैं था थे थी हूँ हूं और या लेकिन नहीं मैं मेरा मेरे मेरी मुझे तुम आप वह वे हम यह ये क्या कब कहाँ कहां
        कौन कैसे क्यों कितने कितना कितनी ने तो भी ही एक लिए साथ
    """,
}
_SCRIPTS = (
    ("\u0400", "\u052f", "russian"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0b80", "\u0bff", "tamil"),
)
LANGUAGES = (ENGLISH, *_COMMON, "greek", "armenian", "tamil")
"""Names of Snowball's stemmers."""


def _fold(word: str) -> str:
    return word.translate(str.maketrans("éèêàáâãçñíóôõúüöäßış", "eeeaaaacniooouuoasis"))


STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(_fold(word) for word in text.split()) for language, text in _COMMON.items()
}
_SPEAKING: dict[str, tuple[str, ...]] = {
    word: tuple(language for language, known in STOP_WORDS.items() if word in known)
    for known in STOP_WORDS.values()
    for word in known
}
_LATIN = ("german", "french", "spanish", "portuguese", "italian", "dutch", "turkish")


def language_of(folded: Sequence[str], english: frozenset[str]) -> str:
    """The language of folded words: that of the script, or the one with the most common words among them.

    `english` are the common words of English, which wins if in doubt.
    """
    longest = max(folded, key=len, default="")
    first = longest[:1]
    if first > "\u02ff":
        return next((language for low, high, language in _SCRIPTS if low <= first <= high), ENGLISH)
    votes: Counter[str] = Counter()
    for word in folded[:200]:
        if word in english:
            votes[ENGLISH] += 1
        for language in _SPEAKING.get(word, ()):
            votes[language] += 1
    if not votes:
        return ENGLISH
    best = max(_LATIN, key=lambda language: votes[language])
    return best if votes[best] > votes[ENGLISH] else ENGLISH
