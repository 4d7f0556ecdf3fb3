"""Examples of requests and responses, by name of their model: shown in the description, and checked by its tests."""

from typing import Any

_DIGEST = {
    "main_topics": ["photosynthesis", "plant biology", "gardening"],
    "action": ["observe plants at home", "try growing seeds"],
    "typical_observation": "Shows curiosity about nature and enjoys hands-on learning",
}
_PROMPT = "You are a curiosity coach. Context: {{CONVERSATION_MEMORY__main_topics__action}}"
_MEMORY = {
    "id": 3,
    "conversation_id": 7,
    "memory_data": _DIGEST,
    "created_at": "2026-11-21T03:20:04.118530Z",
    "updated_at": "2026-11-21T03:20:04.118530Z",
    "version": 1,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "AccountChanges": {"name": "Ada", "settings": {"theme": "dark", "timezone": "Europe/Lisbon"}},
    "ChatRequest": {"message": "What should I pack for four days in Lisbon in May?"},
    "ConversationChanges": {"title": "Trip to Lisbon", "is_archived": False},
    "ConversationMemory": _MEMORY,
    "ConversationMemoryData": _DIGEST,
    "DigestMade": _MEMORY,
    "DigestsMade": {"conversation_ids": [7, 9], "failed": []},
    "EditedMessage": {"content": "What should I pack for five days in Lisbon in May?"},
    "EmailChange": {"email": "ada@example.org", "password": "a heron on the tide mill"},
    "MessagesForBrain": {
        "conversation_id": 7,
        "user_id": 2,
        "title": "How plants grow",
        "next_after": None,
        "messages": [
            {
                "id": 41,
                "role": "user",
                "content": "Why do plants need light?",
                "created_at": "2026-11-20T18:04:11.000000Z",
            }
        ],
    },
    "NewConversation": {"title": "Trip to Lisbon", "metadata": {"source": "import script"}},
    "NewMessage": {"content": "What should I pack for four days in Lisbon in May?"},
    "NewPromptVersion": {"prompt_text": _PROMPT, "note": "With topics and suggestions"},
    "NewToken": {"name": "Laptop script", "expires_in_days": 90},
    "PasswordChange": {"current_password": "a heron on the tide mill", "new_password": "nine grey stones at low water"},
    "PasswordProof": {"password": "a heron on the tide mill"},
    "Problem": {
        "type": "about:blank",
        "title": "Not acceptable",
        "status": 422,
        "detail": "prompt_text: is empty",
        "errors": [{"loc": ["prompt_text"], "msg": "is empty"}],
    },
    "PromptVersion": {
        "name": "chat",
        "version": 2,
        "prompt_text": _PROMPT,
        "is_active": True,
        "origin": "admin",
        "note": "With topics and suggestions",
        "created_at": "2026-11-21T09:12:44.000000Z",
        "created_by": 1,
    },
    "Registration": {"email": "ada@example.org", "password": "a heron on the tide mill", "name": "Ada"},
    "RenderRequest": {"prompt_text": _PROMPT, "conversation_id": 7},
    "Rendered": {
        "text": "You are a curiosity coach. Context: Conversation memory not available.",
        "placeholders": ["{{CONVERSATION_MEMORY__main_topics__action}}"],
    },
    "SiteChanges": {"registration_open": False, "schedules_per_person": 20},
    "TaskQueued": {"job_id": "0d6b6f1c-bb1c-4f7d-8d3c-5be4d1f4c2aa"},
    "TaskState": {
        "job_id": "0d6b6f1c-bb1c-4f7d-8d3c-5be4d1f4c2aa",
        "name": "digest",
        "status": "finished",
        "result": {"conversation_id": 7, "version": 1, "is_new": True},
        "error": None,
    },
    "UserChanges": {"is_active": False},
}

STREAM = """\
id: 1795298400000-0
event: turn
data: {"conversation_id": 7, "user_message_id": 41, "assistant_message_id": 42}

id: 1795298400120-0
event: delta
data: {"text": "Light layers, "}

id: 1795298401870-0
event: done
data: {"message": {"message_id": 42, "status": "complete", "content": "Light layers, …"}}

"""
