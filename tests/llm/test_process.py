"""What a process holds, that what it freed can be given back, and what it makes for itself."""

import io
import subprocess
import sys
import weakref

from testkit.processes import ROOT
from webapp.llm.process import PerProcess

HOLDS_AND_FREES = """
from webapp.llm.process import resident_megabytes, return_free_memory

print(resident_megabytes())
pieces = [bytes(1_000) for _ in range(60_000)]  # too small for memory of their own: they come from the heap
print(resident_megabytes())
del pieces
return_free_memory()
print(resident_megabytes())
"""


def test_what_is_taken_is_seen_and_what_is_freed_can_be_given_back():
    """In a process of its own: one that has freed much before takes less from the system."""
    done = subprocess.run([sys.executable, "-c", HOLDS_AND_FREES], cwd=ROOT, capture_output=True, text=True, check=True)
    before, taken, left = map(float, done.stdout.split())
    assert taken > before + 40
    assert left < taken - 30


def test_what_is_closed_is_made_anew_and_not_held():
    holder = PerProcess(io.BytesIO, close=io.BytesIO.close)
    first = weakref.ref(made := holder())
    assert made is holder()
    holder.close()
    assert made.closed
    del made
    assert first() is None
    last = holder()
    del holder
    assert last.closed
