"""Every format, and the odd files that exist of it: read as their person saw them, hidden things left out."""

import gzip
import json
import tempfile
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from testkit import exports
from testkit.exports import (
    HIDDEN,
    chatgpt_conversation,
    claude_conversation,
    librechat_conversation,
    node,
    openwebui_chat,
    pack,
)
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import ReadConversation, ReadMemory, ReadProject, Unreadable
from webapp.transfer.field_values import instant
from webapp.transfer.json_text import MAX_SAMPLE
from webapp.transfer.message_tree import branch, current_branch, newest_leaf
from webapp.transfer.readers import READERS, recognise
from webapp.transfer.readers.claude import statements
from webapp.transfer.readers.gemini import common_beginning
from webapp.transfer.readers.openwebui import without_details
from webapp.transfer.sources import Upload


def _only(parts, kind):
    return [part for part in parts if isinstance(part, kind)]


def _lines(conversation):
    return [(message.role, message.content) for message in conversation.messages]


def test_chatgpt_shows_the_branch_that_was_seen_and_nothing_hidden(read):
    name, parts = read(pack({"conversations.json": [chatgpt_conversation()], "chat.html": "<html>", "user.json": {}}))
    (talk,) = _only(parts, ReadConversation)
    assert name == "chatgpt"
    assert (talk.source_id, talk.title) == ("conv-1", "Talk 1")
    assert _lines(talk) == [("user", "Question 1"), ("assistant", "Answer 1.")]
    assert talk.messages[1].model == "gpt-5"
    assert talk.created_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert talk.left_out == {"hidden messages": 3, "steps of tools": 1, "other versions": 1}
    assert HIDDEN not in str(parts)
    remembered = {(memory.content, memory.kind) for memory in _only(parts, ReadMemory)}
    assert remembered == {
        ("Lives in Lisbon.", "fact"),
        ("Has a dog called Rex.", "fact"),
        ("I am a beekeeper", "fact"),
        ("Answer in short sentences", "instruction"),
    }


def test_chatgpt_shards_folders_and_single_files(read):
    shards = {f"export/conversations-00{n}.json": [chatgpt_conversation(n)] for n in range(3)}
    _, parts = read(pack(shards | {"export/export_manifest.json": {}}))
    assert [talk.title for talk in _only(parts, ReadConversation)] == ["Talk 0", "Talk 1", "Talk 2"]
    assert read([chatgpt_conversation()], "conversations-004.json")[0] == "chatgpt"


def test_the_newest_list_of_memories_takes_the_place_of_what_was_told(read):
    def context(at, text):
        content = {"content_type": "model_editable_context", "model_set_context": text}
        return node("ctx", "root", "system", at=at, content=content)

    old, new = chatgpt_conversation(1), chatgpt_conversation(2)
    old["mapping"]["ctx"] = context(1_700_000_001.0, "1. [2024-05-01]. Lives in Porto.")
    new["mapping"]["ctx"] = context(
        1_700_000_002.0, "1. [2025-01-02]. Lives in Lisbon.\n\n2. [2025-01-03]. Keeps bees."
    )
    for talk in (old, new):
        talk["mapping"]["q1"]["parent"] = "ctx"
        talk["mapping"]["ctx"]["parent"] = "root"
    _, parts = read(pack({"conversations.json": [new, old]}))
    assert [(m.content, m.at.date().isoformat()) for m in _only(parts, ReadMemory)] == [
        ("Lives in Lisbon.", "2025-01-02"),
        ("Keeps bees.", "2025-01-03"),
    ]


def test_a_listed_memory_needs_no_date_and_a_mark_may_stand_for_a_name(read):
    listed = {
        "content_type": "model_editable_context",
        "model_set_context": "1. [2026-01-01]. Keeps bees.\n2. Has a dog.",
    }
    marks = 'In \ue200entity\ue202["city","Lisbon","1"]\ue201\ue200cite\ue202turn0\ue201.'
    nodes = [node("r", None), node("c", "r", "assistant", content=listed), node("q", "c", "user", marks)]
    talk = chatgpt_conversation(mapping={n["id"]: n for n in nodes}, current_node="q")
    parts = read([talk], "conversations.json")[1]
    assert _lines(parts[0]) == [("user", "In Lisbon.")]
    assert [memory.content for memory in _only(parts, ReadMemory)] == ["Keeps bees.", "Has a dog."]


def test_a_conversation_that_was_not_to_be_remembered_tells_no_memories(read):
    _, parts = read(pack({"conversations.json": [chatgpt_conversation(is_do_not_remember=True)]}))
    assert not _only(parts, ReadMemory)
    assert _only(parts, ReadConversation)[0].may_remember is False


def test_odd_chatgpt_conversations_are_read(read):
    odd_ones = [{name: None} for name in ("title", "default_model_slug", "current_node")]
    odd_ones += [{"create_time": None, "update_time": None}, {"conversation_id": None, "id": "other"}]
    for odd in (*odd_ones, {"current_node": "nowhere"}):
        _, parts = read(pack({"conversations.json": [chatgpt_conversation() | odd]}))
        (talk,) = _only(parts, ReadConversation)
        assert _lines(talk)[-1] == ("assistant", "Answer 1."), odd


