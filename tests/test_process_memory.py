"""What a process holds, and that what it freed can be given back."""

from __future__ import annotations

from webapp.process_memory import resident_megabytes, return_free_memory


def test_what_is_taken_is_seen_and_what_is_freed_can_be_given_back():
    before = resident_megabytes()
    pieces = [bytes(1_000) for _ in range(60_000)]  # too small for memory of their own: they come from the heap
    taken = resident_megabytes()
    assert taken > before + 40
    del pieces
    return_free_memory()
    assert resident_megabytes() < taken - 30
