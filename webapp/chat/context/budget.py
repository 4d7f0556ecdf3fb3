"""Budgets of a prompt and its sections within the model's window; pure numbers."""

from dataclasses import dataclass, field

MESSAGE_OVERHEAD = 4
"""Tokens that chat templates spend on a message's role and delimiters."""
MINIMUM_BUDGET = 256
"""Prompt tokens below which no sensible prompt can be made."""


class BudgetTooSmall(ValueError):
    """The model's window leaves fewer than MINIMUM_BUDGET tokens for the prompt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens a prompt may take: of the model's window, and of each section of it.

    A section gets the smaller of its cap and its share of the prompt; what a section leaves unused goes
    to the messages, except what is kept for retrieved items, so that the history does not shift with them.
    """

    window: int = 8192
    reply: int = 1024
    tools: int = 0
    instructions_share: float = 0.30
    standing: int = 600
    standing_share: float = 0.06
    known: int = 1500
    known_share: float = 0.10
    facts: int = 6000
    facts_share: float = 0.15
    summaries: int = 3000
    summaries_share: float = 0.20
    retrieved: int = 1500
    retrieved_share: float = 0.15
    prompt: int = field(init=False)

    def __post_init__(self) -> None:
        """Derive `prompt`, the tokens left for it; raise BudgetTooSmall when there are too few."""
        reply = min(self.reply, self.window // 3)
        prompt = self.window - reply - self.tools
        if prompt < MINIMUM_BUDGET:
            raise BudgetTooSmall(f"{prompt} tokens are left for the prompt, at least {MINIMUM_BUDGET} are needed")
        object.__setattr__(self, "prompt", prompt)

    def of(self, section: str) -> int:
        """Return the token budget of `instructions`, `standing`, `known`, `facts`, `summaries` or `retrieved`."""
        share = int(self.prompt * getattr(self, f"{section}_share"))
        return share if section == "instructions" else max(0, min(getattr(self, section), share))
