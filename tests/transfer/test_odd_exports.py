"""The odd cases that exist of each export (`docs/transfer.md`): read as far as they go, and what is not is named."""

import bz2
import gzip
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from testkit import exports
from testkit.exports import pack
from webapp.transfer import archives
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import ReadConversation, ReadMemory, ReadProject, Unreadable
from webapp.transfer.readers import READERS
from webapp.transfer.readers.claude import statements
from webapp.transfer.readers.gemini import markdown_of
from webapp.transfer.sources import Upload


@pytest.fixture
def parts(tmp_path):
    """`parts(format, content, filename)`: what that reader finds."""

    def work(name, content, filename="export.zip"):
        path = tmp_path / "upload"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with Upload(path, filename) as upload:
            return list(READERS[name].read(upload))

    return work


def _parts_of(found, kind):
    return [part for part in found if isinstance(part, kind)]


def _texts(talk):
    return [message.content for message in talk.messages]


DEEP = b"[" * 50_000


@pytest.mark.parametrize(
    ("reader", "content", "filename"),
    [
        ("claude", pack({"conversations.json": [], "projects/a.json": DEEP.decode()}), "export.zip"),
        ("mem0", DEEP, "memories.json"),
        ("mcp-memory", DEEP, "memory.json"),
    ],
)
def test_what_is_nested_too_deep_is_damaged(parts, reader, content, filename):
    assert [type(part) for part in parts(reader, content, filename)] == [Unreadable]


# Claude


def test_claude_projects_in_one_file_or_one_each_and_broken_ones(parts):
    files = {
        "conversations.json": [],
        "projects/a.json": {"uuid": "a", "name": " Thesis ", "prompt_template": None, "docs": [{"content": " "}, 3]},
        "projects/b.json": "{broken",
        "projects/c.json": {"uuid": "c", "name": " "},
        "projects.json": [{"uuid": "d", "name": "Other", "docs": [{"filename": "n.md", "content": "Notes"}]}, None],
    }
    found = parts("claude", pack(files))
    assert [(part.name, part.documents) for part in _parts_of(found, ReadProject)] == [
        ("Other", [("n.md", "Notes")]),
        ("Thesis", []),
    ]
    assert [(part.place, part.reason) for part in _parts_of(found, Unreadable)] == [
        ("projects/b.json", "the file is damaged or was cut off")
    ]


def test_claude_memories_alone_in_markdown_and_broken(parts):
    text = "# Work\n**Focus**\n- Keeps bees. Lives in Porto.\n1. Likes tea\nInterests:\n"
    found = parts("claude", [{"conversations_memory": text, "project_memories": None}, "x"], "memories.json")
    assert [part.content for part in _parts_of(found, ReadMemory)] == ["Keeps bees.", "Lives in Porto.", "Likes tea"]
    assert isinstance(parts("claude", pack({"conversations.json": [], "memories.json": "{"}))[0], Unreadable)
    assert statements(None) == []


# Gemini


def test_gemini_records_that_say_little(parts):
    records = [
        {"header": "Gemini Apps", "title": "Prompted one", "time": "2026-05-01T10:00:00Z"},
        {"header": "Gemini Apps", "title": "Prompted two", "time": "not a time", "safeHtmlItem": [None, {}]},
        {"header": "Gemini Apps", "title": " "},
        "no record",
    ]
    talks = parts("gemini", pack({"MyActivity.json": records}))
    assert [_texts(talk) for talk in talks] == [["one"], ["two"]], "what has no time stands alone, at the end"
    assert talks[1].created_at is None


