"""Separates reasoning that a server leaves in the text, `<think>…</think>` before the answer; pure.

Only the beginning of an answer is examined: further on, a tag is something the answer talks about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .events import Event, Finish, ReasoningDelta, TextDelta

_TAGS = ("<think>", "<thinking>", "<thought>", "<reasoning>")
_LONGEST = max(map(len, _TAGS))


class InlineThinking:
    """A filter over the events of one answer; once `is_over`, it has nothing left to do."""

    def __init__(self) -> None:
        self.is_over = False
        self._held = ""
        self._close = ""
        self._thought = ""
        self._closed = False

    def feed(self, event: Event) -> Iterator[Event]:
        """An event as the consumer gets it, with reasoning separated from text."""
        if self.is_over or isinstance(event, ReasoningDelta):
            yield event
        elif isinstance(event, TextDelta):
            self._held += event.text
            yield from self._work()
        else:
            yield from self._end(event)
            yield event

    def _work(self) -> Iterator[Event]:
        if not self._close and not self._closed and not self._opens():
            if self.is_over and self._held:
                yield from self._say()
            return
        if self._close:
            at = self._held.find(self._close)
            if at < 0:
                yield from self._think(len(self._held) - _overlap(self._held, self._close))
                return
            yield from self._think(at)
            self._held, self._close, self._closed = self._held[len(self._close) :], "", True
        self._held = self._held.lstrip()
        if self._held:
            yield from self._say()

    def _opens(self) -> bool:
        """Return whether the answer begins with reasoning, whose tag is then open; sets `is_over` if it certainly
        does not.
        """
        begun = self._held.lstrip()
        tag = next((tag for tag in _TAGS if begun.startswith(tag)), None)
        if tag:
            self._held, self._close = begun[len(tag) :], tag.replace("<", "</")
            return True
        self.is_over = bool(begun) and not (len(begun) < _LONGEST and any(tag.startswith(begun) for tag in _TAGS))
        return False

    def _say(self) -> Iterator[Event]:
        text, self._held, self.is_over = self._held, "", True
        yield TextDelta(text)

    def _think(self, size: int) -> Iterator[Event]:
        thought, self._held = self._held[:size], self._held[size:]
        thought = thought if self._thought else thought.lstrip()
        if thought:
            self._thought += thought
            yield ReasoningDelta(thought)

    def _end(self, event: Event) -> Iterator[Event]:
        """Emit what was held back, now that no text follows.

        Reasoning without a closing tag, in an answer that ended normally, was the answer: it began with a word in
        brackets.
        """
        if self._close:
            yield from self._think(len(self._held))
            if isinstance(event, Finish) and event.reason == "stop" and self._thought.strip():
                yield TextDelta(self._close.replace("</", "<") + self._thought)
        elif self._held and not self._closed:
            yield from self._say()
        self.is_over = True


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of a text may be the beginning of a tag."""
    found = re.search("<(?:/[a-z]*)?$", text[-len(tag) :])
    return len(found[0]) if found and tag.startswith(found[0]) else 0
