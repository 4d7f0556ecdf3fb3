"""A user's memory in this process: the engine's own rules on plain data, without database or web."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.llm.encoders import LocalEmbedder
from webapp.llm.structured import Part, instructions_of
from webapp.memories.learning.prompt import ConversationLine, ExtractionCall, build_extraction
from webapp.memories.rules import statements
from webapp.memories.rules.check import as_stored
from webapp.memories.rules.decide import decide
from webapp.memories.rules.policy import for_review
from webapp.memories.rules.state import Effect, KnownMemory, State, apply_effect
from webapp.memories.rules.working_copy import Plan
from webapp.prompts.catalogue import default_text

BEGAN = datetime(2026, 11, 2, 9, tzinfo=UTC)
CANNED = "Happy to help with that."
PROFILE = {"identity/name": "name", "identity/preferred_name": "preferred_name", "identity/birthday": "birthday"}
_embedder = LocalEmbedder()


@dataclass
class SimulatedUser:
    """One user: what is known about them, and how many conversations they had."""

    memories: tuple[KnownMemory, ...] = ()
    sessions: int = 0
    is_trusted: bool = False
    plans: list[tuple[ExtractionCall, statements.Extraction, Plan]] = field(default_factory=list)

    def call(self, said: Sequence[str], outside: tuple[str, ...] = ()) -> tuple[ExtractionCall, list[Part]]:
        """Return what the product would send after these messages, each answered with a canned reply.

        `outside` is what tools answered while the replies were written.
        """
        at = BEGAN + timedelta(days=self.sessions)
        lines = []
        for number, text in enumerate(said):
            first = 1000 * (self.sessions + 1) + 2 * number
            lines.append(ConversationLine(first, "user", text, at + timedelta(minutes=number)))
            moment = at + timedelta(minutes=number, seconds=5)
            lines.append(ConversationLine(first + 1, "assistant", CANNED, moment, outside=outside))
        shown = [memory for memory in self.memories if memory.is_open and not memory.is_archived]
        shown.sort(key=lambda memory: -abs(memory.ref))
        profile = {PROFILE[m.slot]: m.fact_value for m in shown if m.is_current and m.slot in PROFILE}
        call = build_extraction(lines, shown, profile, instructions=default_text("extraction"))
        numbers = [source.number for source in call.sources]
        schema = statements.statements_schema(numbers, list(call.numbered))
        return call, [Part(statements.FIELD, schema, instructions_of([]))]

    def shown_texts(self, call: ExtractionCall) -> dict[int, str]:
        """Return the memories that a call shows, by their numbers in it."""
        texts = {memory.ref: memory.content for memory in self.memories}
        return {number: texts[ref] for number, ref in call.numbered.items() if ref in texts}

    def take(
        self,
        call: ExtractionCall,
        items: Sequence[Any],
        numbered: Mapping[int, int] | None = None,
        *,
        is_tainted: bool = False,
    ) -> Plan:
        """Decide on an answer and apply the result; `numbered` if its numbers are not those of the call, `is_tainted`
        if it is what a tool call wants in a turn that holds others' words."""
        found = statements.read_statements(items)
        numbers = call.numbered if numbered is None else numbered
        said = State(
            call.sources,
            context=call.context,
            foreign=call.foreign,
            is_trusted=self.is_trusted,
            is_tainted=is_tainted,
        )
        operations = tuple(as_stored(operation, said) for operation in found.operations)
        texts = sorted({operation.content for operation in operations if operation.content})
        vectors = dict(zip(texts, _embedder.embed_passages(texts), strict=True)) if texts else {}
        state = replace(said, memories=self.memories, numbered=numbers, embeddings=vectors, secrets=found.secrets)
        plan = decide(found.operations, state)
        if is_tainted:
            plan = replace(plan, effects=tuple(for_review(plan.effects, origin="tool")))
        self.memories = _give_ids(apply_effects(self.memories, plan.effects))
        self.sessions += 1
        self.plans.append((call, found, plan))
        return plan


def apply_effects(memories: Iterable[KnownMemory], effects: Iterable[Effect]) -> tuple[KnownMemory, ...]:
    """Return the memories after all effects, in order of reference."""
    by_ref = {memory.ref: memory for memory in memories}
    for effect in effects:
        apply_effect(by_ref, effect)
    return tuple(by_ref[ref] for ref in sorted(by_ref))


def _give_ids(memories: Sequence[KnownMemory]) -> tuple[KnownMemory, ...]:
    """Return the memories under the ids that a database would have given them."""
    last = max([0, *(memory.ref for memory in memories)])
    ids = {memory.ref: memory.ref for memory in memories if memory.ref > 0}
    for memory in sorted(memories, key=lambda memory: -memory.ref):
        if memory.ref < 0:
            last += 1
            ids[memory.ref] = last
    kept = []
    for memory in memories:
        fields: dict[str, Any] = {
            "ref": ids[memory.ref],
            "superseded_by": ids.get(memory.superseded_by, memory.superseded_by) if memory.superseded_by else None,
            "contradicts": ids.get(memory.contradicts, memory.contradicts) if memory.contradicts else None,
        }
        kept.append(replace(memory, **fields))
    return tuple(sorted(kept, key=lambda memory: memory.ref))


def as_rows(memories: Sequence[KnownMemory]) -> list[dict[str, Any]]:
    """Return the memories as the scorer reads them."""
    return [
        {
            "content": memory.content,
            "valid_to": memory.valid_to.isoformat() if memory.valid_to else None,
            "needs_review": memory.needs_review,
            "is_archived": memory.is_archived,
        }
        for memory in memories
    ]
