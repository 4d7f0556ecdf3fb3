"""The making of memories: from conversations, and by the assistant's tools."""
