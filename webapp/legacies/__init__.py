"""What spaces mean for conversations and memories: facts about the person of a legacy, moving, leaving, deleting."""
