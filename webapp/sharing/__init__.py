"""Links that show a conversation, or a part of it, to others."""
