"""One turn, from lease to final event, as a coroutine of the runner's loop."""

import asyncio
import logging
import time
from asyncio import Future
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from webapp.chat.context.assembly import AssembledPrompt, TurnGone
from webapp.chat.context.values import BudgetTooSmall
from webapp.chat.suggestions import Trailer
from webapp.chat.turns.finish import Outcome
from webapp.chat.turns.leases import Leases
from webapp.chat.turns.progress import Progress
from webapp.chat.turns.tool_calls import Ask, Consent, ToolCalling
from webapp.chat.turns.turn_database import TurnDatabase
from webapp.chat.turns.turnlog import PAUSE, READING
from webapp.chat.turns.writer import TurnWriter
from webapp.db.failures import database_is_away
from webapp.i18n.marks import N_
from webapp.llm.errors import ModelError
from webapp.llm.events import Finish, Pause, ReasoningDelta, TextDelta, ThoughtSoFar
from webapp.llm.partial_calls import ToolCall
from webapp.llm.pool import ChatPool, ModelSwitched, prompt_tokens
from webapp.llm.settings import Target
from webapp.tools.client_tools import ClientTools

log = logging.getLogger(__name__)

WAIT_FOR_EARLIER = 0.25
"""Seconds between checks of an earlier reply of the conversation that is still being written."""
FIRST_SAVE = 1.25
"""Seconds after which a reply so far is stored for the first time: most are done sooner."""
FINISH_SECONDS = 300.0
"""Seconds to keep trying to store a reply while the database is away; after that the sweep finishes the row."""

MIN_WAIT = 3.0
"""Seconds of waiting that are worth telling."""

STOP, SHUTDOWN, LOST, DELETED = "stop", "shutdown", "lost", "gone"

_WORDS = N_(
    {
        STOP: ("stopped", None, None),
        DELETED: ("stopped", None, None),
        SHUTDOWN: ("interrupted", "shutdown", "The server was restarted while this reply was being written."),
    }
)


@dataclass(frozen=True, slots=True)
class TurnServices:
    """Services that all turns of a process share."""

    tables: TurnDatabase
    chat: ChatPool
    writer: TurnWriter
    leases: Leases
    max_tokens: int
    ask: Ask | None = None


