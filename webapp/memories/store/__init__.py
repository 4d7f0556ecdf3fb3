"""Memories as rows: loading, writing, versions, forgetting."""