def test_claude_with_projects_and_memories(read):
    docs = [{"filename": "notes.md", "content": "Bees dance."}]
    known = "**Work context**\n\nAna keeps bees. She lives in Lisbon."
    members = {
        "conversations.json": [claude_conversation(1), claude_conversation(2, current_leaf_message_uuid=None)],
        "users.json": [{"uuid": "u", "full_name": "Ana"}],
        "projects/p1.json": {"uuid": "p1", "name": "Thesis", "prompt_template": "Be strict.", "docs": docs},
        "memories.json": [{"conversations_memory": known, "project_memories": {"p1": "The thesis is due in May."}}],
    }
    name, parts = read(pack(members))
    assert name == "claude"
    (project,) = _only(parts, ReadProject)
    shown = (project.name, project.instructions, project.documents)
    assert shown == ("Thesis", "Be strict.", [("notes.md", "Bees dance.")])
    assert isinstance(parts[0], ReadProject)  # before what belongs to it
    for talk in _only(parts, ReadConversation):
        said = _lines(talk)
        assert said[:2] == [("user", "Hello Claude"), ("assistant", "Hi")]
        assert "the attachment" in said[2][1]
        assert HIDDEN not in str(said) and talk.messages[1].thought == HIDDEN
    assert [(memory.content, memory.project) for memory in _only(parts, ReadMemory)] == [
        ("Ana keeps bees.", None),
        ("She lives in Lisbon.", None),
        ("The thesis is due in May.", "p1"),
    ]


def test_summaries_in_markdown_become_statements():
    text = (
        "# Heading\n\n**Personal**\n\n- Likes **tea**.\n* Has two cats\n\nWorks at night. Sleeps at noon.\n\nTools:\n"
    )
    assert statements(text) == ["Likes tea.", "Has two cats", "Works at night.", "Sleeps at noon."]


def test_open_webui(read):
    name, parts = read([exports.openwebui_chat()], "chat-export.json")
    (talk,) = _only(parts, ReadConversation)
    assert name == "openwebui"
    assert _lines(talk) == [("user", "Hi there"), ("assistant", "New")]
    assert talk.is_archived and talk.messages[1].model == "llama"
    assert (talk.messages[1].thought, talk.left_out) == (HIDDEN, {"other versions": 1})


@pytest.mark.parametrize("zip_it", [True, False])
def test_grok_shows_the_branch_written_last(read, zip_it):
    export = exports.grok_export()
    main = "ttl/30d/export_data/6f1c/prod-grok-backend.json"
    others = {"ttl/30d/export_data/6f1c/prod-mc-billing.json": {"balance": 1}}
    name, parts = read(pack({main: export, **others})) if zip_it else read(export, "prod-grok-backend.json")
    (talk,) = _only(parts, ReadConversation)
    assert (name, talk.source_id, talk.title, talk.is_pinned) == ("grok", "g-1", "Tides", True)
    assert _lines(talk) == [("user", "When is high tide?"), ("assistant", "At two."), ("user", "Thanks")]
    assert [message.model for message in talk.messages] == [None, "grok-4", None]
    assert talk.messages[1].at == datetime.fromtimestamp(1_760_000_002, UTC)
    assert (talk.created_at.year, talk.left_out.total()) == (2025, 2)
    assert [(part.name, part.instructions) for part in _only(parts, ReadProject)] == [("Boats", "Speak like a sailor.")]
    assert [HIDDEN in message.thought for message in talk.messages] == [False, True, False]
    assert HIDDEN not in str([message.content for message in talk.messages])


def test_librechat(read):
    name, parts = read(exports.librechat_conversation(), "talk.json")
    (talk,) = _only(parts, ReadConversation)
    assert (name, talk.title) == ("librechat", "Libre talk")
    assert _lines(talk) == [("user", "Question"), ("assistant", "Answer")]
    assert HIDDEN not in str([message.content for message in talk.messages])


