"""What a request looks like, by the name of its model: shown in the API's description, and tried by its tests."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "AccountChanges": {"name": "Ada", "settings": {"theme": "dark", "timezone": "Europe/Lisbon"}},
    "ChatRequest": {"message": "What should I pack for four days in Lisbon in May?"},
    "ConversationChanges": {"title": "Trip to Lisbon", "is_archived": False},
    "EditedMessage": {"content": "What should I pack for five days in Lisbon in May?"},
    "EmailChange": {"email": "ada@example.org", "password": "a heron on the tide mill"},
    "NewConversation": {"title": "Trip to Lisbon", "metadata": {"source": "import script"}},
    "NewMessage": {"content": "What should I pack for four days in Lisbon in May?"},
    "NewToken": {"name": "Laptop script", "expires_in_days": 90},
    "PasswordChange": {"current_password": "a heron on the tide mill", "new_password": "nine grey stones at low water"},
    "PasswordProof": {"password": "a heron on the tide mill"},
    "Registration": {"email": "ada@example.org", "password": "a heron on the tide mill", "name": "Ada"},
    "SiteChanges": {"registration_open": False},
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
