"""Finding what was said and stored: an index per user over memories, chunks, messages and documents."""