def test_sharegpt(read):
    turns = [{"from": "system", "value": HIDDEN}, {"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]
    name, parts = read([{"conversations": turns}], "sharegpt.json")
    assert (name, _lines(parts[0])) == ("sharegpt", [("user", "Q"), ("assistant", "A")])
    assert parts[0].source_id == read([{"conversations": turns}], "again.json")[1][0].source_id


@pytest.mark.parametrize("around", ["state", "data"])
def test_turns_in_one_list_are_told_apart_by_the_conversation_that_each_names(read, around):
    def turn(number, role, content, **more):
        at = 1_717_200_000_000 + number * 1000
        return {"id": f"m{number}", "role": role, "content": content, "createdAt": at, "sessionId": "s", **more}

    turns = [
        turn(3, "user", "And up?", topicId="t"),
        turn(1, "user", "How far?", topicId="t"),
        turn(2, "assistant", "Five km", topicId="t", parentId="m1", fromModel="gpt-4o"),
        turn(4, "tool", HIDDEN, topicId="t", parentId="m3"),
        turn(5, "assistant", "A little", topicId="t", parentId="m3"),
        turn(6, "user", "No topic"),
    ]
    beside = {"sessions": [{"id": "s", "meta": {"title": "Coach"}}], "topics": [{"id": "t", "title": "Running"}]}
    name, (running, coach) = read({"exportType": "all", around: {**beside, "messages": turns}, "version": 7}, "a.json")
    assert (name, running.title, coach.title, running.source_id) == ("sharegpt", "Running", "Coach", "t")
    assert [text for _, text in _lines(running)] == ["How far?", "Five km", "And up?", "A little"]
    assert (running.messages[1].model, _lines(coach)) == ("gpt-4o", [("user", "No topic")])


@pytest.mark.parametrize("prefix", ["Prompted ", "Eingegebener Prompt: ", "你问 "])
def test_gemini_in_any_language_makes_sessions_by_gap(read, prefix):
    name, parts = read(pack({"Takeout/My Activity/Gemini Apps/MyActivity.json": exports.gemini_records(prefix)}))
    talks = _only(parts, ReadConversation)
    assert name == "gemini"
    asked = [[m.content for m in talk.messages if m.role == "user"] for talk in talks]
    assert asked == [list(exports.QUESTIONS[:2]), [exports.QUESTIONS[2]]]
    assert talks[0].messages[1].content == "Answer **1**\n\n- one"


def test_gemini_as_a_page(read):
    name, parts = read(pack({"Takeout/Meine Aktivitäten/Gemini-Apps/MeineAktivitäten.html": exports.gemini_page()}))
    (talk,) = _only(parts, ReadConversation)
    assert name == "gemini"
    assert _lines(talk) == [("user", "Wie geht es?"), ("assistant", "Gut, danke.")]
    assert talk.created_at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    undated = read(pack({"a.html": exports.gemini_page("1 maj 2026 kl. 10:00:00")}))[1]
    assert _lines(undated[0])[0] == ("user", "Wie geht es?")


def test_what_began_in_the_same_second_in_two_exports_of_gemini_is_two_conversations(read):
    """Pages, and records of some accounts, tell the second and no more."""
    pages = [exports.gemini_page(), exports.gemini_page().replace("Wie geht es?", "Wie spät ist es?")]
    ids = [read(pack({"a.html": page}))[1][0].source_id for page in (*pages, pages[0])]
    assert ids[0] == ids[2] != ids[1]
    records = [{"header": "Gemini Apps", "title": title, "time": "2026-05-01T10:00:00Z"} for title in ("One", "Two")]
    (talk,) = _only(read(pack({"a.json": records}))[1], ReadConversation)
    assert len({message.source_id for message in talk.messages}) == 2


def test_beginnings_are_told_from_questions():
    assert common_beginning(["Prompted how are you", "Prompted what now", "Prompted why"]) == "Prompted "
    assert common_beginning(["how are you", "what now", "why", "where"]) == ""
    assert common_beginning(["Prompted x"]) == ""


def test_lists_of_memories(read):
    text = "Here is what I know:\n```\n[2026-03-14] - Lives in Porto\n- [unknown]: Likes tea\n```\n"
    name, parts = read(text.encode(), "memories.txt")
    assert name == "list"
    assert [(m.content, m.at and m.at.date().isoformat()) for m in parts] == [
        ("Lives in Porto", "2026-03-14"),
        ("Likes tea", None),
    ]
    around = f"- My list:\n{text}- Tell me if\n- anything is wrong.\n"
    assert [m.content for m in read(around.encode(), "memories.txt")[1]] == ["Lives in Porto", "Likes tea"]
    rows = {"results": [{"memory": "Keeps bees", "role": "user", "created_at": "2026-01-01T00:00:00Z"}, {"memory": ""}]}
    rows["relations"] = [{"source": "ana", "relationship": "owns_a", "target": "dog"}]
    name, parts = read(rows, "mem0.json")
    assert (name, parts[0].content, type(parts[1])) == ("mem0", "Keeps bees", Unreadable)
    assert parts[2].content == "ana owns a dog"
    graph = (
        '{"type":"entity","name":"Rex","entityType":"dog","observations":["is brown","Rex barks"]}\n'
        '{"type":"relation","from":"Ana","to":"Rex","relationType":"owns"}\nbroken\n'
    )
    name, parts = read(graph.encode(), "memory.jsonl")
    assert name == "mcp-memory"
    assert [m.content for m in _only(parts, ReadMemory)] == ["Rex: is brown", "Rex barks", "Ana owns Rex"]
    assert len(_only(parts, Unreadable)) == 1
    told = {
        "entities": [{"name": "Rex", "entityType": "dog", "observations": ["is brown"]}],
        "relations": [{"from": "Ana", "to": "Rex", "relationType": "owns"}],
    }
    for content, filename in ((told, "memory.json"), (pack({"a/memory.json": told}), "memory.zip")):
        name, parts = read(content, filename)
        assert (name, [m.content for m in parts]) == ("mcp-memory", ["Rex: is brown", "Ana owns Rex"])


@pytest.mark.cases("content")
def test_turns_are_read_as_the_api_of_a_model_has_them(read, content):
    name, (talk,) = read(content, "export.json")
    assert (name, _lines(talk)) == ("sharegpt", [("user", "Hi")])


def test_a_portable_bundle_reads_nothing_that_a_tombstone_names(read):
    facts = [{"id": "1", "text": "Keeps bees"}, {"id": "2", "text": "Lived in Porto"}]
    lines = "\ufeff" + "".join(json.dumps(fact) + "\n" for fact in facts)
    name, parts = read(
        pack({"manifest.json": {}, "items/fact.jsonl": lines, "audit/tombstones.jsonl": '{"targetID": "2"}\n'})
    )
    assert (name, [m.content for m in parts]) == ("mem", ["Keeps bees"])


MEM0 = Path(__file__).with_name("mem0.md").read_text()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_memories_as_mem0_writes_them_in_markdown(read, ends):
    name, parts = read(("\ufeff" + MEM0.replace("\n", ends)).encode(), "mem0-export-2026-03-02.md")
    first, empty, last = parts
    assert name == "mem0-markdown"
    assert (first.content, first.at.day) == ("Prefers green tea.\n\n---\n\nNever after six.", 1)
    assert empty == Unreadable("memory 2", "it says nothing")
    assert (last.content, last.at) == ("Keeps bees", None)


def test_a_note_with_fields_of_its_own_is_no_export_of_mem0(read):
    name, _ = read(b"---\ntitle: Tea\n---\n- Prefers green tea", "tea.md")
    assert name == "list"


def test_notes(read):
    name, parts = read(
        pack({"bees.md": "---\ntags: [a]\n---\n# Bees\n\nThey dance.", "short.md": "Likes tea"}), "Garden.zip"
    )
    assert name == "notes"
    assert _only(parts, ReadMemory)[0].content == "Likes tea"
    assert _only(parts, ReadProject)[0].documents == [("bees", "# Bees\n\nThey dance.")]


def test_notes_of_open_webui(read):
    def note(title, text):
        return {"id": title, "title": title, "data": {"content": {"json": None, "html": "", "md": text}}, "meta": {}}

    name, parts = read([note("Bees", "# Bees\n\nThey dance."), note("", "Likes tea"), note("None", "")], "notes.json")
    assert (name, _only(parts, ReadMemory)[0].content) == ("notes", "Likes tea")
    assert _only(parts, ReadProject)[0].documents == [("Bees", "# Bees\n\nThey dance.")]


TEXTS = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
PAGES = ["<p>Tea</p>", "<script>var a = [{", "<script>var a = [1, 2];\n</script>"]
REFUSED = {
    "not an export": [
        (b"[1, 2]", "a.json"),
        (pack({"a.png": "x"}), "a.zip"),
        ({"name": "x", "scripts": {"value": "y"}}, "a.json"),
        (b"date,category,value\n2024-01-01,food,12.50\n", "a.csv"),
        *((a, "a.json") for a in ([{"name": 1}], {"say": 1, "text": "x"}, {"text": {}}, {"text": "x", "segments": 0})),
        *((f"<html>{page}".encode(), "page.html") for page in PAGES),
    ],
    "between people": [(pack(row) if name.endswith(".zip") else row, name) for name, row in TEXTS["people"].items()],
    "that end in": [(text.encode("latin-1"), f"a.{name}") for name, text in TEXTS["other kinds"].items()],
    "damaged": [
        (b'{"a":' * 20_000, "a.json"),
        (b"[" + b'{"a":' * 20_000, "a.json"),
        (json.dumps(librechat_conversation())[:-100].encode(), "a.json"),
        (json.dumps([chatgpt_conversation()])[:900].encode(), "a.json"),
        (pack({"conversations.json": json.dumps([chatgpt_conversation()])[:900]}), "a.json"),
        (pack({"Gemini Apps/MyActivity.json": '[{"header": "Gemini Apps"'}), "a.json"),
    ],
    "nothing in this file": [(content, "a.json") for content in (b"", b"{}", b" [] \n")],
    "broken": [(pack({"conversations.json": [chatgpt_conversation()]})[:-9], "export.zip")],
    "nothing": [
        (pack({}), "export.zip"),
        (pack({"conversations.json": [], "user.json": {"id": "u", "email": "ada@example.org"}}), "a.zip"),
    ],
}


@pytest.mark.parametrize(("words", "upload"), [(words, upload) for words in REFUSED for upload in REFUSED[words]])
def test_what_is_no_export_damaged_or_empty_is_called_that(read, words, upload):
    with pytest.raises(ImportRefused, match=words):
        read(upload[0].encode() if isinstance(upload[0], str) else upload[0], upload[1])


@pytest.mark.parametrize(
    "content",
    [
        lambda text: text.replace('"weight": 1.0', '"weight": NaN'),
        lambda text: text.replace('"create_time": null', '"create_time": -Infinity'),
        lambda text: text.replace("Question", "Question\n"),
        lambda text: text.replace("Question", "Question\t\x00"),
        lambda text: text.replace("Question", "Question \\x"),
        lambda text: text.replace("Question", "Question \\ud83d\\\\\\ude00 \\ud83d\\ude00"),
        lambda text: text.replace("]", ",]").replace("[,]", "[]").replace("}", ",\n  }").replace("{,\n  }", "{}"),
        lambda text: text.replace("}, {", "}]\n[{"),
        lambda text: text + "\x00\x00",
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-32-le"),
    ],
)
def test_json_as_it_should_not_be_is_read_as_it_was_meant(read, content):
    text = json.dumps([chatgpt_conversation(number, title="x" * 70_000) for number in (1, 2)])
    made = content(text)
    name, parts = read(made if isinstance(made, bytes) else made.encode(), "export.json")
    talks = _only(parts, ReadConversation)
    assert name == "chatgpt" and not _only(parts, Unreadable)
    assert [talk.messages[1].content for talk in talks] == ["Answer 1.", "Answer 2."]
    assert all(talk.messages[0].content.startswith("Question") for talk in talks)


def test_objects_one_after_the_other_are_read(read):
    text = "\n".join(json.dumps(chatgpt_conversation(number), indent=1) for number in (1, 2))
    name, parts = read(text.encode(), "export.json")
    assert name == "chatgpt" and len(_only(parts, ReadConversation)) == 2


@pytest.mark.parametrize("encoding", ["cp1252", "gb18030"])
def test_the_encoding_of_an_export_is_found(read, encoding):
    words = {
        "cp1252": "Wie heißt das schöne Mädchen, das über die größere Brücke läuft?",
        "gb18030": "我喜欢喝绿茶，你觉得呢？",
    }
    turns = [{"from": "human", "value": words[encoding]}, {"from": "gpt", "value": words[encoding]}]
    _, (talk,) = read(json.dumps([{"conversations": turns}], ensure_ascii=False).encode(encoding), "export.json")
    assert talk.messages[0].content == words[encoding]


def test_a_zip_of_zips_is_read_as_what_they_hold(read):
    shards = {f"{number}.zip": pack({"a/conversations.json": [chatgpt_conversation(number)]}) for number in (1, 2)}
    _, parts = read(pack({**shards, "Report.html": "<p>Your data</p>", "__MACOSX/1.zip": "x"}))
    assert [talk.title for talk in _only(parts, ReadConversation)] == ["Talk 1", "Talk 2"]
    manifest = {"manifest.json": {}, "items/fact.jsonl": '{"text": "Likes tea."}'}
    assert read(pack({"bundle.zip": pack(manifest)}))[1] == [ReadMemory("Likes tea.")]
    with pytest.raises(ImportRefused, match="broken"):
        read(pack({"bundle.zip": pack(manifest)[:-9]}))


def test_damaged_files_in_a_zip_cost_only_themselves(read):
    files = {f"conversations-00{number}.json": json.dumps([chatgpt_conversation(number)]) for number in range(4)}
    files |= {"conversations-000.json": "", "conversations-001.json": "[{"}
    whole = pack(files)
    place = whole.rfind(b"conversations-002.json", 0, whole.rfind(b"PK\x01\x02") - 300)
    broken = (
        whole[: place + 100] + bytes(byte ^ 0xFF for byte in whole[place + 100 : place + 150]) + whole[place + 150 :]
    )
    for content, titles, damaged in ((whole, ["Talk 2", "Talk 3"], 2), (broken, ["Talk 3"], 3)):
        name, parts = read(content)
        assert name == "chatgpt"
        assert [talk.title for talk in _only(parts, ReadConversation)] == titles
        assert [part.reason for part in _only(parts, Unreadable)] == ["the file is damaged or was cut off"] * damaged


def test_a_damaged_file_beside_those_of_gemini_is_named(read):
    folder, other = "Takeout/My Activity/Gemini Apps", "Takeout/My Activity/YouTube"
    files = {
        f"{folder}/MyActivity.json": exports.gemini_records(),
        f"{folder}/MyActivity (1).json": "[{",
        f"{other}/a.json": "[{",
    }
    _, parts = read(pack(files))
    assert [part.place for part in _only(parts, Unreadable)] == [f"{folder}/MyActivity (1).json"]


@pytest.mark.parametrize("program", ["openwebui", "librechat", "sharegpt", "mcp-memory"])
def test_of_a_zip_of_thousands_of_files_only_some_are_looked_at(tmp_path, monkeypatch, program):
    """As of a whole Takeout, which has one for each photo."""
    path, opened = tmp_path / "upload", set()
    path.write_bytes(pack({f"Photos/{number}.json": {"title": "IMG"} for number in range(200)}))
    with Upload(path, "takeout.zip") as upload:
        look = upload.open
        monkeypatch.setattr(upload, "open", lambda name: opened.add(name) or look(name))
        assert not READERS[program].looks_like(upload)
    assert 0 < len(opened) <= MAX_SAMPLE


def test_bombs_and_broken_zips_are_refused(tmp_path, monkeypatch):
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as member:
        for _ in range(70):
            member.write(b" " * 1024**2)
    with pytest.raises(ImportRefused, match="larger than an export"):
        Upload(bomb, "bomb.zip")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(bomb.read_bytes()[:-30])
    with pytest.raises((ImportRefused, OSError)):
        recognise(Upload(broken, "broken.zip"))
    broken.write_bytes(gzip.compress(b"[]"))
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", partial(open, "/dev/full", "wb", buffering=0))
    with pytest.raises(OSError, match="No space"):
        Upload(broken, "broken.json.gz")


def test_of_a_zip_that_claims_to_be_small_no_more_is_read(tmp_path):
    content = bytearray(pack({"conversations.json": b" " * 4 * 1024**2}))
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (100).to_bytes(4, "little")
    path = tmp_path / "liar.zip"
    path.write_bytes(content)
    with (
        Upload(path, "liar.zip") as upload,
        pytest.raises(ImportRefused, match="broken"),
        upload.open("conversations.json") as file,
    ):
        assert len(file.read()) <= 100


def _patch_zip(content: bytes, *, method: int = 8, version: int = 20, flip: bool = False) -> bytes:
    """A ZIP of one member that says another compression or version of the format, or whose bytes are damaged."""
    data = bytearray(content)
    entry = data.rfind(b"PK\x01\x02")
    data[8:10] = data[entry + 10 : entry + 12] = method.to_bytes(2, "little")
    data[entry + 6 : entry + 8] = version.to_bytes(2, "little")
    if flip:
        data[60:160] = bytes(byte ^ 0xFF for byte in data[60:160])
    return bytes(data)


@pytest.mark.cases("patch", "words")
def test_a_zip_of_another_kind_is_not_called_broken(read, patch, words):
    whole = pack({"conversations.json": [chatgpt_conversation(number) for number in range(9)]})
    with pytest.raises(ImportRefused, match=words):
        read(_patch_zip(whole, **patch))


def test_a_small_file_that_is_nested_without_end_takes_no_memory(read):
    deep = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
    rows = b",".join(json.dumps(chatgpt_conversation(number)).encode() for number in range(2))
    parts = read(b"[" + rows + b"," + deep + b"]", "conversations.json")[1]
    assert len(_only(parts, ReadConversation)) == 2 and "nested deeper" in _only(parts, Unreadable)[0].reason


@pytest.mark.parametrize("parent", [["a"], {"a": 1}, 7, None, "elsewhere", "b"])
@pytest.mark.parametrize("leaf", [["a"], {}, 7, None, "elsewhere"])
def test_what_does_not_name_a_message_is_no_parent_and_no_leaf(parent, leaf):
    rows = {"a": {"up": parent}, "b": {}, "c": {"up": "a"}}
    assert current_branch(rows, "up", leaf, lambda _row: None) == (["b", "a", "c"] if parent == "b" else ["a", "c"])
    assert current_branch({"a": {"up": parent}, "c": {}}, "up", leaf, lambda _row: None) == ["a", "c"]


def test_the_branch_of_the_leaf_is_shown_or_that_of_the_newest_message():
    rows = {"a": {}, "old": {"up": "a", "at": 9}, "new": {"up": "a", "at": 8}}

    def time_of(row):
        return datetime.fromtimestamp(row["at"], UTC) if "at" in row else None

    assert current_branch(rows, "up", None, time_of) == ["a", "old"]
    assert current_branch(rows, "up", "new", time_of) == ["a", "new"]


@given(st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=3), max_size=8))
def test_a_branch_ends_and_holds_each_node_once(parents):
    leaf = newest_leaf(parents, {})
    path = branch(parents, leaf)
    assert len(path) == len(set(path))
    assert not parents or path[-1] == leaf


