"""A user's settings and their storage."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from webapp.http.validation import Changes, Flag, Input, Lines
from webapp.i18n import SOURCE, LanguageCode
from webapp.i18n.dates import is_time_zone
from webapp.parameters import JsonColumn, Parameters

MAX_INSTRUCTIONS = 8_000


def _known_zone(name: str) -> str:
    if not is_time_zone(name):
        raise ValueError("is not a time zone such as Europe/Lisbon")
    return name


TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_known_zone)]
Instructions = Annotated[Lines, Field(max_length=MAX_INSTRUCTIONS)]
ModelId = Annotated[str, Field(max_length=220)]
FavouriteModels = Annotated[list[ModelId], Field(max_length=50)]


THEMES = ("system", "light", "dark")
Theme = Literal["system", "light", "dark"]


class UserSettings(Input, JsonColumn):
    """A user's settings; kept as JSON with the user, so every field has a default."""

    theme: Theme = "system"
    language: LanguageCode | Literal[""] = Field(
        "", description="The language of the interface; empty for the one the browser asks for."
    )
    browser_language: LanguageCode | Literal[""] = Field(
        "", description="The language the user's browser last asked for, for files created without a browser."
    )
    timezone: TimeZone = "UTC"
    custom_instructions: Instructions = ""
    memory_enabled: bool = Field(True, description="Whether replies read and create memory.")
    past_conversations_enabled: bool = Field(True, description="Whether replies may look into other conversations.")
    suggestions_enabled: bool = Field(True, description="Whether replies may offer answers and actions.")
    builtin_tools_enabled: bool = Field(
        True, description="Whether replies may calculate, work with dates and propose schedules."
    )
    last_model: ModelId = Field("", description="The model chosen last, which a new conversation starts with.")
    last_parameters: Parameters = Field(
        Parameters(), description="What was last chosen for a model, which a new conversation starts with."
    )
    favourite_models: FavouriteModels = Field([], description="Models listed first, by id.")
    space_documents_enabled: bool = Field(
        False, description="Whether replies in personal conversations may look into documents of the user's spaces."
    )

    dismissed_arrivals: dict[str, int] = Field(
        {}, description="What is not said again under “Since last time”: by kind, the newest of then."
    )

    @property
    def document_language(self) -> str:
        """Return the language of files created for the user without a browser to ask for one."""
        return self.language or self.browser_language or SOURCE


class SettingsChanges(Changes):
    """Settings to change; what is left out stays."""

    theme: Theme | None = None
    language: LanguageCode | Literal[""] | None = None
    browser_language: LanguageCode | Literal[""] | None = None
    timezone: TimeZone | None = None
    custom_instructions: Instructions | None = None
    memory_enabled: Flag | None = None
    past_conversations_enabled: Flag | None = None
    suggestions_enabled: Flag | None = None
    builtin_tools_enabled: Flag | None = None
    space_documents_enabled: Flag | None = None
    last_model: ModelId | None = None
    last_parameters: Parameters | None = None
    favourite_models: FavouriteModels | None = None
