"""Markdown of a reply while it is being written."""

from typing import NamedTuple

from markupsafe import Markup

from webapp.markdown.highlighting import GrowingCode
from webapp.markdown.rendering import render, render_growing
from webapp.markdown.splits import split_stable

# A tail shorter than this is rendered at every delta; a longer one only after it has grown by a share of itself,
# so that a reply which is one enormous list costs time linear in its length.
SHORT_TAIL = 4_000
GROWTH = 16
# Unmatched brackets are expensive: a tail with hundreds of them is next looked at when it is twice as long.
MANY_BRACKETS = 400
CODE_GROWTH = 64  # code is cheap: escaped, highlighted now and then


class Update(NamedTuple):
    """The text to append for good, and the tail to show after it in place of the last tail (None: leave it)."""

    finished_html: list[Markup]
    tail_html: Markup | None


class StreamRenderer:
    """Renders a growing text: each finished block once, the unfinished tail again and again.

    A feed costs time in proportion to the tail. The finished blocks are those of `split_stable`
    for all text fed so far, except that very long tails are looked at less often.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._wait_for = 0
        self._has_news = False
        self._code = GrowingCode()

    def feed(self, delta: str) -> Update:
        """Takes the next piece of text."""
        self._tail += delta
        # Only a new line can finish a block; a carriage return waits for what follows it.
        self._has_news = self._has_news or "\n" in delta or "\r" in self._tail
        if len(self._tail) < self._wait_for:
            return Update([], None)
        blocks, self._tail = split_stable(self._tail) if self._has_news else ([], self._tail)
        self._has_news = False
        if blocks:
            self._code.forget()
        growth = CODE_GROWTH if self._tail.lstrip().startswith(("```", "~~~")) else GROWTH
        self._wait_for = len(self._tail) + len(self._tail) // growth if len(self._tail) > SHORT_TAIL else 0
        if growth == GROWTH and self._tail.count("[") > MANY_BRACKETS:
            self._wait_for = 2 * len(self._tail)
        return Update([render(block) for block in blocks], self._render_tail())

    def finish(self) -> Update:
        """Return the end of the text: the tail becomes final, nothing is left."""
        blocks, tail = split_stable(self._tail)
        self._tail = ""
        self._wait_for = 0
        last = [tail] if tail.strip() else []
        return Update([render(block) for block in (*blocks, *last)], Markup(""))

    def _render_tail(self) -> Markup:
        return render_growing(self._tail, self._code) if self._tail.strip() else Markup("")
