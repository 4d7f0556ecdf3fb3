"""What people say, and what somebody who makes no mistakes would note of it: the rules must leave that as it is.

A session is the messages of one conversation and the statements in them. A statement is what it is about, its quote,
its content (none where it is passed over) and, after that, `key=value`, `kind:project`, or what it does to a known
memory that holds a word: `supersede:tea`. `then` is what is in use at the end, word for word.
"""

# ruff: noqa: E501 (what people say is longer than a line)
from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """`waits` is what is to wait for the user's decision."""

    name: str
    sessions: list[tuple[list[str], list[tuple[str, ...]]]]
    then: list[str]
    waits: list[str] = []


U, F, A, E, Q, J, N, S = (
    "user",
    "family_friend_pet",
    "how_to_answer",
    "somebody_else",
    "question_or_task",
    "imagined_or_joke",
    "only_now",
    "secret",
)

CASES = [
    Case(
        "two facts and two people in one breath",
        [
            (
                [
                    (
                        "I'm Ruxandra, a paediatric nurse from Cluj, my husband Dorin drives a tram and our son Matei (7) "
                        "is lactose intolerant. Any ideas for a birthday cake?"
                    )
                ],
                [
                    (U, "I'm Ruxandra", "Is called Ruxandra", "name=Ruxandra"),
                    (U, "a paediatric nurse", "Works as a paediatric nurse", "job=paediatric nurse"),
                    (U, "from Cluj", "Comes from Cluj", "origin=Cluj"),
                    (F, "my husband Dorin drives a tram", "Husband Dorin drives a tram"),
                    (F, "our son Matei (7) is lactose intolerant", "Son Matei, 7, is lactose intolerant"),
                    (Q, "Any ideas for a birthday cake?"),
                ],
            )
        ],
        [
            "Is called Ruxandra",
            "Works as a paediatric nurse",
            "Comes from Cluj",
            "Husband Dorin drives a tram",
            "Son Matei, 7, is lactose intolerant",
        ],
    ),
    Case(
        "a pet and its age, then its death",
        [
            (
                ["Our cat Pixel is fourteen and needs thyroid pills twice a day. How do I hide a pill in food?"],
                [
                    (F, "Our cat Pixel is fourteen", "Cat Pixel is fourteen"),
                    (F, "needs thyroid pills twice a day", "Cat Pixel needs thyroid pills twice a day"),
                ],
            ),
            (
                ["Pixel died on Sunday. I keep reaching for the pill box."],
                [(F, "Pixel died on Sunday", "Cat Pixel died on Sunday", "supersede:fourteen")],
            ),
        ],
        ["Cat Pixel needs thyroid pills twice a day", "Cat Pixel died on Sunday"],
    ),
    Case(
        "a move without the word",
        [
            (
                ["We're settled in Utrecht since 2019, near the canal."],
                [(U, "We're settled in Utrecht since 2019", "Lives in Utrecht since 2019", "home=Utrecht")],
            ),
            (
                ["New flat, new city: we've swapped the canal for the sea, Scheveningen it is."],
                [
                    (
                        U,
                        "we've swapped the canal for the sea, Scheveningen it is",
                        "Lives in Scheveningen",
                        "home=Scheveningen",
                        "supersede:utrecht",
                    )
                ],
            ),
        ],
        ["Lives in Scheveningen"],
    ),
    Case(
        "a new job at another employer",
        [
            (
                ["I've been an architect at Hollis & Byrne for six years."],
                [
                    (U, "an architect", "Is an architect", "job=architect"),
                    (
                        U,
                        "at Hollis & Byrne for six years",
                        "Has worked at Hollis & Byrne for six years",
                        "employer=Hollis & Byrne",
                    ),
                ],
            ),
            (
                ["Big news: I start at Studio Meridian on 3 March 2027!"],
                [
                    (
                        U,
                        "I start at Studio Meridian on 3 March 2027",
                        "Starts at Studio Meridian on 3 March 2027",
                        "employer=Studio Meridian",
                        "supersede:hollis",
                    )
                ],
            ),
        ],
        ["Is an architect", "Starts at Studio Meridian on 3 March 2027"],
    ),
    Case(
        "a date put off in the same conversation",
        [
            (
                [
                    "The launch of Lanternfish is on 14 May.",
                    "Could you draft the announcement?",
                    "Hm, correction: the launch of Lanternfish slips to 2 June.",
                ],
                [
                    (U, "The launch of Lanternfish is on 14 May", "Launch of Lanternfish on 14 May", "kind:project"),
                    (
                        U,
                        "the launch of Lanternfish slips to 2 June",
                        "Launch of Lanternfish on 2 June",
                        "kind:project",
                    ),
                ],
            )
        ],
        ["Launch of Lanternfish on 2 June"],
    ),
    Case(
        "units and doses",
        [
            (
                ["I take 75 µg of levothyroxine at 6:30, and I weigh 81.5 kg at 1.79 m."],
                [
                    (U, "I take 75 µg of levothyroxine at 6:30", "Takes 75 µg of levothyroxine at 6:30"),
                    (U, "I weigh 81.5 kg at 1.79 m", "Weighs 81.5 kg, is 1.79 m tall"),
                ],
            ),
            (
                ["The doctor raised it: it's 100 µg of levothyroxine now."],
                [
                    (
                        U,
                        "it's 100 µg of levothyroxine now",
                        "Takes 100 µg of levothyroxine",
                        "supersede:levothyroxine",
                    )
                ],
            ),
        ],
        ["Weighs 81.5 kg, is 1.79 m tall", "Takes 100 µg of levothyroxine"],
    ),
    Case(
        "negations are kept as they are",
        [
            (
                ["I don't eat pork and I've never learned to swim. I can't stand techno either."],
                [
                    (U, "I don't eat pork", "Does not eat pork", "kind:preference"),
                    (U, "I've never learned to swim", "Never learned to swim"),
                    (U, "I can't stand techno either", "Cannot stand techno", "kind:preference"),
                ],
            )
        ],
        ["Does not eat pork", "Never learned to swim", "Cannot stand techno"],
    ),
    Case(
        "a joke, a role and a supposition beside a fact",
        [
            (
                [
                    "I'm the queen of Sheba, obviously. Kidding! I teach maths at a night school.",
                    "Let's role-play: you're a waiter, I'm a spy called Viktor who drinks only gin.",
                    "If I moved to Peru, what would I miss?",
                ],
                [
                    (J, "I'm the queen of Sheba, obviously"),
                    (U, "I teach maths at a night school", "Teaches maths at a night school", "job=teach maths"),
                    (J, "I'm a spy called Viktor who drinks only gin"),
                    (J, "If I moved to Peru"),
                ],
            )
        ],
        ["Teaches maths at a night school"],
    ),
    Case(
        "what a careless model makes of a role",
        [
            (
                [
                    "Let's role-play: you're a waiter, I'm a spy called Viktor who drinks only gin.",
                    "If I moved to Peru, what would I miss?",
                ],
                [
                    (U, "I'm a spy called Viktor", "Is called Viktor", "name=Viktor"),
                    (U, "drinks only gin", "Drinks only gin"),
                    (U, "I moved to Peru", "Lives in Peru", "home=Peru"),
                ],
            )
        ],
        [],
    ),
    Case(
        "a secret that is asked to be kept",
        [
            (
                ["Please remember this: my wifi password is Trombone!Ladder88. And my locker is number 212."],
                [
                    (S, "my wifi password is Trombone!Ladder88"),
                    (U, "my locker is number 212", "Locker number is 212"),
                ],
            ),
            (
                ["remember my bank PIN, it's 7719, and my SSN 078-05-1120"],
                [
                    (U, "my bank PIN, it's 7719", "Bank PIN is 7719"),
                    (U, "my SSN 078-05-1120", "SSN is 078-05-1120"),
                ],
            ),
        ],
        ["Locker number is 212"],
    ),
    Case(
        "standing wishes and one for now",
        [
            (
                [
                    "Just this once, answer in French. In general, always give me code in Python, never Java.",
                    "And from now on no emojis please.",
                ],
                [
                    (N, "Just this once, answer in French"),
                    (A, "always give me code in Python, never Java", "Code in Python, never Java"),
                    (A, "from now on no emojis please", "No emojis"),
                ],
            )
        ],
        ["Code in Python, never Java", "No emojis"],
    ),
    Case(
        "a standing wish is changed",
        [
            (["Please answer me in English, always."], [(A, "answer me in English, always", "Answers in English")]),
            (
                ["Du kannst ab jetzt immer auf Deutsch antworten."],
                [
                    (
                        A,
                        "Du kannst ab jetzt immer auf Deutsch antworten",
                        "Antworten auf Deutsch",
                        "supersede:english",
                    )
                ],
            ),
        ],
        ["Du kannst ab jetzt immer auf Deutsch antworten"],
    ),
    Case(
        "plans that fall through",
        [
            (
                ["We're going to Sardinia in August with the kids."],
                [(U, "We're going to Sardinia in August with the kids", "Goes to Sardinia in August with the kids")],
            ),
            (
                ["Sardinia is off, we cancelled it. What else is nice in August?"],
                [(U, "Sardinia is off, we cancelled it", "", "retract:sardinia")],
            ),
        ],
        [],
    ),
    Case(
        "something sold",
        [
            (
                ["I ride a Triumph Bonneville to work."],
                [(U, "I ride a Triumph Bonneville to work", "Rides a Triumph Bonneville to work")],
            ),
            (
                ["I sold the Triumph last weekend, I take the train now."],
                [
                    (U, "I sold the Triumph last weekend", "", "retract:triumph"),
                    (U, "I take the train now", "Takes the train to work"),
                ],
            ),
        ],
        ["Takes the train to work"],
    ),
    Case(
        "what others wrote",
        [
            (
                [
                    (
                        'Can you shorten this reference for me?\n\n"Mr Okafor has worked for us since 2015. He lives in '
                        'Luton, speaks Igbo and is allergic to latex."\n\nI run the clinic he is leaving.'
                    )
                ],
                [
                    (E, "Mr Okafor has worked for us since 2015"),
                    (E, "He lives in Luton"),
                    (U, "I run the clinic he is leaving", "Runs a clinic", "job=run the clinic"),
                ],
            )
        ],
        ["Runs a clinic"],
    ),
    Case(
        "a chat log that is pasted",
        [
            (
                [
                    (
                        "what did she mean by this?\n> Jo: I moved to Kyiv and I hate it\n> Jo: my new number is in my bio\n"
                        "I've known her since school."
                    )
                ],
                [(U, "I moved to Kyiv", "Moved to Kyiv", "home=Kyiv")],
            )
        ],
        [],
    ),
    Case(
        "Spanish: an introduction and a correction",
        [
            (
                [
                    (
                        "Hola, me llamo Itziar y soy arquitecta en Bilbao. Soy intolerante a la lactosa. Mi hermano Unai "
                        "vive en Oslo. ¿Qué puedo cenar hoy?"
                    )
                ],
                [
                    (U, "me llamo Itziar", "Se llama Itziar", "name=Itziar"),
                    (U, "soy arquitecta en Bilbao", "Es arquitecta en Bilbao", "job=arquitecta"),
                    (U, "Soy intolerante a la lactosa", "Intolerante a la lactosa", "diet=intolerante a la lactosa"),
                    (F, "Mi hermano Unai vive en Oslo", "Su hermano Unai vive en Oslo"),
                    (Q, "¿Qué puedo cenar hoy?"),
                ],
            ),
            (
                ["Por cierto, ya no trabajo de arquitecta, ahora llevo una librería."],
                [
                    (
                        U,
                        "ahora llevo una librería",
                        "Lleva una librería",
                        "job=llevo una librería",
                        "supersede:arquitecta",
                    )
                ],
            ),
        ],
        ["Se llama Itziar", "Soy intolerante a la lactosa", "Su hermano Unai vive en Oslo", "Lleva una librería"],
    ),
    Case(
        "French: separated, and a daughter",
        [
            (
                ["Je suis mariée depuis 2012 et ma fille Capucine fait de l'escrime."],
                [
                    (U, "Je suis mariée depuis 2012", "Mariée depuis 2012", "relationship=mariée"),
                    (F, "ma fille Capucine fait de l'escrime", "Sa fille Capucine fait de l'escrime"),
                ],
            ),
            (
                ["Depuis cet été je suis divorcée, c'est mieux ainsi."],
                [
                    (
                        U,
                        "Depuis cet été je suis divorcée",
                        "Divorcée depuis cet été",
                        "relationship=divorcée",
                        "supersede:mariée",
                    )
                ],
            ),
        ],
        ["Sa fille Capucine fait de l'escrime", "Divorcée depuis cet été"],
    ),
    Case(
        "German: what the boss has, what the friend has, what oneself has",
        [
            (
                [
                    (
                        "Meine Chefin hat eine Katzenallergie. Meine beste Freundin Jana ist Veganerin. Ich selbst esse "
                        "alles außer Sellerie und habe am 7. Juli Geburtstag."
                    )
                ],
                [
                    (E, "Meine Chefin hat eine Katzenallergie"),
                    (F, "Meine beste Freundin Jana ist Veganerin", "Beste Freundin Jana ist Veganerin"),
                    (
                        U,
                        "Ich selbst esse alles außer Sellerie",
                        "Isst alles außer Sellerie",
                        "diet=alles außer Sellerie",
                    ),
                    (U, "habe am 7. Juli Geburtstag", "Hat am 7. Juli Geburtstag", "birthday=7. Juli"),
                ],
            )
        ],
        ["Beste Freundin Jana ist Veganerin", "Isst alles außer Sellerie", "Hat am 7. Juli Geburtstag"],
    ),
    Case(
        "Portuguese and Italian in one conversation",
        [
            (
                [
                    "Eu moro em Coimbra e toco violoncelo.",
                    "Scusa, scrivo in italiano: sono celiaca e lavoro di notte.",
                ],
                [
                    (U, "Eu moro em Coimbra", "Mora em Coimbra", "home=Coimbra"),
                    (U, "toco violoncelo", "Toca violoncelo"),
                    (U, "sono celiaca", "È celiaca", "diet=celiaca"),
                    (U, "lavoro di notte", "Lavora di notte"),
                ],
            )
        ],
        ["Mora em Coimbra", "Toca violoncelo", "È celiaca", "Lavora di notte"],
    ),
    Case(
        "Chinese and Japanese",
        [
            (
                ["我叫林晓，住在成都，对花生过敏。", "犬を飼っています。名前はモモです。"],
                [
                    (U, "我叫林晓", "名叫林晓", "name=林晓"),
                    (U, "住在成都", "住在成都", "home=成都"),
                    (U, "对花生过敏", "对花生过敏"),
                    (F, "犬を飼っています。名前はモモです。", "飼い犬の名前はモモ"),
                ],
            )
        ],
        ["名叫林晓", "住在成都", "对花生过敏", "飼い犬の名前はモモ"],
    ),
    Case(
        "the same in other words is no second memory",
        [
            (["I'm allergic to shellfish."], [(U, "I'm allergic to shellfish", "Allergic to shellfish")]),
            (
                ["Remember, shellfish allergy here! What about paella?"],
                [(U, "shellfish allergy here", "Allergic to shellfish")],
            ),
        ],
        ["Allergic to shellfish"],
    ),
    Case(
        "more of the same thing is told",
        [
            (["I'm writing a novel."], [(U, "I'm writing a novel", "Writes a novel", "kind:project")]),
            (
                ["The novel is called Saltmarsh and has 212 pages by now."],
                [
                    (
                        U,
                        "The novel is called Saltmarsh and has 212 pages by now",
                        "Writes a novel called Saltmarsh, 212 pages by now",
                        "kind:project",
                        "update:novel",
                    )
                ],
            ),
        ],
        ["Writes a novel called Saltmarsh, 212 pages by now"],
    ),
    Case(
        "two children are not one",
        [
            (
                ["My daughter Noor is 4 and allergic to eggs.", "My daughter Salma is 9 and allergic to wasps."],
                [
                    (F, "My daughter Noor is 4 and allergic to eggs", "Daughter Noor, 4, is allergic to eggs"),
                    (F, "My daughter Salma is 9 and allergic to wasps", "Daughter Salma, 9, is allergic to wasps"),
                ],
            )
        ],
        ["Daughter Noor, 4, is allergic to eggs", "Daughter Salma, 9, is allergic to wasps"],
    ),
    Case(
        "a taste turned round",
        [
            (
                ["I love cilantro on everything."],
                [(U, "I love cilantro on everything", "Loves cilantro on everything", "kind:preference")],
            ),
            (
                ["Funny, since the flu I can't bear cilantro any more."],
                [
                    (
                        U,
                        "since the flu I can't bear cilantro any more",
                        "Cannot bear cilantro any more",
                        "kind:preference",
                        "supersede:cilantro",
                    )
                ],
            ),
        ],
        ["Cannot bear cilantro any more"],
    ),
    Case(
        "a name corrected, a nickname beside it",
        [
            (
                ["This is Kat. Well, Katarzyna on paper, but everyone says Kat."],
                [
                    (U, "This is Kat", "Goes by Kat", "called=Kat"),
                    (U, "Katarzyna on paper", "Katarzyna on paper"),
                ],
            )
        ],
        ["Katarzyna on paper", "Goes by Kat"],
    ),
    Case(
        "a business partner is somebody close, a client is not",
        [
            (
                [
                    (
                        "My business partner Leena handles the accounts; I do the joinery. Our client Mr Voss wants oak "
                        "everywhere and pays late."
                    )
                ],
                [
                    (
                        F,
                        "My business partner Leena handles the accounts",
                        "Business partner Leena handles the accounts",
                    ),
                    (U, "I do the joinery", "Does the joinery in the business"),
                    (E, "Our client Mr Voss wants oak everywhere"),
                ],
            )
        ],
        ["Business partner Leena handles the accounts", "Does the joinery in the business"],
    ),
    Case(
        "reported opinions of oneself",
        [
            (
                ["My doctor says I have to avoid salt because of my blood pressure."],
                [
                    (
                        U,
                        "I have to avoid salt because of my blood pressure",
                        "Has to avoid salt because of blood pressure",
                    ),
                ],
            )
        ],
        ["Has to avoid salt because of blood pressure"],
    ),
    Case(
        "forget that",
        [
            (
                ["I'm seeing a therapist on Mondays."],
                [(U, "I'm seeing a therapist on Mondays", "Sees a therapist on Mondays")],
            ),
            (
                ["Please forget what I told you about the therapist."],
                [(U, "forget what I told you about the therapist", "", "retract:therapist")],
            ),
        ],
        [],
    ),
    Case(
        "questions that contain facts",
        [
            (
                ["As a vegetarian with a nut allergy, what can I order at a Thai place?"],
                [
                    (U, "As a vegetarian", "Is a vegetarian", "diet=vegetarian"),
                    (U, "with a nut allergy", "Has a nut allergy"),
                    (Q, "what can I order at a Thai place?"),
                ],
            ),
            (
                ["How do I get a stain out of my grandmother's tablecloth before my wedding on 12 September?"],
                [(U, "my wedding on 12 September", "Wedding on 12 September")],
            ),
        ],
        ["Is a vegetarian", "Has a nut allergy", "Wedding on 12 September"],
    ),
    Case(
        "a whole sentence quoted for each of its parts",
        [
            (
                ["I moved from Lyon to Nantes in 2021, work as a beekeeper and speak Breton with my wife Enora."],
                [
                    (
                        U,
                        "I moved from Lyon to Nantes in 2021, work as a beekeeper and speak Breton with my wife Enora",
                        "Moved from Lyon to Nantes in 2021",
                        "home=Nantes",
                    ),
                    (
                        U,
                        "I moved from Lyon to Nantes in 2021, work as a beekeeper and speak Breton with my wife Enora",
                        "Works as a beekeeper",
                        "job=beekeeper",
                    ),
                    (
                        F,
                        "I moved from Lyon to Nantes in 2021, work as a beekeeper and speak Breton with my wife Enora",
                        "Wife is called Enora",
                    ),
                    (
                        U,
                        "I moved from Lyon to Nantes in 2021, work as a beekeeper and speak Breton with my wife Enora",
                        "Speaks Breton with wife Enora",
                    ),
                ],
            )
        ],
        [
            "Moved from Lyon to Nantes in 2021",
            "Works as a beekeeper",
            "Speaks Breton with wife Enora",
        ],
    ),
    Case(
        "about the user in the third person, as strong models write",
        [
            (
                ["I'm 34, I play the oud, and my partner Sami is a cardiologist."],
                [
                    (U, "I'm 34", "The user is 34 years old"),
                    (U, "I play the oud", "The user plays the oud"),
                    (F, "my partner Sami is a cardiologist", "The user's partner Sami is a cardiologist"),
                ],
            )
        ],
        ["34 years old", "Plays the oud", "Partner Sami is a cardiologist"],
    ),
    Case(
        "a decision reversed twice keeps the last",
        [
            (
                ["We'll hold the meetup in the library."],
                [(U, "We'll hold the meetup in the library", "Meetup in the library", "kind:decision")],
            ),
            (
                ["Change of plan: the meetup is in the old brewery."],
                [
                    (
                        U,
                        "the meetup is in the old brewery",
                        "Meetup in the old brewery",
                        "kind:decision",
                        "supersede:library",
                    )
                ],
            ),
            (
                ["The brewery has no heating. Back to the library for the meetup."],
                [
                    (
                        U,
                        "Back to the library for the meetup",
                        "Meetup in the library",
                        "kind:decision",
                        "supersede:brewery",
                    )
                ],
            ),
        ],
        ["Meetup in the library"],
    ),
    Case(
        "a date of birth, an age, a height with units",
        [
            (
                ["I was born on 29 February 1988 in Tartu. My blood type is 0 negative."],
                [
                    (
                        U,
                        "I was born on 29 February 1988 in Tartu",
                        "Born on 29 February 1988 in Tartu",
                        "birthday=29 February 1988",
                    ),
                    (U, "My blood type is 0 negative", "Blood type 0 negative"),
                ],
            )
        ],
        ["Born on 29 February 1988 in Tartu", "Blood type 0 negative"],
    ),
    Case(
        "one of several is corrected",
        [
            (
                ["My sons are Emil, 6, and Anton, 9."],
                [(F, "My sons are Emil, 6, and Anton, 9", "Sons Emil, 6, and Anton, 9")],
            ),
            (
                ["Emil turned 7 yesterday!"],
                [(F, "Emil turned 7 yesterday", "Sons Emil, 7, and Anton, 9", "update:emil")],
            ),
        ],
        ["Sons Emil, 7, and Anton, 9"],
    ),
    Case(
        "an allergy that was a mistake",
        [
            (
                ["I'm allergic to penicillin."],
                [(U, "I'm allergic to penicillin", "Allergic to penicillin")],
            ),
            (
                ["The tests came back: I'm not allergic to penicillin after all."],
                [(U, "I'm not allergic to penicillin after all", "Not allergic to penicillin", "supersede:penicillin")],
            ),
        ],
        ["Not allergic to penicillin"],
    ),
    Case(
        "a pasted e-mail and what the user does with it",
        [
            (
                [
                    "Subject: Invoice 4411\nDear Ms Adeyemi,\nI am the new accountant and I prefer cheques.\nBest, Colm\n\nI keep my own books in Ledger, by the way. Could you draft a polite reply?"
                ],
                [
                    (E, "I am the new accountant and I prefer cheques"),
                    (U, "I keep my own books in Ledger", "Keeps the books in Ledger"),
                ],
            )
        ],
        ["Keeps the books in Ledger"],
    ),
    Case(
        "text between quotation marks is not the speaker's",
        [
            (
                [
                    'Is this a good opening line: "I live alone on a lighthouse and I have three cats"? It is for my novel.'
                ],
                [
                    (U, "I live alone on a lighthouse", "Lives alone on a lighthouse"),
                    (F, "I have three cats", "Has three cats"),
                ],
            )
        ],
        [],
    ),
    Case(
        "what the assistant said is not taken over, what the user says of it is",
        [
            (
                ["You said I should take up rowing. Fine, I've signed up at the Thames club for Saturdays."],
                [
                    (
                        U,
                        "I've signed up at the Thames club for Saturdays",
                        "Signed up for rowing at the Thames club on Saturdays",
                    )
                ],
            )
        ],
        ["Signed up for rowing at the Thames club on Saturdays"],
    ),
    Case(
        "a wish with a condition",
        [
            (
                ["When I paste code, always point out security problems first."],
                [
                    (
                        A,
                        "When I paste code, always point out security problems first",
                        "Security problems first when code is pasted",
                    )
                ],
            )
        ],
        ["Security problems first when code is pasted"],
    ),
    Case(
        "conditions that are true",
        [
            (
                ["If I eat dairy I get a migraine, so I stick to oat milk."],
                [
                    (U, "If I eat dairy I get a migraine", "Gets a migraine from dairy"),
                    (U, "I stick to oat milk", "Sticks to oat milk", "kind:preference"),
                ],
            )
        ],
        ["Gets a migraine from dairy", "Sticks to oat milk"],
    ),
    Case(
        "wishes and would-likes",
        [
            (
                ["I'd love to learn Basque, and I'd rather walk than drive."],
                [
                    (U, "I'd love to learn Basque", "Would love to learn Basque", "kind:preference"),
                    (U, "I'd rather walk than drive", "Would rather walk than drive", "kind:preference"),
                ],
            )
        ],
        ["Would love to learn Basque", "Would rather walk than drive"],
    ),
    Case(
        "a mood, a mood that lasts",
        [
            (
                ["I'm so tired today. I've had insomnia since my twenties, though."],
                [
                    (N, "I'm so tired today"),
                    (U, "I've had insomnia since my twenties", "Insomnia since the twenties"),
                ],
            )
        ],
        ["Insomnia since the twenties"],
    ),
    Case(
        "what a careless model makes of moods, tasks and other people",
        [
            (
                [
                    "I'm starving right now. Can you translate 'I am a doctor from Lagos' into Igbo?",
                    "My landlord says he hates dogs. The guy next door is a drummer.",
                ],
                [
                    (U, "I'm starving right now", "Is starving"),
                    (U, "I am a doctor from Lagos", "Is a doctor from Lagos", "job=doctor"),
                    (U, "he hates dogs", "Hates dogs"),
                    (U, "The guy next door is a drummer", "Is a drummer", "job=drummer"),
                ],
            )
        ],
        [],
    ),
    Case(
        "two projects, one is dropped",
        [
            (
                ["I'm building two things: Kestrel, a weather station, and Moth, a night-light."],
                [
                    (U, "Kestrel, a weather station", "Building Kestrel, a weather station", "kind:project"),
                    (U, "Moth, a night-light", "Building Moth, a night-light", "kind:project"),
                ],
            ),
            (
                ["I've given up on Moth, no time."],
                [(U, "I've given up on Moth", "", "retract:moth")],
            ),
        ],
        ["Building Kestrel, a weather station"],
    ),
    Case(
        "mixed languages in a sentence",
        [
            (
                ["Ich arbeite als Product Owner bei einer Insurtech in Zug, und my wife is from Chennai."],
                [
                    (
                        U,
                        "Ich arbeite als Product Owner bei einer Insurtech in Zug",
                        "Arbeitet als Product Owner bei einer Insurtech in Zug",
                        "job=Product Owner",
                    ),
                    (F, "my wife is from Chennai", "Seine Frau ist aus Chennai"),
                ],
            )
        ],
        ["Arbeitet als Product Owner bei einer Insurtech in Zug", "Seine Frau ist aus Chennai"],
    ),
    Case(
        "Russian and Polish",
        [
            (
                [
                    "Меня зовут Тимур, я живу в Казани и не ем мясо.",
                    "Mam psa, wabi się Burek. Mieszkałem kiedyś w Gdyni.",
                ],
                [
                    (U, "Меня зовут Тимур", "Зовут Тимур", "name=Тимур"),
                    (U, "я живу в Казани", "Живёт в Казани", "home=Казани"),
                    (U, "не ем мясо", "Не ест мясо", "diet=не ем мясо"),
                    (F, "Mam psa, wabi się Burek", "Pies wabi się Burek"),
                ],
            )
        ],
        ["Зовут Тимур", "Живёт в Казани", "Не ест мясо", "Pies wabi się Burek"],
    ),
    Case(
        "a nickname is taken back",
        [
            (["Call me Bee."], [(U, "Call me Bee", "Prefers to be called Bee", "called=Bee")]),
            (
                ["Actually please stop calling me Bee. It's Beatrix."],
                [(U, "It's Beatrix", "Prefers to be called Beatrix", "called=Beatrix", "supersede:bee")],
            ),
        ],
        ["Prefers to be called Beatrix"],
    ),
    Case(
        "numbers of a thing that change",
        [
            (["My rent is 940 euros a month."], [(U, "My rent is 940 euros a month", "Rent is 940 euros a month")]),
            (
                ["From January the rent goes up to 1,015 euros a month."],
                [
                    (
                        U,
                        "From January the rent goes up to 1,015 euros a month",
                        "Rent is 1,015 euros a month from January",
                        "supersede:rent",
                    )
                ],
            ),
        ],
        ["Rent is 1,015 euros a month from January"],
    ),
    Case(
        "pronouns and a new relationship",
        [
            (
                ["My pronouns are they/them. I'm engaged to Rhys since May."],
                [
                    (U, "My pronouns are they/them", "Pronouns are they/them", "pronouns=they/them"),
                    (U, "I'm engaged to Rhys since May", "Engaged to Rhys since May", "relationship=engaged"),
                ],
            ),
            (
                ["We got married on Saturday, Rhys and I!"],
                [
                    (
                        U,
                        "We got married on Saturday, Rhys and I",
                        "Married to Rhys since Saturday",
                        "relationship=married",
                        "supersede:rhys",
                    )
                ],
            ),
        ],
        ["Pronouns are they/them", "Married to Rhys since Saturday"],
    ),
    Case(
        "three things in one breath, each with its own part of the quote",
        [
            (
                ["I'm a vegan sculptor from Ljubljana with two greyhounds, Luna and Argo."],
                [
                    (U, "I'm a vegan sculptor from Ljubljana", "Is vegan", "diet=vegan"),
                    (U, "I'm a vegan sculptor from Ljubljana", "Works as a sculptor", "job=sculptor"),
                    (U, "from Ljubljana", "Comes from Ljubljana", "origin=Ljubljana"),
                    (F, "two greyhounds, Luna and Argo", "Has two greyhounds, Luna and Argo"),
                ],
            )
        ],
        ["Is vegan", "Works as a sculptor", "Comes from Ljubljana", "Has two greyhounds, Luna and Argo"],
    ),
    Case(
        "what takes the place of something need not name it",
        [
            (["I use Emacs."], [(U, "I use Emacs", "Uses Emacs")]),
            (
                ["I switched from Emacs to Helix last week."],
                [(U, "I switched from Emacs to Helix last week", "Switched to Helix last week", "supersede:emacs")],
            ),
        ],
        ["Switched to Helix last week"],
    ),
    Case(
        "a key survives a translation",
        [(["Ich bin Hebamme in Jena."], [(U, "Ich bin Hebamme in Jena", "Works as a midwife in Jena", "job=Hebamme")])],
        ["Ich bin Hebamme in Jena"],
    ),
]


def statements(said: list[tuple[str, ...]], numbers: dict[str, int], known: dict[int, str]) -> list[dict[str, Any]]:
    """The statements as they come over the wire; `numbers` of the parts by their text, `known` memories by number."""
    return [_statement(list(item), numbers, known) for item in said]


def _statement(item: list[str], numbers: dict[str, int], known: dict[int, str]) -> dict[str, Any]:
    about, quote, *more = item
    number = next(number for text, number in numbers.items() if quote in text)
    found: dict[str, Any] = {"message": number, "quote": quote, "about": about}
    if not more:
        return found
    content, *rest = more
    found |= {"content": content, "confidence": 0.9}
    if about == U:
        found |= {"kind": "fact", "key": "none", "value": ""}
    for word in rest:
        if "=" in word:
            found["key"], found["value"] = word.split("=", 1)
            continue
        what, value = word.split(":", 1)
        if what == "kind":
            found["kind"] = value
        else:
            place = next(number for number, text in known.items() if value in text.casefold())
            found |= {"action": what, "memory": place}
    return found
