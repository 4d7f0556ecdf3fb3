import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.text.provenance import carry_spans, spans_of_others, without

CASES = json.loads(Path(__file__).with_name("provenance.json").read_text(encoding="utf-8"))

MAIL = "From: Ann Lee <ann@lee.example>\nSubject: lease\n\nI live in Leeds.\n\nCan she do that?"


def others(message, said=()):
    return [message[start:end].strip() for start, end in spans_of_others(message, said)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("see:\n```\nI am Ann\n```\nthanks", ["```\nI am Ann\n```"]),
        ("see:\n~~~~ text\nI am Ann\n```\nme\n~~~~\nthanks", ["~~~~ text\nI am Ann\n```\nme\n~~~~"]),
        ("```\nnever closed", ["```\nnever closed"]),
        ('fix """I am Ann""" please', ['"""I am Ann"""']),
        ("> I am Ann\nis that right?", ["> I am Ann"]),
        ("letter:\n---\nI am Ann\n---\nwell?", ["---\nI am Ann\n---"]),
        ("look\n----- Forwarded message -----\nI am Ann", ["----- Forwarded message -----\nI am Ann"]),
        ("look\n--- Weitergeleitete Nachricht ---\nIch bin Ann", ["--- Weitergeleitete Nachricht ---\nIch bin Ann"]),
        ("he wrote:\n“I am Ann. I live here.”\ncan he?", ["“I am Ann. I live here.”"]),
        ("[ASSISTANT]: you live in Leeds\n\nwhat now?", ["[ASSISTANT]: you live in Leeds"]),
        ("Ann: hi\nBob: I am vegan\nAnn: ok\n\nso?", ["Ann: hi\nBob: I am vegan\nAnn: ok"]),
        (
            "[10:02] Bob Low: hi\n10:03 Eve: I am vegan.\nreally\n\nso?",
            ["[10:02] Bob Low: hi\n10:03 Eve: I am vegan.\nreally"],
        ),
        (MAIL, [MAIL]),
        (
            'he sent me this: "I am allergic to lime plaster. Regards, Geert", what now?',
            ['"I am allergic to lime plaster. Regards, Geert"'],
        ),
        ("Korrigiere: „Ich wohne seit 2010 in Lüneburg“ – danke", ["„Ich wohne seit 2010 in Lüneburg“"]),
        ("Corrige : « Mon père est pompier et j'habite à Lens. »", ["« Mon père est pompier et j'habite à Lens. »"]),
        ("訳して：「私は東京に住んでいて看護師です」", ["「私は東京に住んでいて看護師です」"]),
        ("『私は札幌で働いています』を英語に", ["『私は札幌で働いています』"]),
        ("我老板说“我住在大连，我是一名小学老师”是什么意思", ["“我住在大连，我是一名小学老师”"]),
        ("‹Ich wohne in Kiel und habe drei Hunde› übersetzen", ["‹Ich wohne in Kiel und habe drei Hunde›"]),
        ("＂I live in Oslo and have a dog＂ translate", ["＂I live in Oslo and have a dog＂"]),
        ("\u200b> I am Ann\nis that right?", ["\u200b> I am Ann"]),
        ("＞私は大阪に住んでいます\n誰が言った", ["＞私は大阪に住んでいます"]),
        ("\u200b```\nI am Ann\n\u200b```\nwho?", ["\u200b```\nI am Ann\n\u200b```"]),
        (
            "answer?\n\nOn Tue, 3 May 2026 at 10:14, Lena wrote:\nI move to Bern.\n\nLena",
            ["On Tue, 3 May 2026 at 10:14, Lena wrote:\nI move to Bern.\n\nLena"],
        ),
        (
            "was nun?\nAm 03.05.2026 um 10:14 schrieb Lena Kurz:\nIch ziehe nach Bern.",
            ["Am 03.05.2026 um 10:14 schrieb Lena Kurz:\nIch ziehe nach Bern."],
        ),
        (
            "3/5/26, 12:01 - Ana: I eat no nuts\n3/5/26, 12:02 - Bo: ok\n\nso?",
            ["3/5/26, 12:01 - Ana: I eat no nuts\n3/5/26, 12:02 - Bo: ok"],
        ),
        ("parse <p class='x'><b>I live in Oslo</b></p> now", ["<p class='x'><b>I live in Oslo</b></p>"]),
        ('what is wrong: {"bio": "I live in Oslo"}', ['{"bio": "I live in Oslo"}']),
        ("From: ann@lee.example\nYou are promoted.\n\nIs this real?", ["From: ann@lee.example\nYou are promoted."]),
    ],
)
def test_others_words_are_known_by_where_they_stand(message, expected):
    assert others(message) == expected


@pytest.mark.parametrize("message", CASES["what_people_type_is_theirs"])
def test_what_people_type_is_theirs(message):
    assert others(message) == []


def test_what_was_pasted_is_known_from_the_composer():
    message = "Ann says hi. I live here."
    assert others(message, ((0, 12, "pasted"), (13, 25, "spoken"))) == ["Ann says hi."]


@given(st.text(alphabet="ab:\n >`\"'-[]@.“”", max_size=200))
def test_spans_are_in_order_and_blanking_keeps_places(message):
    spans = spans_of_others(message)
    assert all(a.end < b.start for a, b in zip(spans, spans[1:], strict=False))
    left = without(message, spans)
    assert len(left) == len(message) and left.count("\n") == message.count("\n")


@given(st.text("ab", max_size=9), st.text("cd", min_size=1, max_size=9), st.text("ab", max_size=9), st.text("xy"))
def test_what_was_pasted_stays_so_whatever_is_typed_around_it(head, pasted, tail, typed):
    before, span = head + pasted + tail, (len(head), len(head) + len(pasted), "pasted")
    for after in (typed + before, before + typed, head + pasted, pasted + tail):
        assert [after[start:end] for start, end, _ in carry_spans(before, after, [span])] == [pasted]


@pytest.mark.parametrize(("after", "kept"), CASES["spans_follow_an_edit"])
def test_spans_follow_an_edit(after, kept):
    spans = carry_spans("I said: LONG LETTER. ok", after, [(8, 19, "pasted")])
    assert "".join(after[start:end] for start, end, _ in spans) == kept
