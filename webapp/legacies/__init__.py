"""Legacies, and spaces in conversations and memories: facts about the person of a legacy, moving, leaving, deleting."""