@given(st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(), st.lists(st.integers())))
def test_moments_are_storable_or_nothing(value):
    at = instant(value)
    assert at is None or (at.tzinfo is not None and 1970 < at.year <= 2038)


PICTURE = b"\x89PNG"


def talk(*steps: dict[str, Any]) -> dict[str, Any]:
    """A conversation of a question and these steps, one after the other."""
    nodes = [node("root", None), node("q", "root", "user", "Draw a heron", 1_735_800_000.0)]
    for number, step in enumerate(steps):
        fields = {"text": "", "at": 1_735_800_001.0 + number} | step
        nodes.append(node(f"s{number}", nodes[-1]["id"], **fields))
    return {"conversation_id": "c", "mapping": {one["id"]: one for one in nodes}, "current_node": nodes[-1]["id"]}


def read_talk(read, item: dict[str, Any], **members: bytes) -> ReadConversation:
    return _only(read(pack({"conversations.json": [item], **members}))[1], ReadConversation)[0]


def made_by(name: str, pointer: str) -> dict[str, Any]:
    """The message of a tool with a picture, as a part or as what code made."""
    part = {"content_type": "image_asset_pointer", "asset_pointer": pointer}
    if name == "python":
        made = {"aggregate_result": {"messages": [{"message_type": "image", "image_url": pointer}]}}
        return {"role": "tool", "content": {"content_type": "execution_output", "text": "saved"}, "metadata": made}
    return {"role": "tool", "content": {"content_type": "multimodal_text", "parts": [part]}}