def test_gemini_takes_only_records_of_its_product(parts):
    watched = {"title": "Watched Gemini explained", "time": "2026-05-01T10:00:00Z", "products": ["YouTube"]}
    records = [
        {"header": "YouTube", **watched},
        {"header": "Search", "title": "Searched for Gemini Apps", "products": ["Search"]},
        {"header": "Gemini Apps", **watched},
        {"header": "GeminiTV", "title": "Prompted three"},
        {"header": "Gemini-Apps", "products": ["Gemini-Apps"], "title": "Prompted one"},
    ]
    files = {"Takeout/My Activity/YouTube/MyActivity.json": records[:2], "Gemini Apps/MyActivity.json": records[::-1]}
    assert [_texts(talk) for talk in parts("gemini", pack(files))] == [["one"]]
    page = exports.gemini_page()
    other = page.replace("Gemini-Apps", "YouTube").replace("Wie geht es?", "Gemini angesehen")
    both = page + other.replace("<html><body>", "")
    found = parts("gemini", pack({"a.html": both, "b.html": other}))
    assert [_texts(talk) for talk in found] == [["Wie geht es?", "Gut, danke."]]


@pytest.mark.parametrize("asked", ["Prompted", "Gefragt:"])
def test_gemini_takes_only_questions(parts, asked):
    titles = [f"{asked} one", "Used Gemini Apps", f"{asked} two", "Gave feedback: Good response", f"{asked} three"]
    titles += ["Created a canvas", f"{asked} four"]
    records = [
        {
            "header": "Gemini Apps",
            "title": title,
            "time": f"2026-05-01T1{number}:00:00Z",
            "safeHtmlItem": [{"html": "Yes."}] if title.startswith(asked) else [],
        }
        for number, title in enumerate(titles)
    ]
    found = [_texts(talk) for talk in parts("gemini", pack({"MyActivity.json": records}))]
    assert sum(found, []) == ["one", "Yes.", "two", "Yes.", "three", "Yes.", "four", "Yes."]


def test_gemini_records_that_name_their_conversation_stay_together(parts):
    def record(text: str, hour: int, **more: object) -> dict[str, object]:
        return {"header": "Gemini Apps", "title": f"Prompted {text}", "time": f"2026-05-01T{hour}:00:00Z", **more}

    address = "https://gemini.google.com/app/0123456789abcdef"
    records = [
        record("late", 20, titleUrl=address),
        record("other", 11, details=[{"name": "c_fedcba9876543210"}]),
        record("alone", 10),
        record("early", 10, titleUrl=address),
    ]
    talks = parts("gemini", pack({"MyActivity.json": records}))
    assert sorted(map(_texts, talks)) == [["alone"], ["early", "late"], ["other"]]
    assert {"0123456789abcdef", "fedcba9876543210"} < {talk.source_id for talk in talks}


def test_gemini_files_that_a_record_names_come_with_its_question(parts):
    record = {"header": "Gemini Apps", "title": "Prompted What is this?", "time": "2026-05-01T10:00:00Z"}
    record |= {"imageFile": "a.png", "attachedFiles": ["a.png", "gone.pdf", 7], "subtitles": [{"name": "a.png"}]}
    for folder in ("Takeout/My Activity/Gemini Apps/", ""):
        (talk,) = parts("gemini", pack({f"{folder}MyActivity.json": [record], f"{folder}a.png": b"\x89PNG"}))
        assert [(file.name, file.member) for file in talk.messages[0].files] == [("a.png", f"{folder}a.png")]
    (talk,) = parts("gemini", [record], "MyActivity.json")
    assert talk.messages[0].files == []


@pytest.mark.parametrize("filename", ["MyActivity.json", "MyActivity.txt", "download"])
def test_gemini_as_one_file_of_any_name(read, filename):
    name, found = read(exports.gemini_records(), filename)
    assert name == "gemini" and len(found) == 2


def test_gemini_with_nothing_in_it_or_cut_off(parts):
    assert parts("gemini", pack({"x.json": []}))[0].reason == "no questions to Gemini are in it"
    cut = json.dumps(exports.gemini_records())[:-30]
    found = parts("gemini", pack({"MyActivity.json": cut}))
    assert _parts_of(found, Unreadable) and _parts_of(found, ReadConversation)


DAYS = """
May 1, 2026, 10:00:00 PM UTC|1 May 2026, 22:00:00 CEST|01/05/2026, 22:00:00 BRT|2026/05/01 22:00:00 JST
1 de mai. de 2026, 22:00:00 BRT|1 мая 2026 г., 22:00:00 MSK|2026. 5. 1. 오후 10:00:00 KST|1. maj 2026 22.00.00 CEST
2026年5月1日 下午10:00:00 GMT+8|١ مايو ٢٠٢٦، ١٠:٠٠:٠٠ م غرينتش+٣|1 พ.ค. 2569 22:00:00 GMT+7|1 mai 2026, 22:00:00 CEST
"""


