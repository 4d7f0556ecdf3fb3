"""Exports of other programs as FORMATS.md describes them, the odd ones included; made, not copied."""

import io
import json
import zipfile
from typing import Any

QUESTIONS = ("how are bees", "what do they eat", "where is honey")
HIDDEN = "What only the program was told"


def pack(files: dict[str, Any]) -> bytes:
    """Return a ZIP of files; what is not text is written as JSON."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return out.getvalue()


def node(
    key: str, parent: str | None, role: str = "", text: str = "", at: float | None = None, **more: Any
) -> dict[str, Any]:
    """Return one node of a ChatGPT mapping."""
    message = None
    if role:
        message = {
            "id": f"m-{key}",
            "author": {"role": role},
            "create_time": at,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
        } | more
    return {"id": key, "parent": parent, "children": [], "message": message}


def chatgpt_conversation(number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a conversation with a hidden context, an edited question and the tool that remembers."""
    nodes = [
        node("root", None),
        node("sys", "root", "system", HIDDEN, metadata={"is_visually_hidden_from_conversation": True}),
        node("ctx", "sys", "user", content=context()),
        node("q0", "ctx", "user", f"First draft of question {number}", 1_700_000_000.0),
        node("q1", "ctx", "user", f"Question {number}", 1_700_000_010.0),
        node("bio", "q1", "assistant", "Lives in Lisbon.\nHas a dog called Rex.", 1_700_000_011.0, recipient="bio"),
        node("told", "bio", "tool", "Model set context updated.", 1_700_000_012.0),
        node("a1", "told", "assistant", f"Answer {number}\ue200cite\ue202turn0\ue201【4†source】.", 1_700_000_013.0),
    ]
    return {
        "title": f"Talk {number}",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_100.0,
        "mapping": {n["id"]: n for n in nodes},
        "current_node": "a1",
        "conversation_id": f"conv-{number}",
        "default_model_slug": "gpt-5",
        "is_archived": False,
        "is_starred": None,
    } | more


def context() -> dict[str, Any]:
    """Return what ChatGPT puts before a conversation about its person."""
    return {
        "content_type": "user_editable_context",
        "user_profile": "The user provided:\n```I am a beekeeper```",
        "user_instructions": "```Answer in short sentences```",
    }