REPLY = {"role": "assistant", "text": "Here it is."}


@pytest.mark.parametrize("tool", ["dalle.text2im", "python"])
@pytest.mark.cases("pointer", "member")
def test_a_picture_that_a_tool_made_belongs_to_the_reply(read, tool, pointer, member):
    others = {"file-abcd-other.png": PICTURE, "file_00abc.png": PICTURE}
    found = read_talk(read, talk(made_by(tool, pointer), REPLY), **others, **{member: PICTURE})
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Draw a heron"),
        ("assistant", "Here it is."),
    ]
    assert [file.member for file in found.messages[1].files] == [member]


def test_a_picture_without_a_reply_after_it_is_one(read):
    steps = (made_by("dalle", "file-service://file-abc"), {"role": "user", "text": "Nice"})
    found = read_talk(read, talk(*steps), **{"file-abc-x.png": PICTURE})
    assert [(one.role, one.content, len(one.files)) for one in found.messages][1:] == [
        ("assistant", "[image]", 1),
        ("user", "Nice", 0),
    ]


def test_what_is_missing_is_named_and_counted(read):
    attached = {"attachments": [{"id": "file-9", "name": "plan.pdf"}]}
    steps = (made_by("dalle", "file-service://file-abc"), REPLY, {"role": "user", "text": "Read", "metadata": attached})
    found = read_talk(read, talk(*steps))
    assert [one.content for one in found.messages][1:] == ["[image]\n\nHere it is.", "Read\n\n[plan.pdf]"]
    assert found.left_out == {"files that are not in the export": 2}


