"""What spaces mean for conversations and memories: facts of a legacy, moving, leaving, deleting."""
