"""How memories are made: from conversations, and by the assistant's tools."""
