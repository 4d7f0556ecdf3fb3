"""What is sent to a model with each request, as an admin sets it for everybody and a person for a conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from webapp.validation import Line

EFFORTS = ("none", "minimal", "low", "medium", "high")


def _no_truth(value: object) -> object:
    """True and false are no numbers; pydantic would take them for 1 and 0."""
    return str(value) if isinstance(value, bool) else value


Amount = Annotated[float, BeforeValidator(_no_truth)]
Count = Annotated[int, BeforeValidator(_no_truth)]


class Parameters(BaseModel):
    """What is sent with each request to a model; what is left out is the server's to choose."""

    model_config = ConfigDict(extra="forbid")

    temperature: Amount | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    top_p: Amount | None = Field(None, gt=0, le=1, allow_inf_nan=False)
    max_tokens: Count | None = Field(None, ge=16, le=1_000_000)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    system: Line | None = Field(None, max_length=4_000, description="Added to what every conversation begins with.")

    @property
    def given(self) -> dict[str, Any]:
        """Those that are set, by name."""
        return {name: value for name, value in self.model_dump().items() if value not in (None, "")}

    @classmethod
    def of(cls, stored: Any) -> Parameters:
        """Parameters as stored; a value that cannot be read counts as left out."""
        known = {name: value for name, value in stored.items() if name in cls.model_fields} if stored else {}
        try:
            return cls(**known)
        except ValidationError as error:
            for item in error.errors():
                known.pop(str(item["loc"][0]), None)
            return cls(**known)