@dataclass(slots=True)
class Turn:
    """A running turn, every end of which is stored in its row and reported on its stream.

    The model is asked once `is_ours` is true; the `place` in the start queue is closed once the prompt is made;
    `consent`: which calls that write it makes; `client`: the tools of the calling program.
    """

    id: int
    header: dict[str, Any]
    services: TurnServices
    is_ours: Future[bool]
    place: ExitStack = field(default_factory=ExitStack)
    consent: Consent = "ask"
    client: ClientTools | None = None
    assembled: AssembledPrompt | None = None
    progress: Progress = field(default_factory=Progress)
    is_ending: bool = False
    save_at: float = field(default_factory=lambda: time.monotonic() + FIRST_SAVE)
    _saved: int = 0

    async def run(self) -> None:
        """Write the reply. Cancel with STOP or SHUTDOWN to end it early, LOST to leave it, DELETED if its row is."""
        self.services.writer.begin(self.id, self.header)
        outcome = await self._outcome()
        if outcome is not None:
            self.is_ending = True
            final_outcome = self.progress.complete(outcome, self.assembled)
            self.progress.measure(final_outcome)
            await run_to_end(self._store_outcome(final_outcome))

    def is_due(self, now: float) -> bool:
        """Return whether the reply so far should be stored before it ends."""
        return not self.is_ending and now >= self.save_at and len(self.progress.text) > self._saved

    def note_saved(self, text: str, next_at: float) -> None:
        """Record which text is stored, and when to store again."""
        self._saved, self.save_at = len(text), next_at

    async def _outcome(self) -> Outcome | None:
        """Write the reply; returns how that ended, or None if others are to say so."""
        progress = self.progress
        try:
            assembled = self.assembled = await self._assemble()
            if not await asyncio.shield(self.is_ours):
                log.info("turn is run elsewhere", extra={"turn_id": self.id})
                self.services.writer.drop(self.id)
                return None
            progress.is_tainted = assembled.is_tainted
            progress.model = assembled.targets[0].model if assembled.targets else self.services.chat.settings.chat_model
            progress.target = assembled.targets[0].id if assembled.targets else None
            await self._stream(assembled)
            return Outcome("complete", progress.text)
        except TurnGone:
            return Outcome("stopped", progress.text)
        except asyncio.CancelledError as cancelled:
            clear_cancellation()
            if LOST in cancelled.args:
                self.services.writer.drop(self.id)
                return None
            reason = cancelled.args[0] if cancelled.args and cancelled.args[0] in _WORDS else SHUTDOWN
            status, code, detail = _WORDS[reason]
            return Outcome(status, progress.text, error_code=code, error_detail=detail)
        except ModelError as error:
            log.info("turn failed", extra={"turn_id": self.id, "code": error.code})
            status = "interrupted" if progress.text else "failed"
            return Outcome(
                status, progress.text, error_code=error.code, error_detail=error.detail, retryable=error.retryable
            )
        except BudgetTooSmall:
            detail = N_("This message does not fit into what the model can read. Shorten it, or choose a larger model.")
            return Outcome("failed", "", error_code="context_too_long", error_detail=detail, retryable=False)
        except SQLAlchemyError as error:
            log.warning("turn failed: database", extra={"turn_id": self.id, "error": type(error).__name__})
            detail = N_("The database could not be reached.")
            return Outcome("failed", progress.text, error_code="database_away", error_detail=detail)
        except Exception:
            log.exception("turn failed unexpectedly", extra={"turn_id": self.id})
            detail = N_("Something went wrong on the server.")
            return Outcome("failed", progress.text, error_code="internal", error_detail=detail)

    async def _assemble(self) -> AssembledPrompt:
        """Return the prompt, once every earlier reply of the conversation is final."""
        while True:
            with self.place:
                assembled = await self.services.tables.assemble(self.id, self.client)
            if assembled.waits_for is None:
                return assembled
            await asyncio.sleep(WAIT_FOR_EARLIER)

    async def _stream(self, assembled: AssembledPrompt) -> None:
        """The reply: text, and between model calls the results of the tools the model asks for."""
        prompt = list(assembled.messages)
        toolset = assembled.toolset
        calling = ToolCalling(
            self.id,
            toolset,
            self.services.tables,
            self.services.writer,
            self.progress,
            tokens=assembled.tool_tokens,
            ask=self.services.ask,
            consent=self.consent,
            words=assembled.words,
        )
        for rounds_left in reversed(range(toolset.rounds + 1)):
            begins_at, thinks_at = len(self.progress.text), len(self.progress.thoughts)
            asked_at = time.perf_counter()
            try:
                calls = await self._one_call(prompt, assembled)
            finally:
                self.progress.model_seconds += time.perf_counter() - asked_at
            if not calls or self.progress.truncated or not (rounds_left or any(map(calling.is_client_tool, calls))):
                self.progress.check_answer()
                return
            messages = await calling.answers(self.progress.text[begins_at:], calls, self.progress.thoughts[thinks_at:])
            if calling.has_handed_over:
                return
            prompt += messages
            self.progress.count_repeated_prompt(assembled.tokens, messages)

    async def _one_call(self, prompt: list[dict[str, Any]], assembled: AssembledPrompt) -> list[ToolCall]:
        """Stream one model call; return the tools it asks for."""
        calls: list[ToolCall] = []
        progress = self.progress
        follows, begins_at = bool(progress.text), len(progress.text)
        self._announce_reading(prompt, assembled)
        trailer = Trailer() if assembled.offers else None
        events = self.services.chat.stream(
            prompt,
            targets=self._targets(assembled),
            max_tokens=self.services.max_tokens,
            tools=assembled.toolset.definitions or None,
            parameters=assembled.toolset.parameters,
        )
        async with aclosing(events):
            async for event in events:
                if isinstance(event, TextDelta):
                    visible = trailer.feed(event.text) if trailer else event.text
                    text = progress.add(visible, new_paragraph=follows)
                    if text:
                        follows = False
                        self.services.writer.delta(self.id, text)
                    if progress.truncated:
                        return []
                elif isinstance(event, ReasoningDelta):
                    if thought := progress.think(event.text):
                        self.services.writer.think(self.id, thought)
                elif isinstance(event, ThoughtSoFar):
                    thought = progress.withdraw(begins_at)
                    self.services.writer.rewrite(self.id, progress.text)
                    self.services.writer.think(self.id, thought)
                elif isinstance(event, ToolCall):
                    calls.append(event)
                elif isinstance(event, Pause):
                    if event.seconds >= MIN_WAIT:
                        self.services.writer.entry(self.id, PAUSE, {"seconds": round(event.seconds)})
                elif isinstance(event, ModelSwitched):
                    progress.switch(event.target)
                elif isinstance(event, Finish):
                    progress.note(event)
        if trailer:
            self._end(trailer, follows)
        return calls

    def _announce_reading(self, prompt: list[dict[str, Any]], assembled: AssembledPrompt) -> None:
        """Tell viewers how much a slow model has to read before it answers."""
        speed = next((target.prompt_speed for target in self._targets(assembled)[:1]), None)
        if speed and (tokens := prompt_tokens(prompt, assembled.toolset.definitions)) / speed >= MIN_WAIT:
            self.services.writer.entry(self.id, READING, {"tokens": tokens, "seconds": round(tokens / speed)})

    def _targets(self, assembled: AssembledPrompt) -> Sequence[Target]:
        """Return the models to ask, the chosen one first; once another has stood in for it, starting with that one."""
        ids = [target.id for target in assembled.targets]
        start = ids.index(self.progress.target) if self.progress.target in ids else 0
        return assembled.targets[start:]

    def _end(self, trailer: Trailer, new_paragraph: bool) -> None:
        """Emit the text that the trailer held back, and record its offer."""
        rest, offer = trailer.end()
        text = self.progress.add(rest, new_paragraph=new_paragraph)
        if text:
            self.services.writer.delta(self.id, text)
        if offer:
            self.progress.offer = offer
            self.services.writer.entry(self.id, "suggestions", offer.data)

    async def _store_outcome(self, outcome: Outcome) -> None:
        """Store the outcome, then emit `done` or `error`, then queue the turn's jobs: in this order."""
        tables, writer = self.services.tables, self.services.writer
        deadline, pause = time.monotonic() + FINISH_SECONDS, 0.2
        while True:
            try:
                finished_turn = await tables.finish(self.id, outcome)
                is_gone = finished_turn is None and self.id in (await tables.save({self.id: outcome.text})).gone
                break
            except SQLAlchemyError as error:
                if not database_is_away(error) or time.monotonic() > deadline:
                    log.error("turn not stored, left to the sweep", extra={"turn_id": self.id}, exc_info=error)
                    await writer.flush(self.id)  # the sweep stores what is on the stream
                    return
                log.warning("turn not stored, retrying", extra={"turn_id": self.id, "error": type(error).__name__})
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
        if finished_turn is None:  # somebody else finished the row and said so on the stream, or it was deleted
            if is_gone:
                await writer.replace(self.id, "")  # which the writer began again with all of the text
            await writer.end(self.id, "settled", {})
            return
        if finished_turn.rewritten is not None:  # something was forgotten in the meantime
            await writer.replace(self.id, finished_turn.rewritten)
        await writer.end(self.id, finished_turn.kind, finished_turn.data)
        self.services.leases.turns.discard(self.id)
        await tables.follow_up(self.id, finished_turn)


async def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end even if a stop arrives in the meantime: there is nothing left to stop."""
    task = asyncio.create_task(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            clear_cancellation()


def clear_cancellation() -> None:
    """Undo the cancellation of the current task, which has been dealt with."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