def test_gemini_pages_print_days_in_many_forms(parts):
    for day in DAYS.strip().replace("\n", "|").split("|"):
        (talk,) = parts("gemini", pack({"Minhaatividade.html": exports.gemini_page(day)}))
        assert talk.created_at == datetime(2026, 5, 1, 22, tzinfo=UTC), day
    for day in ("May 5, 123456789012345, 10:00:00 PM", f"{'9' * 5_000} 10:00:00"):
        (talk,) = parts("gemini", pack({"a.html": exports.gemini_page(day)}))
        assert talk.created_at is None
    # In Polish July, in Croatian June: the other day says which.
    page = exports.gemini_page("1 lip 2026, 22:00:00 CEST")
    assert [talk.created_at for talk in parts("gemini", pack({"a.html": page}))] == [None]
    talks = parts("gemini", pack({"a.html": page + exports.gemini_page("3 sie 2026, 22:00:00 CEST")}))
    assert [talk.created_at.month for talk in talks] == [7, 8]


def test_gemini_pages_without_cells_or_times(parts):
    page = (
        '<div class="outer-cell">Gemini</div><div class="outer-cell"><div class="header-cell"><p>Gemini</p></div>'
        '<div class="content-cell mdl-typography--body-1">'
    )
    found = parts("gemini", pack({"a.html": f"{page}Gemini, hello<br><p>Hi</p></div></div>"}))
    assert [_texts(talk) for talk in _parts_of(found, ReadConversation)] == [["Gemini, hello", "Hi"]]


def test_html_of_answers_becomes_markdown():
    html = (
        "<h2>Bees</h2><p>They <em>dance</em> &amp; <strong>sing</strong>:<br>so</p><ol><li>one</li></ol>"
        "<pre><code>a  =  1\nb</code></pre><p>use <code>x</code></p><table><tr><td>1</td><th>2</th></tr></table>"
    )
    assert markdown_of(html) == (
        "## Bees\n\nThey *dance* & **sing**:\nso\n\n- one\n\n```\na  =  1\nb\n```\n\nuse `x`\n\n1 | 2"
    )


# Open WebUI


def _chat(rows, number=1, **more):
    history = more.pop("history", {})
    return {
        "id": f"c{number}",
        "title": "T",
        "user_id": "u1",
        "chat": {"history": {"messages": rows, **history}},
    } | more


def _row(parent, text, at=None, role="user", **more):
    return {"parentId": parent, "role": role, "content": text, "timestamp": at, **more}


def test_openwebui_tags_come_along(parts):
    rows = {"a": _row(None, "Q", 1), "b": _row("a", "A", 2, "assistant")}
    new = _chat(rows, meta={"tags": ["bee_keeping", "none", 7, "home"]})
    old = _chat(rows, 2)
    old["chat"]["tags"] = [{"name": "Travel"}, {"id": 1}, "plain"]
    assert [talk.tags for talk in parts("openwebui", [new, old], "a.json")] == [
        ["bee keeping", "home"],
        ["Travel", "plain"],
    ]


def test_openwebui_of_all_users_brings_one_account_only(parts):
    rows = {"a": _row(None, "Q", 1), "b": _row("a", "A", 2, "assistant")}
    chats = [_chat(rows, 1), _chat(rows, 2, user_id="u2"), _chat(rows, 3)]
    found = parts("openwebui", chats, "all-chats-export-1.json")
    assert [talk.source_id for talk in _parts_of(found, ReadConversation)] == ["c1", "c3"]
    (left,) = _parts_of(found, Unreadable)
    assert "another account" in left.reason


