"""Things that came since somebody was last here, said on the page of a new conversation."""