THOUGHT = '<details type="reasoning" done="true"><summary>Thought</summary>\n'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Answer", ("Answer", "", 0)),
        (f"{THOUGHT}> use <details>x</details>\n</details>\nAnswer", ("Answer", "use <details>x</details>", 0)),
        (f"{THOUGHT}> one\n</details>\nA\n{THOUGHT}> two\n</details>\nB", ("A\n\nB", "one\n\ntwo", 0)),
        ('<details type="reasoning" done="false">\n<summary>Thinking…</summary>\n> hm\n> so\nAnswer', ("Answer", "hm\nso", 0)),  # noqa: E501
        ('<details type="tool_calls" name="calc" result="&quot;4&quot;">\n<summary>Ran</summary>\n</details>\nAnswer', ("Answer", "", 1)),  # noqa: E501
        ('<details type="code_interpreter">\n```python\nprint(1)\n```\n</details>\nAnswer', ("Answer", "", 1)),
        ("<details><summary>More</summary>Mine</details>", ("<details><summary>More</summary>Mine</details>", "", 0)),
        ('Open <details type="reasoning">', ("Open", "", 0)),
        (f"```\n{THOUGHT}```\n{THOUGHT}> hm\n</details>\n`{THOUGHT[:26]}` A", (f"```\n{THOUGHT}```\n\n`{THOUGHT[:26]}` A", "hm", 0)),  # noqa: E501
    ],
)  # fmt: skip
def test_what_is_folded_is_taken_out(content, expected):
    assert without_details(content) == expected