def test_openwebui_learns_nothing_where_others_wrote(parts):
    rows = {"a": _row(None, "I am Ben", 1, user_id="u2"), "b": _row("a", "Hello", 2, "assistant")}
    own = {"a": _row(None, "I am Ada", 1, user_id="u1"), "b": _row("a", "Hello", 2, "assistant")}
    talks = parts("openwebui", [_chat(rows), _chat(own, 2)], "a.json")
    assert [talk.may_remember for talk in talks] == [False, True]


# Grok


def test_grok_one_bad_conversation_discards_nothing(parts):
    export = exports.grok_export()
    good = export["conversations"][0]
    odd_dates = {**good, "conversation": {"id": "o", "create_time": {"$date": {"$numberLong": "x"}}, "modify_time": 7}}
    flat = [{"response": {"sender": "human", "message": "Q"}}, {"response": {"sender": "x", "message": "A"}}, 3]
    bad = [7, {"conversation": {}, "responses": 3}]
    rows = [good, *bad, odd_dates, {"conversation": {"id": "f"}, "responses": flat}]
    found = parts("grok", {**export, "conversations": rows}, "prod-grok-backend.json")
    kinds = [ReadConversation, Unreadable, Unreadable, ReadConversation, ReadConversation, ReadProject]
    assert [type(part) for part in found] == kinds
    assert _texts(found[4]) == ["Q", "A"]


def test_grok_names_a_file_that_was_cut_off(parts):
    cut = json.dumps(exports.grok_export()).partition("sailor")[0]
    found = parts("grok", pack({"a/prod-grok-backend.json": cut}))
    assert [type(part) for part in found] == [ReadConversation, Unreadable]
    assert parts("grok", pack({"a/prod-grok-backend.json": "{}"})) == []


# LibreChat


def test_librechat_names_files_it_cannot_read(parts):
    files = {
        "good.json": exports.librechat_conversation(),
        "cut.json": "[{",
        "odd.json": {"conversationId": 1, "messages": 3},
    }
    found = parts("librechat", pack(files))
    assert sorted(part.place for part in _parts_of(found, Unreadable)) == ["cut.json", "odd.json, part 1"]
    assert len(_parts_of(found, ReadConversation)) == 1
    said = parts("librechat", {"conversationId": "s", "messages": [{"content": "Q", "sender": "user"}]}, "a.json")
    assert _texts(said[0]) == ["Q"]
    (empty,) = parts("librechat", {"conversationId": "e", "messages": []}, "a.json")
    assert empty.reason == "it has no turns"


def test_every_format_has_a_name_of_its_own():
    labels = [reader.label for reader in READERS.values()]
    assert len(labels) == len(set(labels))


# Memories in rows


@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("m.json", [{"text": "Likes tea.", "ts": 1, "src": "x"}, {"text": "Has a cat, Rex.", "creator": "me"}]),
        ("m.json", {"memories": [{"content": "Likes tea."}, {"content": "Has a cat, Rex.", "state": "active"}]}),
        ("m.json", {"memories": ["Likes tea.", "Has a cat, Rex."]}),
        ("m.json", ["Likes tea.", "Has a cat, Rex."]),
        ("m.json", [{"content": "Likes tea."}, {"content": "Lives there.", "state": "deleted"}, "Has a cat, Rex."]),
        ("m.jsonl", b'{"content": "Likes tea."}\n{"content": "Has a cat, Rex."}\n'),
        ("m.csv", b'id,Memory,created_at\n1,Likes tea.,2025-01-01\n2,"Has a cat, Rex.",2025-01-02\n'),
        ("m.csv", b"created_at;content\n2025-01-01;Likes tea.\n2025-01-02;Has a cat, Rex.\n"),
        ("m.csv", b"Likes tea.\nHas a cat, Rex.\n"),
        ("m.tsv", b"content\nLikes tea.\nHas a cat, Rex.\n"),
        ("m.txt", b"Likes tea.\nHas a cat, Rex.\n"),
        ("m.md", b"# About me\n\nLikes tea.\n\nHas a cat, Rex.\n"),
    ],
)
def test_memories_come_in_rows_of_many_kinds(read, filename, content):
    name, found = read(content, filename)
    assert name == "list" and [part.content for part in found] == ["Likes tea.", "Has a cat, Rex."]


