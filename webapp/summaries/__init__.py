"""Rolling summaries: the oldest messages of a long conversation, condensed."""
