"""Finding what was said and stored: a per-user index over memories, chunks, messages and documents."""
