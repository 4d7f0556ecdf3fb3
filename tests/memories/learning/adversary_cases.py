"""What people say, and what models make of it, rightly and wrongly: what is in use in the end, and what waits.

A statement is as a model gives it, without the fields that say nothing: a fact, no key, said outright.
"""

# ruff: noqa: E501, RUF001 (what people say is longer than a line, and in every script)
from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """Conversations with the statements made of each; then what is in use, with its key, and what waits."""

    name: str
    sessions: list[tuple[list[str], list[dict[str, Any]]]]
    then: list[tuple[str, str | None]]
    waits: list[str]


CASES = [
    Case(
        "corr-actually-name",
        [
            (
                ["My name is Ana."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My name is Ana",
                        "content": "Is called Ana",
                        "key": "name",
                        "value": "Ana",
                    }
                ],
            ),
            (
                ["Actually my name is spelled Anna."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "my name is spelled Anna",
                        "content": "Is called Anna",
                        "key": "name",
                        "value": "Anna",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Is called Anna", "identity/name")],
        [],
    ),
    Case(
        "corr-split",
        [
            (
                ["I'm married to Tom."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I'm married to Tom",
                        "content": "Married to Tom",
                        "key": "relationship",
                        "value": "married",
                    }
                ],
            ),
            (
                ["Tom and I split up last month."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Tom and I split up last month",
                        "content": "Split up with Tom",
                        "key": "relationship",
                        "value": "split up",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Tom and I split up last month", "identity/relationship")],
        [],
    ),
    Case(
        "corr-split-nokey",
        [
            (
                ["I'm married to Tom."],
                [{"message": 1, "about": "user", "quote": "I'm married to Tom", "content": "Married to Tom"}],
            ),
            (
                ["Tom and I split up last month."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Tom and I split up last month",
                        "content": "Split up with Tom",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Tom and I split up last month", "identity/relationship")],
        [],
    ),
    Case(
        "corr-single-married-nokey",
        [
            (["I'm single."], [{"message": 1, "about": "user", "quote": "I'm single", "content": "Is single"}]),
            (
                ["I got married last week!"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I got married last week",
                        "content": "Is married",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("I got married last week", "identity/relationship")],
        [],
    ),
    Case(
        "corr-nolonger-add",
        [
            (
                ["I play the cello."],
                [{"message": 1, "about": "user", "quote": "I play the cello", "content": "Plays the cello"}],
            ),
            (
                ["I no longer play the cello, sold it."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I no longer play the cello",
                        "content": "No longer plays the cello",
                    }
                ],
            ),
        ],
        [("No longer plays the cello", None)],
        [],
    ),
    Case(
        "corr-job",
        [
            (
                ["I work as a nurse."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I work as a nurse",
                        "content": "Works as a nurse",
                        "key": "job",
                        "value": "nurse",
                    }
                ],
            ),
            (
                ["I started a new job: I'm a baker now."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I'm a baker now",
                        "content": "Works as a baker",
                        "key": "job",
                        "value": "baker",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Works as a baker", "work/job")],
        [],
    ),
    Case(
        "corr-job-left-supersede",
        [
            (
                ["I work at Siemens."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I work at Siemens",
                        "content": "Works at Siemens",
                        "key": "employer",
                        "value": "Siemens",
                    }
                ],
            ),
            (
                ["I quit my job at Siemens."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I quit my job at Siemens",
                        "content": "Quit the job at Siemens",
                        "key": "employer",
                        "value": "Siemens",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Quit the job at Siemens", "work/employer")],
        [],
    ),
    Case(
        "corr-job-left-add-samekey",
        [
            (
                ["I work at Siemens."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I work at Siemens",
                        "content": "Works at Siemens",
                        "key": "employer",
                        "value": "Siemens",
                    }
                ],
            ),
            (
                ["I don't work at Siemens anymore."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I don't work at Siemens anymore",
                        "content": "Does not work at Siemens anymore",
                        "key": "employer",
                        "value": "Siemens",
                    }
                ],
            ),
        ],
        [("Does not work at Siemens anymore", None)],
        [],
    ),
    Case(
        "corr-home-negated",
        [
            (
                ["I live in Bristol."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Bristol",
                        "content": "Lives in Bristol",
                        "key": "home",
                        "value": "Bristol",
                    }
                ],
            ),
            (
                ["I don't live in Bristol anymore."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I don't live in Bristol anymore",
                        "content": "Does not live in Bristol anymore",
                        "key": "home",
                        "value": "Bristol",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Does not live in Bristol anymore", "identity/location")],
        [],
    ),
    Case(
        "corr-home-retract",
        [
            (
                ["I live in Bristol."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Bristol",
                        "content": "Lives in Bristol",
                        "key": "home",
                        "value": "Bristol",
                    }
                ],
            ),
            (
                ["I don't live in Bristol anymore."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I don't live in Bristol anymore",
                        "content": "",
                        "key": "home",
                        "value": "Bristol",
                        "action": "retract",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [],
        [],
    ),
    Case(
        "corr-move-add",
        [
            (
                ["I live in Bristol."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Bristol",
                        "content": "Lives in Bristol",
                        "key": "home",
                        "value": "Bristol",
                    }
                ],
            ),
            (
                ["We moved from Bristol to Leeds in June."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "We moved from Bristol to Leeds in June",
                        "content": "Moved from Bristol to Leeds in June",
                        "key": "home",
                        "value": "Leeds",
                    }
                ],
            ),
        ],
        [("Moved from Bristol to Leeds in June", "identity/location")],
        [],
    ),
    Case(
        "corr-revert",
        [
            (
                ["I live in Bristol."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Bristol",
                        "content": "Lives in Bristol",
                        "key": "home",
                        "value": "Bristol",
                    }
                ],
            ),
            (
                ["I live in Leeds now."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Leeds now",
                        "content": "Lives in Leeds",
                        "key": "home",
                        "value": "Leeds",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
            (
                ["I'm back living in Bristol."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I'm back living in Bristol",
                        "content": "Lives in Bristol",
                        "key": "home",
                        "value": "Bristol",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Lives in Bristol", "identity/location")],
        [],
    ),
    Case(
        "corr-coriander",
        [
            (
                ["I love coriander."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I love coriander",
                        "content": "Loves coriander",
                        "kind": "preference",
                    }
                ],
            ),
            (
                ["I hate coriander, it tastes of soap."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I hate coriander",
                        "content": "Hates coriander",
                        "kind": "preference",
                    }
                ],
            ),
        ],
        [("Hates coriander", None)],
        [],
    ),
    Case(
        "corr-number",
        [
            (
                ["My best half marathon is 1:42."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My best half marathon is 1:42",
                        "content": "Best half marathon is 1:42",
                    }
                ],
            ),
            (
                ["My best half marathon is 1:39 now!"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My best half marathon is 1:39 now",
                        "content": "Best half marathon is 1:39",
                        "action": "update",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Best half marathon is 1:39", None)],
        [],
    ),
    Case(
        "corr-relanguage-add",
        [
            (
                ["Please answer in English."],
                [
                    {
                        "message": 1,
                        "about": "how_to_answer",
                        "quote": "Please answer in English",
                        "content": "Answers in English",
                    }
                ],
            ),
            (
                ["From now on answer in German please."],
                [
                    {
                        "message": 1,
                        "about": "how_to_answer",
                        "quote": "From now on answer in German",
                        "content": "Answers in German",
                    }
                ],
            ),
        ],
        [("Answers in German", None)],
        [],
    ),
    Case(
        "corr-married-name",
        [
            (
                ["I'm Julia Weber."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I'm Julia Weber",
                        "content": "Is called Julia Weber",
                        "key": "name",
                        "value": "Julia Weber",
                    }
                ],
            ),
            (
                ["I got married, my name is Julia Krause now."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I got married",
                        "content": "Got married",
                        "key": "relationship",
                        "value": "married",
                    },
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "my name is Julia Krause now",
                        "content": "Is called Julia Krause",
                        "key": "name",
                        "value": "Julia Krause",
                        "action": "supersede",
                        "memory": 1,
                    },
                ],
            ),
        ],
        [("Got married", "identity/relationship"), ("Is called Julia Krause", "identity/name")],
        [],
    ),
    Case(
        "corr-0.5",
        [
            (
                ["I live in Porto."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Porto",
                        "content": "Lives in Porto",
                        "key": "home",
                        "value": "Porto",
                    }
                ],
            ),
            (
                ["Home is sort of Faro."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Home is sort of Faro",
                        "content": "Lives in Faro",
                        "key": "home",
                        "value": "Faro",
                        "confidence": 0.5,
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Lives in Porto", "identity/location")],
        [],
    ),
    Case(
        "retr-wasmysister",
        [
            (
                ["I'm allergic to nuts."],
                [{"message": 1, "about": "user", "quote": "I'm allergic to nuts", "content": "Allergic to nuts"}],
            ),
            (
                ["Sorry, the nut allergy, that was my sister, not me."],
                [
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "the nut allergy, that was my sister, not me",
                        "content": "Sister is allergic to nuts",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Sister is allergic to nuts", None)],
        [],
    ),
    Case(
        "retr-wasmysister2",
        [
            (
                ["I'm allergic to nuts."],
                [{"message": 1, "about": "user", "quote": "I'm allergic to nuts", "content": "Allergic to nuts"}],
            ),
            (
                ["Sorry, the nut allergy, that was my sister, not me."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "the nut allergy, that was my sister, not me",
                        "content": "Not allergic to nuts",
                        "action": "retract",
                        "memory": 1,
                    },
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "the nut allergy, that was my sister, not me",
                        "content": "Sister is allergic to nuts",
                    },
                ],
            ),
        ],
        [("Sister is allergic to nuts", None)],
        [],
    ),
    Case(
        "retr-forget",
        [
            (
                ["I have a cat called Miso."],
                [
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "I have a cat called Miso",
                        "content": "Has a cat called Miso",
                    }
                ],
            ),
            (
                ["Forget that I have a cat, I made that up."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Forget that I have a cat",
                        "content": "",
                        "action": "retract",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [],
        [],
    ),
    Case(
        "temp-cold",
        [
            (
                ["I have a cold right now, so short answers today please."],
                [
                    {"message": 1, "about": "user", "quote": "I have a cold right now", "content": "Has a cold"},
                    {
                        "message": 1,
                        "about": "how_to_answer",
                        "quote": "short answers today please",
                        "content": "Short answers",
                    },
                ],
            )
        ],
        [],
        [],
    ),
    Case(
        "temp-headache",
        [
            (
                ["My head hurts today."],
                [{"message": 1, "about": "user", "quote": "My head hurts today", "content": "Head hurts"}],
            )
        ],
        [],
        [],
    ),
    Case(
        "temp-train",
        [
            (
                ["I'm on the train right now."],
                [{"message": 1, "about": "user", "quote": "I'm on the train right now", "content": "Is on the train"}],
            )
        ],
        [],
        [],
    ),
    Case(
        "temp-longterm",
        [
            (
                ["I'm tired of my job and always hungry at night."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "always hungry at night",
                        "content": "Always hungry at night",
                    }
                ],
            )
        ],
        [("Always hungry at night", None)],
        [],
    ),
    Case(
        "num-word",
        [
            (
                ["I have two kids."],
                [{"message": 1, "about": "family_friend_pet", "quote": "I have two kids", "content": "Has 2 kids"}],
            )
        ],
        [("Has 2 kids", None)],
        [],
    ),
    Case(
        "date-bday",
        [
            (
                ["My birthday is the 4th of July 1988."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My birthday is the 4th of July 1988",
                        "content": "Born 1988-07-04",
                        "key": "birthday",
                        "value": "1988-07-04",
                    }
                ],
            )
        ],
        [("Born 1988-07-04", "identity/birthday")],
        [],
    ),
    Case(
        "num-age",
        [
            (
                ["I'm forty-two and I hate it."],
                [{"message": 1, "about": "user", "quote": "I'm forty-two", "content": "Is 42 years old"}],
            )
        ],
        [("Is 42 years old", None)],
        [],
    ),
    Case(
        "neg-1",
        [
            (
                ["I don't eat pork."],
                [{"message": 1, "about": "user", "quote": "I don't eat pork", "content": "Eats pork"}],
            )
        ],
        [("I don't eat pork", None)],
        [],
    ),
    Case(
        "neg-2",
        [
            (
                ["I'm not a vegetarian."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I'm not a vegetarian",
                        "content": "Is a vegetarian",
                        "key": "diet",
                        "value": "vegetarian",
                    }
                ],
            )
        ],
        [("I'm not a vegetarian", None)],
        [],
    ),
    Case(
        "neg-3",
        [
            (
                ["I don't live in Berlin."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I don't live in Berlin",
                        "content": "Lives in Berlin",
                        "key": "home",
                        "value": "Berlin",
                    }
                ],
            )
        ],
        [("I don't live in Berlin", None)],
        [],
    ),
    Case(
        "neg-5",
        [
            (
                ["My name isn't Peter."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My name isn't Peter",
                        "content": "Is called Peter",
                        "key": "name",
                        "value": "Peter",
                    }
                ],
            )
        ],
        [("My name isn't Peter", None)],
        [],
    ),
    Case(
        "neg-6",
        [
            (
                ["I never said I like jazz."],
                [{"message": 1, "about": "user", "quote": "I like jazz", "content": "Likes jazz"}],
            )
        ],
        [("I never said I like jazz", None)],
        [],
    ),
    Case(
        "neg-7",
        [
            (
                ["I am not allergic to cats."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I am not allergic to cats",
                        "content": "Not allergic to cats",
                    }
                ],
            )
        ],
        [("Not allergic to cats", None)],
        [],
    ),
    Case(
        "neg-8",
        [
            (
                ["Ich bin kein Vegetarier."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Ich bin kein Vegetarier",
                        "content": "Ist Vegetarier",
                        "key": "diet",
                        "value": "Vegetarier",
                    }
                ],
            )
        ],
        [("Ich bin kein Vegetarier", None)],
        [],
    ),
    Case(
        "oth-wife-job",
        [
            (
                ["My wife works as a vet."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My wife works as a vet",
                        "content": "Works as a vet",
                        "key": "job",
                        "value": "vet",
                    }
                ],
            )
        ],
        [("My wife works as a vet", None)],
        [],
    ),
    Case(
        "oth-dog",
        [
            (
                ["Our dog is called Rex."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Our dog is called Rex",
                        "content": "Is called Rex",
                        "key": "name",
                        "value": "Rex",
                    }
                ],
            )
        ],
        [("Our dog is called Rex", None)],
        [],
    ),
    Case(
        "oth-she",
        [
            (
                ["My sister moved to Oslo. She is a pilot."],
                [
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "My sister moved to Oslo",
                        "content": "Sister moved to Oslo",
                    },
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "She is a pilot",
                        "content": "Is a pilot",
                        "key": "job",
                        "value": "pilot",
                    },
                ],
            )
        ],
        [("Sister moved to Oslo", None), ("My sister is a pilot", None)],
        [],
    ),
    Case(
        "oth-she2",
        [
            (
                ["My sister moved to Oslo. She is a pilot."],
                [
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "My sister moved to Oslo",
                        "content": "Sister moved to Oslo",
                    },
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "She is a pilot",
                        "content": "Sister is a pilot",
                    },
                ],
            )
        ],
        [("Sister moved to Oslo", None), ("Sister is a pilot", None)],
        [],
    ),
    Case(
        "oth-both",
        [
            (
                ["My husband and I live in Kiel."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "My husband and I live in Kiel",
                        "content": "Lives in Kiel with husband",
                        "key": "home",
                        "value": "Kiel",
                    }
                ],
            )
        ],
        [("Lives in Kiel with husband", "identity/location")],
        [],
    ),
    Case(
        "oth-like-mother",
        [
            (
                ["Like my mother, I am a teacher."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Like my mother, I am a teacher",
                        "content": "Is a teacher",
                        "key": "job",
                        "value": "teacher",
                    }
                ],
            )
        ],
        [("Is a teacher", "work/job")],
        [],
    ),
    Case(
        "hyp-5",
        [
            (
                ["I would love to live in Japan one day."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I would love to live in Japan one day",
                        "content": "Lives in Japan",
                        "key": "home",
                        "value": "Japan",
                    }
                ],
            )
        ],
        [("I would love to live in Japan one day", None)],
        [],
    ),
    Case(
        "hyp-10",
        [
            (
                ["Should I become a vegetarian?"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I become a vegetarian",
                        "content": "Becomes a vegetarian",
                        "key": "diet",
                        "value": "vegetarian",
                    }
                ],
            )
        ],
        [],
        [],
    ),
    Case(
        "hyp-11",
        [
            (
                ["Maybe I'll move to Spain someday."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Maybe I'll move to Spain someday",
                        "content": "Lives in Spain",
                        "key": "home",
                        "value": "Spain",
                        "confidence": 0.7,
                    }
                ],
            )
        ],
        [("Maybe I'll move to Spain someday", None)],
        [],
    ),
    Case(
        "task-1",
        [
            (
                ["Write a cover letter for a nurse who lives in York."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "a nurse who lives in York",
                        "content": "Is a nurse in York",
                        "key": "job",
                        "value": "nurse",
                    }
                ],
            )
        ],
        [],
        [],
    ),
    Case(
        "task-3",
        [
            (
                ["How do you say 'I am allergic to nuts' in Thai?"],
                [{"message": 1, "about": "user", "quote": "I am allergic to nuts", "content": "Allergic to nuts"}],
            )
        ],
        [],
        [],
    ),
    Case(
        "task-6",
        [
            (
                ["Make this shorter please: the quarterly numbers are fine."],
                [
                    {
                        "message": 1,
                        "about": "how_to_answer",
                        "quote": "Make this shorter please",
                        "content": "Shorter answers",
                    }
                ],
            )
        ],
        [],
        [],
    ),
    Case(
        "instr-neg",
        [
            (
                ["Please don't use emojis with me."],
                [
                    {
                        "message": 1,
                        "about": "how_to_answer",
                        "quote": "Please don't use emojis with me",
                        "content": "Use emojis",
                    }
                ],
            )
        ],
        [("Please don't use emojis with me", None)],
        [],
    ),
    Case(
        "de-nichtmehr-flip",
        [
            (
                ["Ich trinke keinen Kaffee mehr."],
                [{"message": 1, "about": "user", "quote": "Ich trinke keinen Kaffee mehr", "content": "Trinkt Kaffee"}],
            )
        ],
        [("Ich trinke keinen Kaffee mehr", None)],
        [],
    ),
    Case(
        "de-sie",
        [
            (
                ["Meine Tochter heißt Lea. Sie ist Vegetarierin."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Sie ist Vegetarierin",
                        "content": "Ist Vegetarierin",
                        "key": "diet",
                        "value": "Vegetarierin",
                    }
                ],
            )
        ],
        [("Meine Tochter ist Vegetarierin", None)],
        [],
    ),
    Case(
        "de-geb",
        [
            (
                ["Ich bin am 3. März 1990 geboren."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Ich bin am 3. März 1990 geboren",
                        "content": "Geboren am 03.03.1990",
                        "key": "birthday",
                        "value": "03.03.1990",
                    }
                ],
            )
        ],
        [("Geboren am 03.03.1990", "identity/birthday")],
        [],
    ),
    Case(
        "de-moechte",
        [
            (
                ["Ich möchte irgendwann in Norwegen leben."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Ich möchte irgendwann in Norwegen leben",
                        "content": "Lebt in Norwegen",
                        "key": "home",
                        "value": "Norwegen",
                    }
                ],
            )
        ],
        [("Ich möchte irgendwann in Norwegen leben", None)],
        [],
    ),
    Case(
        "fr-plus",
        [
            (
                ["J'habite à Lyon."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "J'habite à Lyon",
                        "content": "Habite à Lyon",
                        "key": "home",
                        "value": "Lyon",
                    }
                ],
            ),
            (
                ["Je n'habite plus à Lyon mais à Nantes."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Je n'habite plus à Lyon mais à Nantes",
                        "content": "Habite à Nantes",
                        "key": "home",
                        "value": "Nantes",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Je n'habite plus à Lyon mais à Nantes", "identity/location")],
        [],
    ),
    Case(
        "fr-pas",
        [
            (
                ["Je ne mange pas de viande."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Je ne mange pas de viande",
                        "content": "Mange de la viande",
                    }
                ],
            )
        ],
        [("Je ne mange pas de viande", None)],
        [],
    ),
    Case(
        "fr-divorce",
        [
            (
                ["Je suis mariée."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Je suis mariée",
                        "content": "Est mariée",
                        "key": "relationship",
                        "value": "mariée",
                    }
                ],
            ),
            (
                ["J'ai divorcé en mai."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "J'ai divorcé en mai",
                        "content": "Est divorcée",
                        "key": "relationship",
                        "value": "divorcée",
                    }
                ],
            ),
        ],
        [("Est divorcée", "identity/relationship")],
        [],
    ),
    Case(
        "es-yano",
        [
            (
                ["Vivo en Sevilla."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Vivo en Sevilla",
                        "content": "Vive en Sevilla",
                        "key": "home",
                        "value": "Sevilla",
                    }
                ],
            ),
            (
                ["Ya no vivo en Sevilla."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Ya no vivo en Sevilla",
                        "content": "Ya no vive en Sevilla",
                        "key": "home",
                        "value": "Sevilla",
                    }
                ],
            ),
        ],
        [("Ya no vive en Sevilla", None)],
        [],
    ),
    Case(
        "es-no",
        [(["No como carne."], [{"message": 1, "about": "user", "quote": "No como carne", "content": "Come carne"}])],
        [("No como carne", None)],
        [],
    ),
    Case(
        "es-mex",
        [
            (
                ["Soy alérgica a los cacahuetes."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Soy alérgica a los cacahuetes",
                        "content": "Allergic to peanuts",
                    }
                ],
            )
        ],
        [("Soy alérgica a los cacahuetes", None)],
        [],
    ),
    Case(
        "it-non",
        [
            (
                ["Non mangio carne."],
                [{"message": 1, "about": "user", "quote": "Non mangio carne", "content": "Mangia carne"}],
            )
        ],
        [("Non mangio carne", None)],
        [],
    ),
    Case(
        "pt-nao",
        [
            (
                ["Não bebo álcool."],
                [{"message": 1, "about": "user", "quote": "Não bebo álcool", "content": "Bebe álcool"}],
            )
        ],
        [("Não bebo álcool", None)],
        [],
    ),
    Case(
        "nl-geen",
        [
            (
                ["Ik eet geen vlees."],
                [{"message": 1, "about": "user", "quote": "Ik eet geen vlees", "content": "Eet vlees"}],
            )
        ],
        [("Ik eet geen vlees", None)],
        [],
    ),
    Case(
        "zh-neg",
        [(["我不吃猪肉。"], [{"message": 1, "about": "user", "quote": "我不吃猪肉", "content": "吃猪肉"}])],
        [("我不吃猪肉", None)],
        [],
    ),
    Case(
        "zh-move",
        [
            (
                ["我住在杭州。"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "我住在杭州",
                        "content": "住在杭州",
                        "key": "home",
                        "value": "杭州",
                    }
                ],
            ),
            (
                ["我搬到成都了。"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "我搬到成都了",
                        "content": "住在成都",
                        "key": "home",
                        "value": "成都",
                    }
                ],
            ),
        ],
        [("住在成都", "identity/location")],
        [],
    ),
    Case(
        "zh-wife",
        [
            (
                ["我妻子是医生。"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "我妻子是医生",
                        "content": "是医生",
                        "key": "job",
                        "value": "医生",
                    }
                ],
            )
        ],
        [("我妻子是医生", None)],
        [],
    ),
    Case(
        "zh-dog",
        [
            (
                ["我的狗叫豆豆。"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "我的狗叫豆豆",
                        "content": "叫豆豆",
                        "key": "name",
                        "value": "豆豆",
                    }
                ],
            )
        ],
        [("我的狗叫豆豆", None)],
        [],
    ),
    Case(
        "zh-ask",
        [
            (
                ["我应该住在北京吗？"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "我应该住在北京",
                        "content": "住在北京",
                        "key": "home",
                        "value": "北京",
                    }
                ],
            )
        ],
        [],
        [],
    ),
    Case(
        "ja-neg",
        [
            (
                ["お酒は飲みません。"],
                [{"message": 1, "about": "user", "quote": "お酒は飲みません", "content": "お酒を飲む"}],
            )
        ],
        [("お酒は飲みません", None)],
        [],
    ),
    Case(
        "ja-wife",
        [
            (
                ["妻は看護師です。"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "妻は看護師です",
                        "content": "看護師",
                        "key": "job",
                        "value": "看護師",
                    }
                ],
            )
        ],
        [("妻は看護師です", None)],
        [],
    ),
    Case(
        "ar-1",
        [
            (
                ["اسمي ليلى وأعيش في عمّان."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "اسمي ليلى",
                        "content": "اسمها ليلى",
                        "key": "name",
                        "value": "ليلى",
                    },
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "أعيش في عمّان",
                        "content": "تعيش في عمّان",
                        "key": "home",
                        "value": "عمّان",
                    },
                ],
            )
        ],
        [("اسمها ليلى", "identity/name"), ("تعيش في عمّان", "identity/location")],
        [],
    ),
    Case(
        "ar-neg",
        [
            (
                ["أنا لا آكل اللحم."],
                [{"message": 1, "about": "user", "quote": "أنا لا آكل اللحم", "content": "يأكل اللحم"}],
            )
        ],
        [("أنا لا آكل اللحم", None)],
        [],
    ),
    Case(
        "ar-husband",
        [
            (
                ["زوجي يعمل طبيبًا."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "زوجي يعمل طبيبًا",
                        "content": "يعمل طبيبًا",
                        "key": "job",
                        "value": "طبيبًا",
                    }
                ],
            )
        ],
        [("زوجي يعمل طبيبًا", None)],
        [],
    ),
    Case(
        "ru-neg",
        [(["Я не ем мясо."], [{"message": 1, "about": "user", "quote": "Я не ем мясо", "content": "Ест мясо"}])],
        [("Я не ем мясо", None)],
        [],
    ),
    Case(
        "ru-wife",
        [
            (
                ["Моя жена врач."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "Моя жена врач",
                        "content": "Врач",
                        "key": "job",
                        "value": "врач",
                    }
                ],
            )
        ],
        [("Моя жена врач", None)],
        [],
    ),
    Case(
        "ko-wife",
        [
            (
                ["제 아내는 의사예요."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "제 아내는 의사예요",
                        "content": "의사",
                        "key": "job",
                        "value": "의사",
                    }
                ],
            )
        ],
        [("제 아내는 의사예요", None)],
        [],
    ),
    Case(
        "ko-neg",
        [
            (
                ["저는 고기를 안 먹어요."],
                [{"message": 1, "about": "user", "quote": "저는 고기를 안 먹어요", "content": "고기를 먹음"}],
            )
        ],
        [("저는 고기를 안 먹어요", None)],
        [],
    ),
    Case(
        "secret-18",
        [
            (
                ["my login is bob and the pass is qwerty1"],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "my login is bob and the pass is qwerty1",
                        "content": "my login is bob and the pass is qwerty1",
                    }
                ],
            )
        ],
        [],
        [],
    ),
    Case(
        "f-wrongmsg",
        [
            (
                ["I live in Porto.", "Hm."],
                [
                    {
                        "message": 2,
                        "about": "user",
                        "quote": "I live in Porto",
                        "content": "Lives in Porto",
                        "key": "home",
                        "value": "Porto",
                    }
                ],
            )
        ],
        [("Lives in Porto", "identity/location")],
        [],
    ),
    Case(
        "f-mem99",
        [
            (
                ["I live in Porto."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Porto",
                        "content": "Lives in Porto",
                        "key": "home",
                        "value": "Porto",
                        "action": "supersede",
                        "memory": 99,
                    }
                ],
            )
        ],
        [("Lives in Porto", "identity/location")],
        [],
    ),
    Case(
        "f-quotepunct",
        [
            (
                ["I live in Porto, and I love it."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I live in Porto and I love it",
                        "content": "Lives in Porto",
                        "key": "home",
                        "value": "Porto",
                    }
                ],
            )
        ],
        [("Lives in Porto", "identity/location")],
        [],
    ),
    Case(
        "f-dup-nokey",
        [
            (
                ["I love jazz."],
                [
                    {"message": 1, "about": "user", "quote": "I love jazz", "content": "Loves jazz"},
                    {"message": 1, "about": "user", "quote": "I love jazz", "content": "Enjoys jazz"},
                ],
            )
        ],
        [("Enjoys jazz", None)],
        [],
    ),
    Case(
        "f-combined2",
        [
            (
                ["I have two cats and play the tuba."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I have two cats and play the tuba",
                        "content": "Has two cats",
                    }
                ],
            )
        ],
        [("I have two cats and play the tuba", None)],
        [],
    ),
    Case(
        "f-combined4",
        [
            (
                ["I'm a nurse and my husband is a chef."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I'm a nurse and my husband is a chef",
                        "content": "Is a chef",
                        "key": "job",
                        "value": "chef",
                    }
                ],
            )
        ],
        [("My husband is a chef", None)],
        [],
    ),
    Case(
        "f-lostnum",
        [
            (
                ["I run 12 km every Sunday."],
                [{"message": 1, "about": "user", "quote": "I run 12 km every Sunday", "content": "Runs every Sunday"}],
            )
        ],
        [("I run 12 km every Sunday", None)],
        [],
    ),
    Case(
        "f-wrongnum",
        [
            (
                ["I run 12 km every Sunday."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I run 12 km every Sunday",
                        "content": "Runs 21 km every Sunday",
                    }
                ],
            )
        ],
        [("I run 12 km every Sunday", None)],
        [],
    ),
    Case(
        "f-wrongname",
        [
            (
                ["My cat Miso is old."],
                [
                    {
                        "message": 1,
                        "about": "family_friend_pet",
                        "quote": "My cat Miso is old",
                        "content": "Cat Milo is old",
                    }
                ],
            )
        ],
        [("My cat Miso is old", None)],
        [],
    ),
    Case(
        "f-invented",
        [
            (
                ["I love hiking."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I love hiking",
                        "content": "Loves hiking in the Alps with Peter",
                    }
                ],
            )
        ],
        [],
        ["Loves hiking in the Alps with Peter"],
    ),
    Case(
        "f-unrelated-sup",
        [
            (
                ["I love hiking."],
                [{"message": 1, "about": "user", "quote": "I love hiking", "content": "Loves hiking"}],
            ),
            (
                ["I bought a kayak."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I bought a kayak",
                        "content": "Bought a kayak",
                        "action": "supersede",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Loves hiking", None), ("Bought a kayak", None)],
        [],
    ),
    Case(
        "f-unrelated-ret",
        [
            (
                ["I love hiking."],
                [{"message": 1, "about": "user", "quote": "I love hiking", "content": "Loves hiking"}],
            ),
            (
                ["I sold my kayak."],
                [
                    {
                        "message": 1,
                        "about": "user",
                        "quote": "I sold my kayak",
                        "content": "Sold the kayak",
                        "action": "retract",
                        "memory": 1,
                    }
                ],
            ),
        ],
        [("Loves hiking", None)],
        ["Sold the kayak"],
    ),
]