def claude_conversation(number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a conversation with a branch, blocks instead of text, and an attachment."""

    def message(key: str, parent: str | None, sender: str, text: str, **fields: Any) -> dict[str, Any]:
        return {
            "uuid": f"{key}-{number}",
            "sender": sender,
            "text": text,
            "content": [{"type": "text", "text": text}],
            "created_at": f"2026-03-0{number}T10:00:0{key[-1]}Z",
            "parent_message_uuid": f"{parent}-{number}" if parent else "00000000-0000-4000-8000-000000000000",
            "attachments": [],
        } | fields

    rows = [
        message("h1", None, "human", "Hello Claude"),
        message("a2", "h1", "assistant", "An answer that was replaced"),
        message(
            "a3",
            "h1",
            "assistant",
            "",
            content=[{"type": "thinking", "thinking": HIDDEN}, {"type": "text", "text": "Hi"}],
        ),
        message(
            "h4", "a3", "human", "See this", attachments=[{"file_name": "a.txt", "extracted_content": "the attachment"}]
        ),
    ]
    return {
        "uuid": f"c-{number}",
        "name": f"Claude talk {number}",
        "created_at": f"2026-03-0{number}T10:00:00Z",
        "updated_at": f"2026-03-0{number}T10:05:00Z",
        "chat_messages": rows,
        "current_leaf_message_uuid": f"h4-{number}",
    } | more


def openwebui_chat() -> dict[str, Any]:
    """Return a chat with a reasoning block and a branch."""
    messages = {
        "1": {"id": "1", "parentId": None, "role": "user", "content": "Hi there", "timestamp": 1_760_000_000},
        "2": {"id": "2", "parentId": "1", "role": "assistant", "content": "Old", "timestamp": 1_760_000_001},
        "3": {
            "id": "3",
            "parentId": "1",
            "role": "assistant",
            "model": "llama",
            "content": f'<details type="reasoning" done="true"><summary>x</summary>{HIDDEN}</details>\nNew',
            "timestamp": 1_760_000_002,
        },
    }
    return {
        "id": "ow-1",
        "title": "Open chat",
        "chat": {"title": "Open chat", "history": {"currentId": "3", "messages": messages}},
        "created_at": 1_760_000_000,
        "updated_at": 1_760_000_002,
        "archived": True,
        "pinned": False,
        "meta": {"tags": ["bee_keeping"]},
    }


def librechat_conversation() -> dict[str, Any]:
    """Return a conversation as a tree."""
    return {
        "conversationId": "lc-1",
        "title": "Libre talk",
        "recursive": True,
        "messagesTree": [
            {
                "messageId": "a",
                "text": "Question",
                "isCreatedByUser": True,
                "createdAt": "2026-01-01T10:00:00Z",
                "children": [
                    {
                        "messageId": "b",
                        "content": [{"type": "text", "text": "Answer"}, {"type": "think", "think": HIDDEN}],
                        "sender": "GPT",
                        "createdAt": "2026-01-01T10:00:05Z",
                    }
                ],
            }
        ],
    }


def grok_export() -> dict[str, Any]:
    """Return two branches below one question, a picture that was made, and a project."""

    def response(number: int, sender: str, message: str, parent: int | None = None, **more: Any) -> dict[str, Any]:
        at = {"$date": {"$numberLong": str(1_760_000_000_000 + number * 1_000)}}
        above = {} if parent is None else {"parent_response_id": f"r{parent}"}
        row = {"_id": f"r{number}", "sender": sender, "message": message, "create_time": at, "thinking_trace": HIDDEN}
        return {"response": {**row, **above, **more}, "share_link": None}

    about = {"id": "g-1", "title": "Tides", "starred": True, "create_time": "2025-10-09T08:53:20.123Z"}
    card = f"<grok:render card_id='1' type='render_inline_citation'>{HIDDEN}</grok:render>"
    return {
        "conversations": [
            {
                "conversation": about,
                "responses": [
                    response(0, "human", "When is high tide?"),
                    response(1, "ASSISTANT", "At noon.", 0, model="grok-3"),
                    response(2, "grok-3", f"At two.{card}", 0, model="grok-4"),
                    response(3, "assistant", "", 2, generated_image_urls=["https://x"]),
                    response(4, "human", "Thanks", 3),
                ],
            }
        ],
        "projects": [{"name": "Boats", "custom_personality": "Speak like a sailor."}, {"name": ""}],
        "tasks": [],
        "media_posts": [],
    }


def gemini_records(prefix: str = "Prompted ") -> list[dict[str, Any]]:
    """Return records of two sessions, newest first, in an account of some language."""
    times = ("2026-05-01T18:00:00Z", "2026-05-01T10:20:00Z", "2026-05-01T10:00:00Z")
    return [
        {
            "header": "Gemini Apps",
            "title": f"{prefix}{QUESTIONS[2 - number]}",
            "time": at,
            "safeHtmlItem": [{"html": f"<p>Answer <b>{3 - number}</b></p><ul><li>one</li></ul>"}],
            "products": ["Gemini Apps"],
        }
        for number, at in enumerate(times)
    ]


def gemini_page(day: str = "01.05.2026, 10:00:00 MESZ") -> str:
    """Return the HTML form of one record."""
    return (
        '<html><body><div class="mdl-grid"><div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp">'
        '<div class="mdl-grid"><div class="header-cell"><p>Gemini-Apps<br></p></div>'
        '<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">Wie geht es?<br>'
        f"{day}<br><p>Gut, danke.</p></div>"
        '<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right"></div>'
        "</div></div></div></body></html>"
    )