@pytest.mark.parametrize("content", json.loads(Path(__file__).with_name("memory_stores.json").read_text()))
def test_rows_of_other_stores_of_memories_are_read(read, content):
    assert [part.content for part in read(content, "m.json")[1]] == ["Keeps bees"]


def test_chatgpt_has_memories_in_more_places(parts):
    bio = {
        "author": {"role": "assistant"},
        "recipient": "bio",
        "content": {"content_type": "code", "text": "Keeps bees"},
    }
    context = {"about_user_message": "Lives in Porto", "about_model_message": "Be brief"}
    hidden = {"author": {"role": "system"}, "metadata": {"user_context_message_data": context}}
    nodes = {"a": {"parent": None, "message": hidden}, "b": {"parent": "a", "message": bio}}
    files = {"conversations-000.json": [{"id": "1", "mapping": nodes}], "memories.json": [{"content": "Likes tea"}]}
    found = _parts_of(parts("chatgpt", pack(files)), ReadMemory)
    assert [memory.content for memory in found] == ["Keeps bees", "Lives in Porto", "Be brief", "Likes tea"]


def test_a_row_keeps_its_time_and_its_key(parts):
    rows = [{"key": "drink", "value": "tea", "updated_at": "2025-01-02T00:00:00Z"}]
    (memory,) = parts("list", rows, "m.json")
    assert (memory.content, memory.at) == ("drink: tea", datetime(2025, 1, 2, tzinfo=UTC))
    (memory,) = parts("list", b"content,created_at\nLikes tea.,2025-01-02\n", "m.csv")
    assert (memory.content, memory.at) == ("Likes tea.", datetime(2025, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize("wrap", [lambda chat: chat, lambda chat: [chat], lambda chat: {"id": "1", **chat}])
def test_a_chat_of_open_webui_may_stand_alone(read, wrap):
    messages = {
        "a": {"id": "a", "parentId": None, "childrenIds": ["b"], "role": "user", "content": "How?"},
        "b": {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "At 80."},
    }
    chat = wrap({"title": "Tea", "history": {"currentId": "b", "messages": messages}})
    name, (talk,) = read(chat, "chat.json")
    assert (name, talk.title, _texts(talk)) == ("openwebui", "Tea", ["How?", "At 80."])


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_read_like_a_zip_and_other_archives_are_refused_plainly(mode, tmp_path, monkeypatch):
    path = tmp_path / "upload"
    with tarfile.open(path, mode) as archive:
        archive.addfile(tarfile.TarInfo("a/conversations.json"), io.BytesIO())
    with Upload(path, "export.tar") as upload:
        assert (upload.is_archive, upload.names) == (True, ["a/conversations.json"])
    monkeypatch.setattr(archives, "MAX_MEMBERS", 0)
    with pytest.raises(ImportRefused, match="larger than an export"):
        Upload(path, "export.tar")
    path.write_bytes(b"7z\xbc\xaf\x27\x1c")
    with pytest.raises(ImportRefused, match="not a ZIP"):
        Upload(path, "export.tar")


@pytest.mark.parametrize("name", ["var jsonData", "const data"])
@pytest.mark.parametrize("end", [";\n", ";\r\n", "\n", ";</script>"])
@pytest.mark.parametrize("indent", [None, 1])
def test_the_page_of_an_export_has_its_conversations(read, name, end, indent):
    says = {
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["a[0]; b\n]; c"]},
        "recipient": "all",
    }
    talk = {"id": "1", "title": "Tea", "mapping": {"a": {"id": "a", "parent": None, "message": says}}}
    text = json.dumps([talk, {**talk, "id": "2"}], indent=indent if ";" in end else None)
    page = f"<html><script>\n  {name} = {text}{end}var assetsJson = {{}};\n</script></html>".encode()
    for content in (page, pack({"chat.html": page, "user.json": {"id": "u"}}), gzip.compress(page), bz2.compress(page)):
        reader, found = read(content, "chat.html")
        assert reader == "chatgpt"
        assert [(talk.title, _texts(talk)) for talk in found] == [("Tea", ["a[0]; b\n]; c"])] * 2
