"""What weak models answer to plain statements: nothing is misstated, and what was said is kept in words that say it."""

from __future__ import annotations

from typing import Any

import pytest

from bench.extraction.memory import Bench

Said = tuple[str, str, str, str]
"""A quote, the statement made of it, a key and its value."""


def kept(*sessions: tuple[list[str], list[Said]]) -> list[tuple[str, str | None]]:
    """What is in use after conversations with these messages and statements."""
    bench = Bench()
    for said, made in sessions:
        call, _ = bench.call(said)
        items: list[dict[str, Any]] = [
            {
                "message": next((s.number for s in call.sources if quote in s.content), 1),
                "quote": quote,
                "about": "user",
                "content": content,
                "key": key,
                "value": value,
                "confidence": 1.0,
            }
            for quote, content, key, value in made
        ]
        bench.take(call, items)
    return [(memory.content, memory.slot) for memory in bench.memories if memory.is_current]


def once(said: str, quote: str, content: str, key: str = "none", value: str = "") -> list[tuple[str, str | None]]:
    return kept(([said], [(quote, content, key, value)]))


@pytest.mark.parametrize(
    ("said", "quote", "content", "key", "value"),
    [
        ("I'm Batman, lol. What now?", "I'm Batman, lol", "Is called Batman", "name", "Batman"),
        ("I'm Batman.", "I'm Batman", "Is called Batman", "name", "Batman"),
        ("When I'm president I'll ban Mondays.", "I'll ban Mondays", "Will ban Mondays", "none", ""),
        ("Wenn ich mal reich bin, kaufe ich eine Yacht.", "kaufe ich eine Yacht", "Kauft eine Yacht", "none", ""),
        ("I need help planning the next few months.", "I need help planning", "Needs help planning", "none", ""),
        ("I have a question about my tax return.", "I have a question", "Has a question about tax", "none", ""),
        ("Ich brauche Hilfe bei der Steuer.", "Ich brauche Hilfe bei der Steuer", "Braucht Hilfe", "none", ""),
        ("If it rains on Saturday I'll stay at home.", "I'll stay at home", "Stays at home", "none", ""),
        ("Write a story: I am Lord Blackwood.", "I am Lord Blackwood", "Is called Lord Blackwood", "name", "Blackwood"),
        ("Thanks!", "Happy to help with that.", "Is happy to help", "none", ""),
    ],
)
def test_jests_daydreams_and_requests_are_no_facts(said: str, quote: str, content: str, key: str, value: str) -> None:
    assert once(said, quote, content, key, value) == []


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I'm Batman's biggest fan, I own 300 comics", "I'm Batman's biggest fan, I own 300 comics"),
        ("I need a wheelchair since my accident in 2019", "Needs a wheelchair since an accident in 2019"),
        ("I'm looking for a flat in Turin with my sister", "Looks for a flat in Turin with their sister"),
        ("When I retire in March I'm moving to Portugal", "Moves to Portugal after retiring in March"),
    ],
)
def test_what_only_looks_like_them_is_kept(said: str, content: str) -> None:
    assert once(f"{said}.", said, content) == [(content, None)]


@pytest.mark.parametrize(
    ("single", "value", "wed", "now"),
    [
        ("I'm single", "single", "I got married last week", "married"),
        ("Ich bin ledig", "ledig", "Ich habe letzte Woche geheiratet", "verheiratet"),
        ("Je suis célibataire", "célibataire", "Je me suis mariée samedi", "mariée"),
        ("Soy soltera", "soltera", "Me casé la semana pasada", "casada"),
        ("Sono celibe", "celibe", "Mi sono sposato a maggio", "sposato"),
        ("Sou solteiro", "solteiro", "Casei-me no sábado", "casado"),
        ("Ik ben vrijgezel", "vrijgezel", "Ik ben vorige week getrouwd", "getrouwd"),
    ],
)
@pytest.mark.parametrize("keys", [("relationship", "relationship"), ("relationship", "none"), ("none", "none")])
def test_a_wedding_takes_the_place_of_being_single(
    single: str, value: str, wed: str, now: str, keys: tuple[str, str]
) -> None:
    before, after = ((key, told if key != "none" else "") for key, told in zip(keys, (value, now), strict=True))
    current = kept(([f"{single}."], [(single, single, *before)]), ([f"{wed}!"], [(wed, wed, *after)]))
    assert current == [(wed, "identity/relationship")]


