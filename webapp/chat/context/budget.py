"""Budgets of a prompt and its sections within the model's window; pure numbers."""

from dataclasses import dataclass, field

MESSAGE_OVERHEAD = 4
"""Tokens that chat templates spend on a message's role and delimiters."""
MINIMUM_BUDGET = 256
"""Prompt tokens below which no sensible prompt can be made."""
SECTIONS: dict[str, tuple[float, int | None]] = {
    "instructions": (0.30, None),
    "standing": (0.06, 600),
    "known": (0.10, 1_500),
    "facts": (0.15, 6_000),
    "summaries": (0.20, 3_000),
    "retrieved": (0.15, None),
}
"""The share of a prompt that each section may take, and the most tokens; those for what is retrieved are a setting."""


class BudgetTooSmall(ValueError):
    """The model's window leaves fewer than MINIMUM_BUDGET tokens for the prompt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens a prompt may take of the model's window, and each section of the prompt.

    A section gets the smaller of its cap and its share of the prompt; what a section leaves unused goes
    to the messages, except what is kept for retrieved items, so that the history does not shift with them.
    """

    window: int = 8192
    reply: int = 1024
    tools: int = 0
    retrieved: int = 1500
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
        share, most = SECTIONS[section]
        tokens = int(self.prompt * share)
        most = self.retrieved if section == "retrieved" else most
        return tokens if most is None else min(tokens, most)