@given(st.lists(st.sampled_from([THOUGHT, "</details>", "<details>", "> a\n", "text\n", "<"]), max_size=12))
def test_any_order_of_marks_ends(pieces):
    shown, _, steps = without_details("".join(pieces))
    assert '<details type="reasoning"' not in shown and steps == 0


LISTS = TEXTS["lists"]


@pytest.mark.parametrize(("text", "expected"), LISTS)
def test_entries_and_their_dates(read, text, expected):
    name, parts = read(text.encode(), "list.txt")
    assert (name, [[part.content, part.at and part.at.date().isoformat()] for part in parts]) == ("list", expected)


ODD = json.loads(Path(__file__).with_name("odd_exports.json").read_text(encoding="utf-8"))

ONE = {
    "chatgpt": chatgpt_conversation(),
    "claude": claude_conversation(),
    "openwebui": openwebui_chat(),
    "librechat": librechat_conversation(),
    "sharegpt": {"id": "1", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}]},
}
SHAPES = {
    "array": lambda one: [one],
    "bare": lambda one: one,
    "wrapped": lambda one: {"version": 1, "data": [one]},
    "named": lambda one: {"exported": "today", "chats": [one]},
    "by id": lambda one: {"1": one},
    "by id, wrapped": lambda one: {"version": 1, "conversations": {"1": one}},
}