@pytest.mark.parametrize(
    ("said", "made", "noted"),
    [
        ("I'm allergic to peanuts", "The user is allergic to peanuts.", "Allergic to peanuts"),
        ("I keep bees in Lund", "User keeps bees in Lund", "Keeps bees in Lund"),
        ("My dog is called Rex", "The user's dog is called Rex", "Dog is called Rex"),
        ("Ich halte Bienen in Lund", "Der Nutzer hält Bienen in Lund", "Hält Bienen in Lund"),
        ("My wife and I run a bakery", "The user and his wife run a bakery", "The user and his wife run a bakery"),
        ("I share a car with my sister", "The user shares the user's car", "The user shares the user's car"),
    ],
)
def test_statements_are_put_as_a_person_would_note_them(said: str, made: str, noted: str) -> None:
    assert [content.rstrip(".") for content, _ in once(f"{said}.", said, made)] == [noted]


@pytest.mark.parametrize(
    ("said", "made", "noted"),
    [
        ("I only drink rooibos these days", "Updated drink habit", "I only drink rooibos these days"),
        ("I have a dog named Odin", "Mentioned having a dog", "I have a dog named Odin"),
        ("We have three cats", "Has two cats", "We have three cats"),
        ("I write everything in Neovim", "Writes my code in Neovim", "I write everything in Neovim"),
        ("Bitte antworte immer auf Deutsch", "Always answers in German", "Bitte antworte immer auf Deutsch"),
        ("My wife is allergic to cats", "Allergic to cats", "My wife is allergic to cats"),
    ],
)
def test_a_statement_that_misses_what_was_said_gives_way_to_the_words_themselves(
    said: str, made: str, noted: str
) -> None:
    assert once(f"{said}.", said, made) == [(noted, None)]


def test_of_a_long_sentence_a_scrap_is_not_enough() -> None:
    said = (
        "What is still open is Operation Attic, that's our name for turning the attic into a workshop where I can "
        "restore old radios, my big hobby, must have done thirty by now"
    )
    assert once(f"{said}.", f"{said}.", "Operation Attic is open") == [(said, None)]


@pytest.mark.parametrize(
    ("said", "name", "told", "home", "lives"),
    [
        (
            "Hallo, ich heiße Anneliese und wohne in Freiburg",
            "Anneliese",
            "Ich heiße Anneliese",
            "Freiburg",
            "Wohne in",
        ),
        ("Me llamo Lucía y vivo en Granada", "Lucía", "Me llamo Lucía", "Granada", "Vivo en"),
    ],
)
def test_two_things_said_with_one_subject_are_two(said: str, name: str, told: str, home: str, lives: str) -> None:
    assert sorted(once(f"{said}.", said, f"Is called {name}", "name", name)) == sorted(
        [(told, "identity/name"), (f"{lives} {home}", "identity/location")]
    )


def test_of_three_sentences_quoted_at_once_none_is_lost() -> None:
    said = "I'm Ola. I live in Bergen. I work at Equinor."
    assert sorted(once(said, said, "Is called Ola", "name", "Ola")) == [
        ("I live in Bergen", "identity/location"),
        ("I work at Equinor", None),
        ("Is called Ola", "identity/name"),
    ]


def test_a_home_named_first_takes_the_place_of_the_old_one() -> None:
    current = kept(
        (["I live in Graz."], [("I live in Graz", "Lives in Graz", "none", "")]),
        (["Finally moved! Linz is home now."], [("Linz is home now", "Linz is home", "none", "")]),
    )
    assert current == [("Linz is home", "identity/location")]


def test_a_wish_for_this_answer_is_none_for_every_answer() -> None:
    bench = Bench()
    call, _ = bench.call(["For this answer only, be brief."])
    said = {"message": 1, "quote": "For this answer only, be brief", "about": "how_to_answer", "content": "Be brief"}
    bench.take(call, [said | {"confidence": 1.0}])
    assert bench.memories == ()
