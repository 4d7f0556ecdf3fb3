"""The context of a reply: what the model is shown, section by section, within a token budget; pure.

What everybody shares comes first, then what is known in this conversation, then its messages; only the last message
depends on what was retrieved for a turn, so a provider can cache all but the end.
"""

from collections.abc import Sequence
from dataclasses import replace

from webapp.chat.context.memory_sections import fit_facts, fit_summaries
from webapp.chat.context.sections import (
    Section,
    fit_files,
    fit_history,
    fit_instructions,
    fit_known,
    fit_retrieved,
    fit_standing,
    split_messages,
)
from webapp.chat.context.segments import Line, PromptMessage, Segment, join_segments, model_text, tokens_of
from webapp.chat.context.values import MESSAGE_OVERHEAD, BudgetTooSmall, Context, ContextInput, SectionSize
from webapp.text.tokens import estimate_tokens, shorten

# Once messages take up more of their room than this, a summary is due: the next exchange may not fit any more.
_FULL = 3 / 4
_OPENS, _CLOSES = Segment("<context>\n"), Segment("\n</context>")


def build_context(source: ContextInput) -> Context:
    """Build the prompt of a reply, of at most `source.limits.prompt` estimated tokens. Raises BudgetTooSmall.

    Every message is verbatim, covered by a summary, or, the oldest first, named in `left_out`.
    """
    limits = source.limits
    current, excluded = split_messages(source.messages)
    instructions, memories = fit_instructions(source), fit_known(source)
    standing = fit_standing(source)
    known_left = limits.of("known") - memories.tokens
    facts = fit_facts(source, max(0, known_left + (limits.of("facts") if source.facts else 0)))
    summaries = fit_summaries(source, limits.of("summaries") + max(0, known_left - facts.tokens))
    covered = [(chunk.start, chunk.end) for chunk in source.chunks if ("chunk", chunk.id) in summaries.injected]
    tail = [m for m in current[:-1] if not any(start <= m.id <= end for start, end in covered)] + current[-1:]
    directive = shorten(source.directive, max(1, limits.prompt * 3 // 20))
    task = Segment(directive, source.directive_record)
    stable = [instructions, standing, memories, facts, fit_files(source), summaries]

    room = limits.prompt - limits.of("retrieved") - sum(section.tokens for section in stable) - 3 * MESSAGE_OVERHEAD
    room -= (
        tokens_of((_OPENS, _CLOSES))
        + estimate_tokens(source.file_pages.text)
        + estimate_tokens(directive)
        + estimate_tokens(_missing_note(len(tail), len(source.chunks)))
    )
    for found_budget in (limits.of("retrieved"),) * 3 + (0,) * 3:
        history = fit_history(tail, max(room, 1), limits.step)
        present = standing.injected | memories.injected | facts.injected | summaries.injected | history.injected
        passages = fit_retrieved(source, found_budget, present)
        made_of = _assemble(stable, history, passages, [source.file_pages, task], len(tail), len(summaries.left_out))
        tokens = sum(message.size() + MESSAGE_OVERHEAD for message in made_of)
        if tokens <= limits.prompt:
            break
        # Estimates are not quite additive: the whole may come to slightly more than its pieces.
        room -= tokens - limits.prompt
    else:
        raise BudgetTooSmall(f"the last message does not fit into {limits.prompt} tokens")
    filled = [*stable, history, passages]
    sections = [SectionSize(section.name, section.tokens, section.budget, len(section.injected)) for section in filled]
    needed = history.tokens + sum(item.tokens for item in history.left_out)
    sections.append(SectionSize("overhead", tokens - sum(section.tokens for section in filled), 0, 0))
    return Context(
        made_of=made_of,
        sections=sections,
        left_out=[*excluded, *(item for section in filled for item in section.left_out)],
        receipt=[item for section in filled for item in section.receipt],
        verbatim=[entry.message.id for entry in history.shown if entry.shortened_to is None],
        words=[
            *(entry.text for entry in history.shown if entry.message.role == "user"),
            *map(model_text, (passages.segments, [source.file_pages, task])),
        ],
        tokens=tokens,
        budget=limits.prompt,
        spare=int(history.budget * _FULL) - needed,
    )


def _missing_note(messages: int, summaries: int) -> str:
    return f"[Not shown for lack of space: {messages} earlier messages, {summaries} summaries]"


def _assemble(
    stable: Sequence[Section], history: Section, passages: Section, tasks: Line, tail: int, summaries: int
) -> list[PromptMessage]:
    """Return the chat messages of the prompt.

    Servers put tool definitions after the system message, so that has nothing personal: what is known in the
    conversation is in the first message, what was retrieved in the last.
    """
    missing = tail - len(history.shown)
    note = [Segment(_missing_note(missing, summaries))] if missing or summaries else []
    segments = join_segments("\n\n", [*(section.segments for section in stable), note])
    segments = [_OPENS, *segments, _CLOSES] if segments else []
    extra = join_segments("\n\n", (passages.segments, *([segment] for segment in tasks)))
    messages = [
        PromptMessage(entry.message.role, (), entry.message.id, entry.text, entry.shortened_to, entry.pictures)
        for entry in history.shown
    ]
    if extra and not (messages and messages[-1].role == "user"):
        messages.append(PromptMessage("user"))
    if segments and not (messages and messages[0].role == "user"):
        messages.insert(0, PromptMessage("user"))
    if messages:
        messages[-1] = _prepend(messages[-1], extra)
        messages[0] = _prepend(messages[0], segments)
    shared = join_segments("\n\n", [section.shared for section in stable])
    return [PromptMessage("system", tuple(shared)), *messages] if shared else messages


def _prepend(message: PromptMessage, texts: Line) -> PromptMessage:
    if not texts:
        return message
    separator = (Segment("\n\n"),) if message.segments or message.message_id is not None else ()
    return replace(message, segments=(*texts, *separator, *message.segments))
