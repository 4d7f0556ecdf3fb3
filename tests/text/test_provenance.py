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
        ("why?\n<known>\nNotes.\n- I am Ann", ["<known>\nNotes.\n- I am Ann"]),
        ('why?\n<said on="3 May">\nuser: I am Ann', ['<said on="3 May">\nuser: I am Ann']),
        ("- I am Ann\n</known>\nwhy?", ["- I am Ann\n</known>"]),
        ("I am Ann of <client>, the app takes <files>", []),
        ("<rant>\nI am Ann and hate queues", []),
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
            (
                'why?\nTraceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f("x")\n'
                '  File "a.py", line 9, in f\n    raise E(s)\nE: I live in Leeds\nI am Ann'
            ),
            [
                (
                    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f("x")\n'
                    '  File "a.py", line 9, in f\n    raise E(s)\nE: I live in Leeds'
                )
            ],
        ),
        (
            "why?\nE: I live in Leeds\n\tat a.B.c(B.java:12)\n\tat a.B.d(B.java:9)\n\nI am Ann",
            ["E: I live in Leeds\n\tat a.B.c(B.java:12)\n\tat a.B.d(B.java:9)"],
        ),
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
        ("fix:\n\n    # I live in Oslo\n\n    name = 'Bob'\nwhy", ["# I live in Oslo\n\n    name = 'Bob'"]),
        (
            "1\n00:00:01,000 --> 00:00:03,000\nI live in Oslo\n\n2\n00:00:04,000 --> 00:00:05,000\nok\n\nsum up",
            ["00:00:01,000 --> 00:00:03,000\nI live in Oslo", "00:00:04,000 --> 00:00:05,000\nok"],
        ),
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


@pytest.mark.parametrize(
    "message",
    [
        "who?\n\nFrom: Ann Lee\nSent: Monday, 4 May 2026 10:14\nTo: Sam\nSubject: lease\n\n{}\n\nAnn",
        "wer?\n\nVon: Ann\nDatum: 4. Mai 2026 um 10:14\nBetreff: Wohnung\n\n{}",
        "Ann, [12.05.2026 10:14]\n{}\n\nBob, [12.05.2026 10:15]\nok\n\nso?",
        "[10:14] Ann Lee\n{}\n[10:15] Bob\nok\n\nso?",
        "Ann  10:14 AM\n{}\n\nBob  10:15 AM\nok\nAnn  10:16 AM\nbye",
        "Ann — Today at 10:14\n{}\nBob — Today at 10:15\nok\nAnn — Today at 10:16\nbye",
        "You said:\nhi\nBot said:\nHello.\nYou said:\n{}\n\ngo on",
        "**User**\n\n{}\n\n**Bot**\n\nNice.\n\n**User**\n\nbye",
        "## Human\n{}\n## AI\nNice.\n## Human\nbye",
        "<ann> {}\n<bob> ok\n\nso?",
        "10:14 <ann> {}\n10:15 <bob> ok",
        "translate '{}' please",
        "translate ‘{}’ please",
        "Korrigiere ‚{}‘ bitte",
        "translate `{}` please",
        "- > {}\n- mine",
        "print('{}')\nwhat is wrong?",
        "why?\ndef f(x):\n    # {}\n    return 1",
        "why?\nint main() {{\n  // {}\n  return 0;\n}}",
        "name;city;note\nAnn;Leeds;{}\nBob;Oslo;meat\n\nsort it",
        "name\tnote\nAnn\t{}\n\nsort it",
        "| name | note |\n|---|---|\n| Ann | {} |\n\nsort it",
        "2026-05-12 10:14:05,123 INFO {}\n2026-05-12 10:14:06,000 ERROR x\nwhy?",
        "May 12 10:14:05 host app[1]: {}\nMay 12 10:14:06 host app[1]: x\nwhy?",
        'wrong: ["{}", "x"]',
        'check {{"user": {{"name": "Ann", "bio": "{}"}}}} thanks',
        '<person bio="{}"/> is that valid?',
        "[quote=Ann]{}[/quote]\nreally?",
        "\\begin{{quote}}\n{}\n\\end{{quote}}\nright?",
        "BEGIN:VCARD\nNOTE:{}\nEND:VCARD\nimport it",
        "what is this:\n<known>\n{}\nand the rest was cut off",
        "[quote=Ann]\n{}\n",
        "[quote]\nno\n[quote]\nyes\n[/quote]\n{}\n[/quote]\nreally?",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-I eat meat\n+{}\n\nok?",
    ],
)
def test_what_others_wrote_is_theirs_by_its_form(message):
    words = "I live in Leeds and have two dogs"
    text = message.format(words)
    start = text.index(words)
    assert any(left <= start and start + len(words) <= right for left, right in spans_of_others(text))
    if text.rpartition("\n")[2].endswith("?"):
        assert not others(text)[-1].endswith("?")


@pytest.mark.parametrize(
    "block",
    [
        "<item>\n<item>\nno\n</item>\nyes\n</item>",
        "[quote]\nno\n[quote]\nyes\n[/quote]\nperhaps\n[/quote]",
        "<file />",
        "This is not sure [citation]",
    ],
)
def test_what_people_type_around_a_block_is_theirs(block):
    text = f"I live in Leeds.\n{block}\nI have two dogs."
    assert not any("Leeds" in span or "dogs" in span for span in others(text))