@pytest.mark.parametrize("name", ["export.json", "export", "export.txt"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("program", ONE)
def test_a_conversation_is_found_in_any_shape(read, program, shape, name):
    found, parts = read(SHAPES[shape](ONE[program]), name)
    talks = _only(parts, ReadConversation)
    assert found == program and len(talks) == 1 and talks[0].messages


@pytest.mark.parametrize("program", ONE)
def test_a_damaged_line_of_json_costs_only_itself(read, program):
    line = json.dumps(ONE[program])
    lines = [line, line, line[:50], line]
    found, parts = read("\n".join(lines).encode(), "export.jsonl")
    assert found == program
    kinds = [ReadConversation, ReadConversation, Unreadable, ReadConversation]
    assert [type(part) for part in _only(parts, ReadConversation | Unreadable)] == kinds


def test_lines_in_a_zip_are_read(read):
    lines = "\n".join(json.dumps(chatgpt_conversation(number)) for number in (1, 2))
    found, parts = read(pack({"conversations.jsonl": lines}), "export.zip")
    assert found == "chatgpt" and sum(isinstance(part, ReadConversation) for part in parts) == 2


@pytest.mark.parametrize("program", ONE)
def test_bad_conversations_and_a_file_that_was_cut_off_discard_nothing(read, program):
    one = json.dumps(ONE[program])
    text = f'[{one}, 7, {{"title": "Broken"}}, {one}, {one[:50]}'
    found, parts = read(text.encode(), "a.json")
    told = _only(parts, ReadConversation | Unreadable)
    kinds = [ReadConversation, Unreadable, Unreadable, ReadConversation, Unreadable]
    assert (found, [type(part) for part in told]) == (program, kinds)
    assert [told[place].place for place in (1, 2, 4)] == ["a.json, part 2", "“Broken”", "a.json"]
    assert told[4].reason == "the file is damaged or was cut off"


@pytest.mark.parametrize("row", ODD, ids=[": ".join(row[:2]) for row in ODD])
def test_an_odd_message_costs_no_more_than_itself(read, row):
    program, _, content, messages, *more = row
    found, parts = read(content, "export.json")
    (talk,) = _only(parts, ReadConversation)
    assert found == program
    assert [[message.role, message.content] for message in talk.messages] == messages
    assert "What only the program was told" not in str([message.content for message in talk.messages])
    told = {
        "title": talk.title,
        "left_out": talk.left_out,
        "began": talk.created_at and talk.created_at.isoformat(),
        "thoughts": [message.thought for message in talk.messages],
        "models": [message.model for message in talk.messages],
        "years": [message.at and message.at.year for message in talk.messages],
    }
    for name, value in (more[0] if more else {}).items():
        assert told[name] == value, name


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", "\n", "\r\n"])
def test_a_file_in_another_encoding_is_read(read, encoding, separator):
    text = separator.join([json.dumps(ONE["chatgpt"])] * 2)
    data = (f"[{text}]" if separator == "," else text).encode(encoding)
    _, parts = read(data, "export.json")
    assert sum(isinstance(part, ReadConversation) for part in parts) == 2


@pytest.mark.cases("name")
def test_a_zip_may_name_its_conversations_in_other_ways(read, name):
    found, parts = read(pack({name: [ONE["chatgpt"]]}), "export.zip")
    assert found == "chatgpt" and any(isinstance(part, ReadConversation) for part in parts)


@pytest.mark.parametrize(
    "text", ['{"data": [{"memory": "Likes tea."}]}', '{"memory": "Likes tea."}\n{"memory": "Has a cat."}']
)
def test_memories_come_in_the_same_shapes(read, text):
    found, parts = read(text.encode(), "memories.json")
    assert found == "mem0" and parts[0] == ReadMemory("Likes tea.")


def test_conversations_without_an_id_are_told_apart(read):
    talks = [{"chat_messages": [{"sender": "human", "text": text}]} for text in ("Tea?", "Cake?")]
    parts = read(talks, "conversations.json")[1]
    assert parts[0].source_id and parts[0].source_id != parts[1].source_id


@pytest.mark.parametrize(
    "value",
    [
        *(1700000000, 1700000000.0, 1700000000000, 1700000000000000, 17 * 10**17, "1700000000.0"),
        *({"_seconds": 1700000000}, "Tue, 14 Nov 2023 22:13:20 GMT", "2023-11-14 22:13:20 UTC"),
    ],
)
def test_a_moment_is_read_in_any_unit(value):
    assert instant(value).isoformat() == "2023-11-14T22:13:20+00:00"


@pytest.mark.parametrize(
    "content",
    [
        lambda text: text.replace("%", "\\udc00").encode(),
        lambda text: text.replace("%", "\\ud83d\\ud83d\\ude00").encode(),
        lambda text: text.encode().replace(b"%", b"\xff"),
        lambda text: text.encode("utf-32"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("%", "\u2028").encode("utf-16"),
    ],
    ids=["second half of a pair", "first half twice", "no UTF-8", "UTF-32", "UTF-16", "a separator in UTF-16"],
)
@pytest.mark.parametrize("between", [",", "\n"])
def test_what_is_no_text_costs_one_character(read, content, between):
    odd = {"id": "1", "conversations": [{"from": "human", "value": "Hi % there"}]}
    rows = between.join(json.dumps(row, ensure_ascii=False) for row in (odd, ONE["sharegpt"]))
    text = rows if between == "\n" else f"[{rows}]"
    found, parts = read(content(text), "export.json")
    assert found == "sharegpt"
    talks = [part.messages for part in parts if isinstance(part, ReadConversation)]
    assert len(parts) == len(talks) == 2
    assert talks[0][0].content.startswith("Hi ") and talks[0][0].content.endswith(" there")


@pytest.mark.cases("name", "content", "program")
def test_memories_are_found_in_a_zip_beside_other_files(read, name, content, program):
    upload = pack({name: json.dumps(content), "README.md": "# From my other assistant"})
    found, parts = read(upload, "memories.zip")
    assert found == program
    assert [part.content.endswith("lives in Bonn.") or part.content == "Lives in Bonn" for part in parts] == [True]


def test_a_long_conversation_in_a_tree_is_read_to_its_end(read):
    begin = '{"messageId": "%d", "text": "%d", "isCreatedByUser": true, "children": ['
    tree = "".join(begin % (number, number) for number in range(2_000)) + "]}" * 2_000
    export = '{"conversationId": "lc-1", "title": "Long", "recursive": true, "messages": [%s]}' % tree  # noqa: UP031
    found, (talk,) = read(export.encode(), "long.json")
    assert found == "librechat"
    assert [message.content for message in talk.messages] == [str(number) for number in range(2_000)]
