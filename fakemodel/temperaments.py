"""Temperaments of real providers, which the fake model can imitate in all its answers, whatever a script says."""

from __future__ import annotations

from dataclasses import dataclass, field

from .script_faults import Fault


@dataclass(frozen=True, slots=True)
class Temperament:
    """The ways of a provider: what it refuses, whether its model sends its reasoning, and whether it reports usage."""

    fault: Fault = field(default_factory=Fault)
    reasoning: str = ""
    tells_usage: bool = True


_NOT_OF_THINKERS = ["temperature", "top_p", "frequency_penalty", "presence_penalty", "stop"]
EVEN = Temperament()
TEMPERAMENTS: dict[str, Temperament] = {
    # Gemma and Mistral behind vLLM or llama.cpp
    "alternating roles": Temperament(Fault(strict_roles=True)),
    "no system role": Temperament(Fault(refuse_system=True, strict_roles=True)),
    "no tools": Temperament(Fault(refuse_tools=True)),
    # DeepSeek's chat model, and older servers
    "JSON mode only": Temperament(Fault(refuse_response_format=["json_schema"])),
    # DeepSeek's and Moonshot's thinking models
    "reasoning fields": Temperament(Fault(refuse_bare_calls=True), reasoning="Let me think about what was asked."),
    # OpenAI's newer models
    "max_completion_tokens": Temperament(Fault(refuse_max_tokens=True, refuse_parameters=_NOT_OF_THINKERS)),
    "usage missing": Temperament(Fault(refuse_stream_options=True), tells_usage=False),
}
"""By what the providers are known for."""
