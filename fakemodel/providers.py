"""The quirks of real providers, with which the fake model can answer whatever a script says."""

from __future__ import annotations

from dataclasses import dataclass, field

from .script_faults import Fault


@dataclass(frozen=True, slots=True)
class Quirks:
    """The quirks of one provider: what it refuses, the reasoning its model sends, and whether it reports usage."""

    fault: Fault = field(default_factory=Fault)
    reasoning: str = ""
    reports_usage: bool = True


_NOT_OF_THINKERS = ["temperature", "top_p", "frequency_penalty", "presence_penalty", "stop"]
NO_QUIRKS = Quirks()
PROVIDERS: dict[str, Quirks] = {
    # Gemma and Mistral behind vLLM or llama.cpp
    "alternating roles": Quirks(Fault(strict_roles=True)),
    "no system role": Quirks(Fault(refuse_system=True, strict_roles=True)),
    "no tools": Quirks(Fault(refuse_tools=True)),
    # DeepSeek's chat model, and older servers
    "JSON mode only": Quirks(Fault(refuse_response_format=["json_schema"])),
    # DeepSeek's and Moonshot's thinking models
    "reasoning fields": Quirks(Fault(refuse_bare_calls=True), reasoning="Let me think about what was asked."),
    # OpenAI's newer models
    "max_completion_tokens": Quirks(Fault(refuse_max_tokens=True, refuse_parameters=_NOT_OF_THINKERS)),
    "usage missing": Quirks(Fault(refuse_stream_options=True), reports_usage=False),
}
"""By what the providers are known for."""
